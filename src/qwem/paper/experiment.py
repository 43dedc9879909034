"""Experiment: corpora, counts, spectra, training runs and scores of one text at one scale."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from qwem import __version__
from qwem._internal.files import file_states
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import DataError
from qwem.evaluation import evaluate
from qwem.evaluation.benchmarks import benchmark_file
from qwem.interpretation import read_tasks
from qwem.interpretation.analysis import analyze_tasks
from qwem.paper.runs import MARKUP, RUNS, Training, remove
from qwem.spectrum import Spectrum, factorize
from qwem.spectrum.factorizing import count_nonnegative
from qwem.target import mstar, pmi, ppmi

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from qwem.embedding import Embedding
    from qwem.evaluation import Evaluation
    from qwem.interpretation.analysis import TaskAnalysis
    from qwem.paper.runs import Scale, Size
    from qwem.target import Target
    from qwem.training import Trace

logger = logging.getLogger(__name__)

T = TypeVar("T", Corpus, Cooccurrence, Spectrum, "Trace")

MODELS = ("word2vec", "QWEM", "svd(M*)", "svd(PPMI)", "svd(PMI)")
"""The columns of the paper's table of benchmarks."""

OutOfVocabulary = Literal["drop", "mask"]
Factorized = Literal["svd(M*)", "svd(PPMI)", "svd(PMI)"]
_TARGETS: dict[Factorized, Callable[[Cooccurrence], Target]] = {
    "svd(M*)": mstar,
    "svd(PPMI)": ppmi,
    "svd(PMI)": pmi,
}


