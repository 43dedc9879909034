"""The result of a fit: the spectrum of the target, and what made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal import artefact
from qwem.corpus import Phrases
from qwem.embedding import Embedding, write_hub
from qwem.errors import SettingError
from qwem.model.keeping import Kept
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from qwem.corpus import Documents, Errors, Vocabulary
    from qwem.embedding import StoredType
    from qwem.model.embed import NewWord
    from qwem.model.embedding_rows import Counts, EmbeddedRows
    from qwem.polish import FixedContexts

KIND = "model"
_POLISHED = ("word-vectors", "context-vectors")
_OFFSETS = "offsets.safetensors"
_PHRASES = "phrases"
_KEPT = "kept-counts"


class Offsets(NamedTuple):
    """What the logits of a polished model have beside the products of its vectors.

    The logit of word i and context j is w_i·w′_j + bias_j.
    """

    bias: NDArray[np.float64]
    centre: NDArray[np.float32]
    """The mean word vector that polishing took out; its products with W′ are in the bias."""


@dataclass(frozen=True, eq=False)
class Model:
    """Words, the spectrum of their target, and the settings that made it.

    The closed form contains every smaller embedding: ``model.spectrum.embedding(dim=50)``.
    """

    spectrum: Spectrum
    settings: dict[str, Any]
    """The settings of every stage, as far as the stages know them."""
    corpus: dict[str, Any]
    """What was read: fingerprint, documents and words, before and after filtering."""
    polished: tuple[Embedding, Embedding] | None = None
    """Word and context vectors after `qwem.polish.polish`, where the fit included it."""
    offsets: Offsets | None = None
    """The bias and centre of polished vectors, which new words need."""
    phrases: Phrases | None = None
    """The phrases that are single words here, so that new text is joined in the same way."""
    kept: Kept | None = field(default=None, repr=False)
    """The counts, where the fit kept them: what `update` needs."""
    chosen: str = ""
    """What was chosen for this text and why, in one line."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage of the fit took; not saved, so that equal fits save equal files."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words, most frequent first."""
        return self.spectrum.vocabulary

    def embedding(
        self,
        dim: int | None = None,
        *,
        exponent: float = 0.5,
        time: float | None = None,
        init_scale: float = 1e-6,
    ) -> Embedding:
        """Return the embedding of the first `dim` eigenpairs, or the polished one.

        The closed form that a polished embedding started from is ``model.spectrum.embedding()``.

        Parameters
        ----------
        dim
            How many dimensions; all by default, and always all of a polished embedding.
        exponent
            W = V|Λ|^exponent; ½ is what training converges to.
        time
            Where to stop training from a random start of scale `init_scale`, in the paper's t:
            W(t) = V S(t), see `qwem.dynamics.closed_form`. By default training is over.
        init_scale
            The standard deviation of the start's entries.
        """
        if self.polished is not None:
            if dim not in (None, self.spectrum.dim) or exponent != 0.5 or time is not None:
                raise SettingError(
                    f"A polished embedding has one dimension, {self.spectrum.dim}, one exponent "
                    "and one time; take model.spectrum.embedding(dim=…), or fit with polish=False."
                )
            return self.polished[0]
        if time is None:
            return self.spectrum.embedding(dim=dim, exponent=exponent)
        if exponent != 0.5:
            raise SettingError("time and exponent can't both be given: training knows only ½.")
        from qwem.dynamics import closed_form

        spectrum = self.spectrum if dim is None else self.spectrum.restrict(dim)
        return closed_form(spectrum, init_scale=init_scale).embedding(time)

    @cached_property
    def wv(self) -> Embedding:
        """The full embedding, under the name that gensim's Word2Vec gives it."""
        return self.embedding()

    def embed_rows(
        self,
        counts: Counts,
        occurrences: ArrayLike | None = None,
        *,
        shrink: bool = True,
        dispersion: float | None = None,
    ) -> EmbeddedRows:
        """Return vectors for words, phrases or documents from their counts with the model's words.

        In the closed form a row is w = Λ^(−½) V*ᵀ m (Theorem 3.2), where m is the row that the
        counts would have in the target. For a word of the model, with ``shrink=False`` and its
        `occurrences`, that is exactly its vector. In a polished model it is the minimum of
        word2vec's loss for that row, all context vectors being fixed. A word with little text has
        the mean and the covariance of the model's words as a prior, one with much text the
        `evidence` of a fit.

        Parameters
        ----------
        counts
            One row per vector, as an array, a sparse matrix, or mappings from words to counts
            (unknown words are left out): how often it met each word of the vocabulary.
        occurrences
            How often each new word occurred; by default, what its pairs amount to. A polished model
            does not need it.
        shrink
            Whether a model whose target has no `shrinkage`, such as the paper's, uses 10 for new
            rows: where text is scarce a row without it is mostly the −2 of pairs never seen. A
            polished model draws a word with little text to the average word instead.
        dispersion
            What one observed pair counts for. By default that of the model's window; 1 for plain
            counts, such as the words of a document.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
        >>> ruler = model.embed_rows([{"queen": 20, "the": 40}]).vectors[0]
        >>> nearest = [word for word, _ in model.wv.most_similar(ruler, topn=3)]
        >>> "king" in nearest, "cat" in nearest
        (True, False)
        """
        from qwem.model.embedding_rows import embed_rows

        return embed_rows(self, counts, occurrences, shrink=shrink, dispersion=dispersion)

    def embed(
        self,
        word: str,
        contexts: Any,
        *,
        tokenizer: Any = None,
        documents: Documents = "line",
        text_column: str = "text",
        draws: int = 10,
        threads: int | None = None,
    ) -> NewWord:
        """Return the vector of a word, name or phrase from texts in which it occurs.

        Its neighbours there are counted as those of the model's own words were, and `embed_rows`
        does the rest. A phrase of several words is taken as one. Texts may be as short as a
        sentence.

        Parameters
        ----------
        word
            What to embed; the model may know it or not.
        contexts
            Texts, lists of words, a path or several, or a `Corpus`, as `qwem.fit` takes them.
        tokenizer
            What a word is; by default, what it was in the text of the model.
        documents, text_column
            As in `qwem.Settings`.
        draws
            Over how many subsamples of frequent words to average, where the model subsamples.
        threads
            How many to use; all cores by default.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2, window=5)
        >>> duchess = model.embed("duchess", ["the duchess and the queen"])
        >>> duchess.occurrences, duchess.similarity("king")[0] > duchess.similarity("dog")[0]
        (1, True)
        """
        from qwem.corpus import tokenizer_named
        from qwem.model.embed import embed
        from qwem.model.settings import Settings

        if tokenizer is None:
            tokenizer = tokenizer_named(self.settings.get("tokenizer"))
        reading = Settings(
            tokenizer=tokenizer, min_count=1, documents=documents, text_column=text_column
        )
        return embed(self, word, contexts, reading, draws, threads)

    def update(
        self,
        more: Any = None,
        *,
        remove: Any = None,
        tokenizer: Any = None,
        documents: Documents = "line",
        text_column: str = "text",
        errors: Errors = "strict",
        threads: int | None = None,
    ) -> Model:
        """Return the model of more text, or of less, without reading the old text again.

        It needs the counts of the model: ``qwem.fit(…, keep_counts=True)``. They add and subtract
        exactly. The factorization starts from this spectrum and polishing from these vectors, and
        features keep their signs. `qwem.comparison.what_moved` says what moved.

        More text is counted as the first was: frequent words are thinned out by their frequencies
        in the first text. A word that the first text did not have often enough enters when it has
        occurred `min_count` times in the texts added since; its earlier occurrences are not
        counted. Words that no longer occur leave.

        Parameters
        ----------
        more
            Text to add, as `qwem.fit` takes it: texts, paths, a `Corpus` of every word
            (``min_count=1``), or counts.
        remove
            Text to take away, given in the same ways. Its documents must be documents of the model.
        tokenizer
            What a word is; by default, what it was in the text of the model.
        documents, text_column, errors
            As in `qwem.Settings`.
        threads
            How many to use; all cores by default.

        >>> import qwem
        >>> texts = ["the king and the queen", "a cat and a dog"] * 20
        >>> model = qwem.fit(texts, dim=2, keep_counts=True)
        >>> "fox" in model.update(["a fox and a cat"] * 20).vocabulary
        True
        """
        from qwem.corpus import tokenizer_named
        from qwem.model.settings import Settings
        from qwem.model.updating import update

        if tokenizer is None:
            tokenizer = tokenizer_named(self.settings.get("tokenizer"))
        reading = Settings(
            tokenizer=tokenizer,
            min_count=1,
            min_tokens=self.settings.get("min_tokens", 0),
            phrases=self.phrases or False,
            documents=documents,
            text_column=text_column,
            errors=errors,
        )
        return update(self, more, remove, reading, threads)

    def fixed_contexts(self) -> FixedContexts:
        """Return the context side of a polished model, against which a word's row is solved.

        The coupling, which weights pairs of a model's words by their frequency, is left out: each
        pair that a new word was seen in tells as much as any other.
        """
        from qwem.polish import FixedContexts

        if self.polished is None or self.offsets is None:
            raise SettingError("Only a polished model has contexts to solve rows against.")
        word, context = self.polished
        settings, counts = context.provenance["polish"], self.vocabulary.counts
        powers = (counts / counts.max()) ** settings["exponent"]
        weights = counts / (counts + settings["evidence"])
        vectors = word.vectors.astype(np.float64)
        covariance = (vectors.T * weights) @ vectors / weights.sum()
        least = np.finfo(np.float32).eps * np.trace(covariance)  # if some dimensions are empty
        return FixedContexts(
            context.vectors,
            self.offsets.bias - context.vectors @ self.offsets.centre,
            powers / powers.sum(),
            np.ones(len(counts)),
            settings["negatives"],
            np.linalg.inv(covariance + least * np.eye(len(covariance))),
            self.offsets.centre.astype(np.float64),
        )

    def __repr__(self) -> str:
        words, dim = self.spectrum.eigenvectors.shape
        return f"Model({words:,} words, dimension {dim}, target {self.settings['target']})"

    def save(
        self, path: str | os.PathLike[str], *, names_from: str | os.PathLike[str] | None = None
    ) -> None:
        """Write the model to a directory.

        Names that were given to features in the explorer stay with features that are clearly the
        same: those of the saved model `names_from`, by default of the model that is replaced. Other
        names are dropped. A line of the log says which.
        """
        from qwem.model.naming import keep_names

        with artefact.writing(path, KIND) as directory:
            keep_names(Path(path if names_from is None else names_from), self, directory)
            self.spectrum.save(directory / "spectrum")
            for name, embedding in zip(_POLISHED, self.polished or (), strict=False):
                embedding.save(directory / name)
            if self.offsets is not None:
                artefact.write_arrays(directory / _OFFSETS, self.offsets._asdict())
            if self.phrases is not None:
                self.phrases.save(directory / _PHRASES)
            if self.kept is not None:
                self.kept.save(directory / _KEPT)
            metadata = {
                "settings": self.settings,
                "corpus": self.corpus,
                "chosen": self.chosen,
            }
            artefact.write_metadata(directory, KIND, metadata)

    def save_hub(
        self,
        path: str | os.PathLike[str],
        *,
        dim: int | None = None,
        tokenizer: str | None = None,
        sif: float | None = None,
        normalize: bool = True,
        dtype: StoredType = "float32",
    ) -> None:
        """Write a folder that model2vec and sentence-transformers load as a model of sentences.

        Texts are split into words as the model's own text was, unless `tokenizer` says otherwise.
        The other parameters are those of `embedding` and `qwem.embedding.write_hub`.
        """
        write_hub(
            self.embedding(dim),
            path,
            tokenizer=tokenizer or self.settings.get("tokenizer"),
            sif=sif,
            normalize=normalize,
            dtype=dtype,
            provenance={**self.corpus, **self.settings},
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model written by `save`."""

        def build(saved: artefact.Saved) -> Model:
            polished = offsets = None
            if any(saved.has(name) for name in _POLISHED):
                word, context = (Embedding.load(saved.child(name)) for name in _POLISHED)
                polished = word, context
            if saved.has(_OFFSETS):
                offsets = Offsets(**saved.arrays(_OFFSETS))
            phrases = Phrases.load(saved.child(_PHRASES)) if saved.has(_PHRASES) else None
            spectrum = Spectrum.load(saved.child("spectrum"))
            settings, corpus = saved.metadata["settings"], saved.metadata["corpus"]
            kept = Kept.load(saved.child(_KEPT)) if saved.has(_KEPT) else None
            chosen = saved.metadata["chosen"]
            return cls(spectrum, settings, corpus, polished, offsets, phrases, kept, chosen)

        return artefact.load(path, KIND, build)
