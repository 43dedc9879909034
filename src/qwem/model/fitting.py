"""Text to a model: the five stages in a row."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from qwem._internal.resources import blas_threads
from qwem._internal.stopwatch import Stopwatch
from qwem._internal.urls import is_url
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.errors import CorpusError, SettingError
from qwem.model.choices import cut_to_memory, describe, require_enough, settle
from qwem.model.model import Model, Offsets
from qwem.model.provenance import refuse_settled, settings_of
from qwem.model.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from qwem.model.choices import Settled
    from qwem.model.settings import Preset, SettingChanges
    from qwem.polish import Polished
    from qwem.spectrum import Spectrum
    from qwem.target import Target

# No space, and an ending that files of text have.
_FILE_NAME = re.compile(r"\S+\.(txt|text|json|jsonl|ndjson|parquet|csv|tsv|md)(\.\w+)?")


class Solvers(NamedTuple):
    """What factorizes and polishes in place of `qwem.factorize` and `qwem.polish.polish`."""

    factorize: Callable[..., Spectrum]
    polish: Callable[..., Polished]


def fit(
    source: Any,
    settings: Settings | None = None,
    *,
    preset: Preset | None = None,
    threads: int | None = None,
    solvers: Solvers | None = None,
    **changes: Unpack[SettingChanges],
) -> Model:
    """Learn word embeddings in closed form.

    Parameters
    ----------
    source
        What to learn from: a path or several, documents (strings or lists of words), or the result
        of an earlier stage, a `Corpus` or a `Cooccurrence`.
    settings
        All settings in one object, instead of a preset.
    preset
        ``"practical"``, the default: the best vectors that are known for the text at hand;
        ``"paper"``: the paper's model.
    threads
        How many to use; all cores by default.
    solvers
        What factorizes and polishes, by default this process; `qwem.cluster.fit_files` has a
        cluster do it.
    changes
        Any field of `qwem.Settings`, such as ``dim=100`` or ``window=5``. A setting of a stage that
        is handed in ready-made is refused, and is passed over in `settings` and presets.

    >>> documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    >>> words = fit(documents, dim=1).embedding()
    >>> words.similarity("king", "queen") > words.similarity("king", "cat")
    True
    """
    if settings is not None and preset is not None:
        raise SettingError("Both settings and a preset were given; pass one of the two.")
    settings = Settings.of(preset, **changes) if settings is None else settings.changed(**changes)
    refuse_settled(source, changes)
    watch = Stopwatch()
    corpus = None
    if isinstance(source, Cooccurrence):
        counts, found = source, len(source.vocabulary)
        require_enough(settings, counts.vocabulary)
        settled = settle(settings, counts.vocabulary)
    else:
        with watch.stage("read"):
            corpus = source if isinstance(source, Corpus) else read(source, settings, threads)
            found = len(corpus.vocabulary)
            if corpus is not source and settings.vocab_size is None:
                corpus = cut_to_memory(corpus, settings)
        require_enough(settings, corpus.vocabulary)
        settled = settle(settings, corpus.vocabulary)
        with watch.stage("count"):
            counts = count(corpus, settled, threads)
    with watch.stage("target"):
        target = build_target(counts, settled, threads)
    solvers = _here() if solvers is None else solvers
    with watch.stage("factorize"), blas_threads(threads):
        spectrum = solvers.factorize(
            target, settled.dim, signed=settled.signed, tol=settled.tol, seed=settled.seed
        )
    polished = offsets = None
    if settled.polish:
        with watch.stage("polish"), blas_threads(threads):
            result = solvers.polish(spectrum, counts, threads=threads)
            polished = result.embedding, result.context
            offsets = Offsets(result.bias, result.centre)
        if settled.ngrams:
            with watch.stage("ngrams"):
                from qwem.embedding import spell

                evidence = result.settings["evidence"]
                word = spell(result.embedding, evidence=evidence, threads=threads)
                polished = word, result.context
    about: dict[str, Any] = {"counts": list(counts.sources)}
    if corpus is not None:
        about |= {"fingerprint": corpus.fingerprint, **corpus.settings}
    made = settings_of(corpus, counts, spectrum, settled)
    # Subsampled counts have fewer words than the text that the choice was made for.
    vocabulary = counts.vocabulary if corpus is None else corpus.vocabulary
    chosen = describe(settled, settings, vocabulary, corpus, found)
    phrases = None if corpus is None else corpus.phrases
    return Model(spectrum, made, about, polished, offsets, phrases, chosen, watch.seconds)


def _here() -> Solvers:
    from qwem.polish import polish
    from qwem.spectrum import factorize

    return Solvers(factorize, polish)


def read(source: Any, settings: Settings, threads: int | None = None) -> Corpus:
    """Encode text: paths to files, or documents."""
    if _are_paths(source):
        return Corpus.from_files(
            source, documents=settings.documents, threads=threads, **settings.reading
        )
    return Corpus.from_documents(source, threads=threads, **settings.reading)


def count(corpus: Corpus, settings: Settings, threads: int | None = None) -> Cooccurrence:
    """Count the pairs of a corpus."""
    settled = settle(settings, corpus.vocabulary)
    return Cooccurrence.count(
        corpus,
        settled.window,
        settled.weights,
        subsample=settled.subsample,
        draws=settled.draws,
        seed=settled.seed,
        threads=threads,
    )


def build_target(counts: Cooccurrence, settings: Settled, threads: int | None = None) -> Target:
    """Build the target of counts."""
    from qwem.target import mstar, pmi, ppmi, rank_one, setting31, word_probability

    if settings.target == "pmi":
        return pmi(counts, threads=threads)
    if settings.target == "ppmi":
        return ppmi(counts, threads=threads)
    reweighting = setting31()
    if settings.coupling:
        reweighting *= rank_one(word_probability(counts) ** settings.coupling)
    return mstar(
        counts,
        negatives=settings.negatives,
        shrinkage=settings.shrinkage,
        reweighting=reweighting,
        threads=threads,
    )


def _are_paths(source: Any) -> bool:
    """Return whether `source` is a path or a list of paths; strings are paths if all exist."""
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(item, str) for item in source):
        return all(isinstance(item, os.PathLike) for item in source)
    missing = next((item for item in source if not (is_url(item) or os.path.exists(item))), None)
    if missing is not None and all(map(_FILE_NAME.fullmatch, source)):
        raise CorpusError(
            f"{missing} does not exist, and all the strings given look like names of files; give "
            "paths that exist, or documents of more than one word."
        )
    return missing is None