class Experiment:
    """Data of the paper's figures, each part computed once and kept on disk.

    A part is named after its settings and the fingerprint of the text. It is loaded if it exists,
    and computed otherwise. An interrupted training run continues from its checkpoint.

    Parameters
    ----------
    paths
        Files of text.
    scale
        The size and the settings of the reproduction.
    directory
        The directory of the parts.
    analogies, similarity
        Benchmark files or names. By default Google's analogies, and those of MEN and WordSim353
        that are available.
    """

    def __init__(
        self,
        paths: Sequence[str],
        scale: Scale,
        directory: Path,
        analogies: str = "google",
        similarity: Sequence[str] | None = None,
    ) -> None:
        self.paths = [str(path) for path in paths]
        self.scale = scale
        self.directory = directory
        self.analogies = benchmark_file(analogies)
        self.missing: list[str] = []
        """The reasons why default benchmarks are left out."""
        self.similarity: list[Path] = []
        for name in ("men", "wordsim353") if similarity is None else similarity:
            try:
                self.similarity.append(benchmark_file(name))
            except DataError as error:
                if similarity is not None:
                    raise
                self.missing.append(str(error))

    @cache  # noqa: B019 – a reproduction has one experiment, and makes each part once
    def corpus(self, vocab_size: int, oov: OutOfVocabulary = "drop") -> Corpus:
        """Return the text, encoded with its most frequent words."""
        settings: dict[str, Any] = {
            "vocab_size": vocab_size,
            "oov": oov,
            "min_tokens": self.scale.min_tokens,
            "tokenizer": self.scale.tokenizer,
        }

        def make(_: Path) -> Corpus:
            markup: frozenset[str] = frozenset()
            while True:  # read again with one more word for each that is left out
                options = {**settings, "vocab_size": vocab_size + len(markup)}
                corpus = Corpus.from_files(self.paths, **options)
                found = MARKUP & set(corpus.vocabulary.words)
                if found == markup:
                    break
                markup = found
            kept = [k for k, word in enumerate(corpus.vocabulary.words) if word not in MARKUP]
            words = tuple(corpus.vocabulary.words[k] for k in kept)
            return corpus.recode(Vocabulary(words, corpus.vocabulary.counts[kept]))

        made_from = {**settings, "files": file_states(self.paths), "markup": sorted(MARKUP)}
        return self._kept("corpus", made_from, Corpus.load, make)

    def first_documents(self, vocab_size: int, share: float) -> Corpus:
        """Return the first documents of the text, with only the words that occur in them."""
        corpus = self.corpus(vocab_size)
        first = corpus.documents(0, max(1, round(share * len(corpus))))
        counts = np.bincount(first.tokens, minlength=vocab_size)
        kept = np.flatnonzero(counts > 0)
        words = tuple(corpus.vocabulary.words[k] for k in kept)
        return first.recode(Vocabulary(words, counts[kept]))

    @cache  # noqa: B019
    def counts(self, vocab_size: int, window: int, oov: OutOfVocabulary = "drop") -> Cooccurrence:
        """Return the pair counts of the text."""
        corpus = self.corpus(vocab_size, oov)
        settings = {"corpus": corpus.fingerprint, "window": window}
        return self._kept(
            "counts", settings, Cooccurrence.load, lambda _: Cooccurrence.count(corpus, window)
        )

    @cache  # noqa: B019
    def spectrum(
        self,
        size: Size,
        target: Factorized = "svd(M*)",
        tol: float = 1e-5,
        oov: OutOfVocabulary = "drop",
    ) -> Spectrum:
        """Return the leading eigenpairs of M*, PPMI or PMI."""
        settings = {
            "corpus": self.corpus(size.vocab_size, oov).fingerprint,
            "window": size.window,
            "target": target,
            "dim": size.dim,
            "tol": tol,
        }

        matrix = _TARGETS[target]

        def make(_: Path) -> Spectrum:
            counts = self.counts(size.vocab_size, size.window, oov)
            return factorize(matrix(counts), size.dim, tol=tol)

        return self._kept(f"spectrum-{matrix.__name__}", settings, Spectrum.load, make)

    @cache  # noqa: B019
    def trace(self, name: str, seed: int | None = None) -> Trace:
        """Return a training run of `RUNS`, by default from the seed of the scale."""
        from qwem.training import Trace

        run, scale = RUNS[name], self.scale
        seed = scale.seed if seed is None else seed
        size: Size = getattr(scale, run.purpose)
        corpus = self.corpus(size.vocab_size)
        settings = {
            "run": vars(run),
            "corpus": corpus.fingerprint,
            "size": size,
            **{key: value for key, value in scale.to_dict().items() if key not in _UNUSED},
            "seed": seed,
        }

        def make(checkpoint: Path) -> Trace:
            counts = self.counts(size.vocab_size, size.window)
            training = Training(run, scale, size, corpus, counts, self.spectrum(size), seed)
            return training.train(checkpoint)

        return self._kept(f"run-{name}", settings, Trace.load, make)

    def traces(self, name: str) -> list[Trace]:
        """Return the training runs of this name, one for each seed of the scale."""
        first = self.scale.seed
        return [self.trace(name, seed) for seed in range(first, first + self.scale.seeds)]

    @cache  # noqa: B019
    def embedding(self, model: str) -> Embedding:
        """Return one of `MODELS`; all have the same words and dimension."""
        for target in _TARGETS:
            if model == target:
                return self.spectrum(self.scale.benchmarks, target, tol=1e-3).embedding()
        return self.trace(f"{model.lower()}-benchmarks").embedding()

    @cache  # noqa: B019
    def scores(
        self, pairs: Literal["file", "all"], measure: Literal["cosine", "inner"]
    ) -> dict[str, Evaluation]:
        """Return the benchmark scores of each of `MODELS`, by a protocol of `qwem.evaluate`."""
        files = self.analogies, self.similarity
        return {
            model: evaluate(self.embedding(model), *files, pairs=pairs, measure=measure)
            for model in MODELS
        }

    @cached_property
    def analyses(self) -> list[TaskAnalysis]:
        """The analysis of every category of analogies with enough known pairs, over d."""
        embedding = self.spectrum(self.scale.tasks, tol=1e-3).embedding()
        return analyze_tasks(embedding, read_tasks(self.analogies), self.dims)

    @cached_property
    def nonnegative(self) -> int:
        """The number of non-negative eigenvalues of M* at the size of `tasks`."""
        size = self.scale.tasks
        return count_nonnegative(mstar(self.counts(size.vocab_size, size.window)))

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """The powers of two from 4 up to the largest dimension."""
        largest = self.scale.tasks.dim
        return tuple(2**k for k in range(2, largest.bit_length()) if 2**k <= largest)

    def _kept(
        self,
        name: str,
        settings: dict[str, Any],
        load: Callable[[Path], T],
        make: Callable[[Path], T],
    ) -> T:
        """Return the part with these settings; if it isn't on disk, make and save it first.

        `make` may keep a checkpoint at the path that it is given.
        """
        text = json.dumps({"qwem": __version__, **settings}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self.directory / f"{name}-{digest}"
        checkpoint = path.with_name(f"{path.name}-unfinished")
        if not path.exists():
            logger.info("making %s", path.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            make(checkpoint).save(path)
        remove(checkpoint)  # also that of a process that was killed right after saving
        return load(path)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of one recipe."""

    figure: Figure | None
    """None for a recipe that is only a table."""
    findings: tuple[str, ...]
    """Sentences with numbers that were computed from the results."""
    numbers: dict[str, Any]
    """The same numbers, and arrays of them."""
    settings: dict[str, Any]
    """The settings that matter for this figure: V, d, σ, steps and so on."""
    table: tuple[tuple[str, ...], ...] = ()
    """The rows of a table, its header first."""


@dataclass(frozen=True)
class Recipe:
    """One figure or table of the paper."""

    title: str
    claim: str
    """What the paper found."""
    make: Callable[[Experiment], Outcome]


def recipe(title: str, claim: str) -> Callable[[Callable[[Experiment], Outcome]], Recipe]:
    """Turn a function of an experiment into a `Recipe` with a title and the paper's claim."""
    return partial(Recipe, title, claim)


_UNUSED = ("dynamics", "ablation", "benchmarks", "tasks", "seeds")
