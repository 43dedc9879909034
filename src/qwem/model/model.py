"""The result of a fit: what was learned, and what made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal import artefact
from qwem.cooccurrence.usage import Usage
from qwem.corpus import Phrases
from qwem.embedding import Embedding, write_hub
from qwem.model.solution import ClosedForm, Solution
from qwem.model.update_state import UpdateState
from qwem.polish import Polished

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from qwem.corpus import Vocabulary
    from qwem.corpus.reading import Documents, Errors
    from qwem.embedding.embedding import Neighbours
    from qwem.embedding.storage import StoredType
    from qwem.model.new_words import Counts, NewVectors, NewWord
    from qwem.spectrum import Spectrum

KIND = "model"
_CLOSED, _POLISHED, _PHRASES, _STATE = "spectrum", "polished", "phrases", "update-state"
_USAGE = "usage"


@dataclass(frozen=True, eq=False)
class Model:
    """What was learned from a text, and the settings that made it.

    The closed form contains every smaller embedding: ``model.spectrum.embedding(dim=50)``.
    """

    solution: Solution
    """What was learned: the closed form, or the vectors polished from there."""
    settings: dict[str, Any]
    """The settings of every stage, as far as the stages know them."""
    corpus: dict[str, Any]
    """What was read: fingerprint, documents and words, before and after filtering."""
    phrases: Phrases | None = None
    """The phrases that are single words here, so that new text is joined in the same way."""
    update_state: UpdateState | None = field(default=None, repr=False)
    """The counts, where the fit kept them: what `update` needs."""
    chosen: str = ""
    """What was chosen for this text and why, in one line."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage of the fit took; not saved, so that equal fits save equal files."""
    usage: Usage | None = field(default=None, repr=False)
    """How often words occur in the text, and what they occur with."""

    @property
    def spectrum(self) -> Spectrum:
        """The closed form: the eigenpairs of the target."""
        return self.solution.spectrum

    @property
    def polished(self) -> Polished | None:
        """What was learned, if it was polished."""
        return self.solution if isinstance(self.solution, Polished) else None

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
        if isinstance(self.solution, Polished):
            return self.solution.embedding(dim, exponent=exponent, time=time)
        return self.solution.embedding(dim, exponent=exponent, time=time, init_scale=init_scale)

    @cached_property
    def wv(self) -> Embedding:
        """The full embedding, under the name that gensim's Word2Vec gives it."""
        return self.embedding()

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        """Return the vector of a word."""
        return self.wv[word]

    def __contains__(self, word: object) -> bool:
        return word in self.wv

    def most_similar(self, *words: Any, **options: Any) -> Neighbours:
        """Return the words nearest to others; see `Embedding.most_similar`.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
        >>> sorted(word for word, _ in model.most_similar("cat", topn=2)), "king" in model
        (['a', 'dog'], True)
        """
        return self.wv.most_similar(*words, **options)

    def embed_rows(
        self,
        counts: Counts,
        occurrences: ArrayLike | None = None,
        *,
        shrink: bool = True,
        dispersion: float | None = None,
    ) -> NewVectors:
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
        from qwem.model.new_words import embed_rows

        return embed_rows(self, counts, occurrences, shrink=shrink, dispersion=dispersion)

    def embed(
        self,
        word: str,
        contexts: Any,
        *,
        tokenizer: Any = None,
        documents: Documents = "line",
        text_column: str = "text",
        encoding: str = "utf-8",
        draws: int = 10,
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
        documents, text_column, encoding
            As in `qwem.Settings`.
        draws
            Over how many subsamples of frequent words to average, where the model subsamples.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2, window=5)
        >>> duchess = model.embed("duchess", ["the duchess and the queen"])
        >>> duchess.occurrences, duchess.similarity("king")[0] > duchess.similarity("dog")[0]
        (1, True)
        """
        from qwem.corpus.tokenizer import tokenizer_from_name
        from qwem.model.new_words import embed
        from qwem.model.settings import Settings

        if tokenizer is None:
            tokenizer = tokenizer_from_name(self.settings.get("tokenizer"))
        reading = Settings(
            tokenizer=tokenizer,
            min_count=1,
            documents=documents,
            text_column=text_column,
            encoding=encoding,
        )
        return embed(self, word, contexts, reading, draws)

    def update(
        self,
        more: Any = None,
        *,
        remove: Any = None,
        tokenizer: Any = None,
        documents: Documents = "line",
        text_column: str = "text",
        encoding: str = "utf-8",
        errors: Errors = "strict",
    ) -> Model:
        """Return the model of more text, or of less, without reading the old text again.

        It needs the counts of the model: ``qwem.fit(…, keep_counts=True)``. They add and subtract
        exactly. The factorization starts from this spectrum and polishing from these vectors, and
        features keep their signs. `qwem.comparison.diff_models` says what moved.

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
        documents, text_column, encoding, errors
            As in `qwem.Settings`.

        >>> import qwem
        >>> texts = ["the king and the queen", "a cat and a dog"] * 20
        >>> model = qwem.fit(texts, dim=2, keep_counts=True)
        >>> "fox" in model.update(["a fox and a cat"] * 20).vocabulary
        True
        """
        from qwem.corpus.tokenizer import tokenizer_from_name
        from qwem.model.settings import Settings
        from qwem.model.updating import update

        if tokenizer is None:
            tokenizer = tokenizer_from_name(self.settings.get("tokenizer"))
        reading = Settings(
            tokenizer=tokenizer,
            min_count=1,
            min_tokens=self.settings.get("min_tokens", 0),
            phrases=self.phrases or False,
            documents=documents,
            text_column=text_column,
            encoding=encoding,
            errors=errors,
        )
        return update(self, more, remove, reading)

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
            self.solution.save(directory / (_CLOSED if self.polished is None else _POLISHED))
            if self.phrases is not None:
                self.phrases.save(directory / _PHRASES)
            if self.update_state is not None:
                self.update_state.save(directory / _STATE)
            if self.usage is not None:
                self.usage.save(directory / _USAGE)
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
            solution: Solution
            if saved.has(_POLISHED):
                solution = Polished.load(saved.child(_POLISHED))
            else:
                solution = ClosedForm.load(saved.child(_CLOSED))
            return cls(
                solution,
                saved.metadata["settings"],
                saved.metadata["corpus"],
                Phrases.load(saved.child(_PHRASES)) if saved.has(_PHRASES) else None,
                UpdateState.load(saved.child(_STATE)) if saved.has(_STATE) else None,
                saved.metadata["chosen"],
                usage=Usage.load(saved.child(_USAGE)) if saved.has(_USAGE) else None,
            )

        return artefact.load(path, KIND, build)
