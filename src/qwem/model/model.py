"""The result of a fit: what was learned, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem.cooccurrence import Slot
from qwem.cooccurrence.contexts import Usage
from qwem.corpus.reading import Reading
from qwem.embedding import Embedding, write_hub
from qwem.errors import SettingError
from qwem.model.settings import Settings
from qwem.polish import Polished
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Phrases, Vocabulary
    from qwem.embedding.embedding import Neighbours
    from qwem.model.new_words import Counts, NewVectors, NewWord
    from qwem.model.settings import ResolvedSettings
    from qwem.model.updating import UpdateState

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

KIND = "model"
_CLOSED, _POLISHED, _PHRASES, _STATE = "spectrum", "polished", "phrases", "update-state"
_USAGE = "usage"


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """A solution in closed form; `qwem.polish.Polished` is the other kind of solution.

    >>> import qwem
    >>> solution = qwem.fit(["a b a c"] * 50, dim=2, polish=False).solution
    >>> solution.embedding(dim=1).vectors.shape
    (3, 1)
    """

    spectrum: Spectrum

    def embedding(
        self,
        dim: int | None = None,
        *,
        exponent: float = 0.5,
        time: float | None = None,
        init_scale: float = 1e-6,
    ) -> Embedding:
        """Return the word vectors; see `qwem.Model.embedding`."""
        if time is None:
            return self.spectrum.embedding(dim=dim, exponent=exponent)
        if exponent != 0.5:
            raise SettingError(
                "time and exponent can't both be given: during training the exponent is ½."
            )
        from qwem.dynamics import closed_form

        spectrum = self.spectrum if dim is None else self.spectrum.restrict(dim)
        return closed_form(spectrum, init_scale=init_scale).embedding(time)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The closed form has one context per word: its symmetric window."""
        weights = self.spectrum.target_settings.get("weights")
        return (Slot(None if weights is None else tuple(weights), directed=False),)

    @property
    def context_vectors(self) -> Matrix:
        """W′ = V sign(Λ)|Λ|^½, one row for each word."""
        return self.spectrum.context_embedding().vectors

    @cached_property
    def projection(self) -> NDArray[Any]:
        """Γ V sign(Λ)|Λ|^−½: a row of the target, times this, is the vector of the row's word.

        By the definition of eigenvectors that is W's own row for a word of the target.
        """
        values = self.spectrum.eigenvalues
        basis = self.spectrum.eigenvectors * (np.sign(values) * np.abs(values) ** -0.5)
        scale = self.spectrum.row_scale
        return basis if scale is None else basis / scale[:, None]

    def solve_rows(
        self,
        rows: sparse.csr_array[Any],
        *,
        dispersion: float = 1.0,
        occurrences: Vector | None = None,
        shrinkage: float | None = None,
    ) -> tuple[Matrix, Matrix]:
        """Return the vectors of new words from their counts with known words, and covariances.

        A vector is the projection of the row that the counts would have in the target. The
        covariance is a jackknife over the pairs of the text: the change of the row when one pair is
        left out.

        Parameters
        ----------
        rows
            New words × words of the model, or × contexts, which are summed by word.
        dispersion
            The effective weight of a pair: a count n stands for n / dispersion pairs.
        occurrences
            How often each new word occurred; by default estimated from its pairs.
        shrinkage
            The shrinkage of these rows, if the target has any; by default the target's own.
        """
        from qwem.target.targets import target_rows

        settings, words = dict(self.spectrum.target_settings), self.spectrum.vocabulary.counts
        if shrinkage is not None and "shrinkage" in settings:
            settings["shrinkage"] = shrinkage
        rows = by_word(rows, len(words))
        if occurrences is None:
            if "pair_total" not in settings:
                raise SettingError(
                    "This model does not record how many pairs it was made from, so it can't "
                    "embed new words; fit it from text or counts."
                )
            occurrences = rows.sum(axis=1) * (words.sum() / settings["pair_total"])
        basis, found = self.projection, []
        for number, often in enumerate(occurrences):
            row = rows[[number]]
            columns, seen = row.indices, row.data.astype(np.float64)
            entries = target_rows(settings, words, row, [often])[0]
            fewer = sparse.csr_array(
                (np.maximum(seen - dispersion, 0), columns, row.indptr), shape=row.shape
            )
            change = (entries - target_rows(settings, words, fewer, [often])[0])[columns]
            variance = seen / dispersion * change**2
            found.append((entries @ basis, (basis[columns].T * variance) @ basis[columns]))
        return (
            np.array([vector for vector, _ in found], dtype=np.float32),
            np.array([covariance for _, covariance in found], dtype=np.float32),
        )

    def solve_words(
        self,
        counts: Cooccurrence,
        settings: ResolvedSettings,
    ) -> Embedding:
        """Return the vectors of the same words in other counts, with all contexts fixed."""
        from qwem.model.fitting import build_target

        target = build_target(counts, settings)
        return Embedding(counts.vocabulary, target @ self.projection.astype(np.float32))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a directory."""
        self.spectrum.save(path)


Solution: TypeAlias = ClosedForm | Polished


@dataclass(frozen=True, eq=False)
class Model:
    """What was learned from a text, and the settings of the fit.

    The closed form contains every smaller embedding: ``model.spectrum.embedding(dim=50)``.
    """

    solution: Solution
    """The closed form, or the vectors polished from it."""
    settings: dict[str, Any]
    """The settings of every stage, as far as they were recorded."""
    corpus: dict[str, Any]
    """What was read: fingerprint, documents and words, before and after filtering."""
    phrases: Phrases | None = None
    """The phrases that the model treats as single words; new text is joined in the same way."""
    update_state: UpdateState | None = field(default=None, repr=False)
    """The counts that `update` needs, if the fit kept them."""
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
        """The polished solution, or None for a closed form."""
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
            When to stop training from a random start of scale `init_scale`, in the paper's t:
            W(t) = V S(t), see `qwem.dynamics.closed_form`. By default training has converged.
        init_scale
            The standard deviation of the start's entries.
        """
        if isinstance(self.solution, Polished):
            return self.solution.embedding(dim, exponent=exponent, time=time)
        return self.solution.embedding(dim, exponent=exponent, time=time, init_scale=init_scale)

    @cached_property
    def wv(self) -> Embedding:
        """The full embedding, by the name it has in gensim's Word2Vec."""
        return self.embedding()

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        """Return the vector of a word."""
        return self.wv[word]

    def __contains__(self, word: object) -> bool:
        return word in self.wv

    def most_similar(self, *words: Any, **options: Any) -> Neighbours:
        """Return the words nearest to the given ones; see `Embedding.most_similar`.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
        >>> sorted(word for word, _ in model.most_similar("cat", topn=2)), "king" in model
        (['a', 'dog'], True)
        """
        return self.wv.most_similar(*words, **options)

    def embed_texts(
        self, texts: Iterable[Any], *, tokenizer: Any = None, smoothing: float | None = 1e-4
    ) -> NDArray[np.float32]:
        """Return one vector per text: the mean of its words, with frequent words weighted less.

        Texts are split into words as the model's own text was, unless `tokenizer` says otherwise;
        see `Embedding.embed_texts`.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
        >>> model.embed_texts(["the queen", "a dog", "Cats?"]).shape
        (3, 2)
        """
        if tokenizer is None:
            tokenizer = self._tokenizer
        return self.wv.embed_texts(
            texts, tokenizer=tokenizer, phrases=self.phrases or False, smoothing=smoothing
        )

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
        word2vec's loss for that row, with all context vectors fixed. For a word with little text
        the prior is the mean and covariance of the model's words; with much text it is the
        `evidence` of a fit.

        Parameters
        ----------
        counts
            One row per vector: how often it occurred with each word of the vocabulary. An array, a
            sparse matrix, or mappings from words to counts (unknown words are left out).
        occurrences
            How often each new word occurred; by default estimated from its pairs. A polished model
            does not need it.
        shrink
            Use a `shrinkage` of 10 for new rows if the model's target has none, as the paper's.
            Without it, where text is scarce, a row is mostly the −2 of pairs never seen. A polished
            model draws a word with little text towards the average word instead.
        dispersion
            The effective weight of a pair: a count n stands for n / dispersion pairs. By default
            that of the model's window; use 1 for plain counts, such as the words of a document.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
        >>> ruler = model.embed_rows([{"queen": 20, "the": 40}]).vectors[0]
        >>> nearest = [word for word, _ in model.wv.most_similar(ruler, topn=3)]
        >>> "king" in nearest, "cat" in nearest
        (True, False)
        """
        from qwem.model.new_words import embed_rows

        return embed_rows(self, counts, occurrences, shrink=shrink, dispersion=dispersion)

    def embed(self, word: str, contexts: Any, *, draws: int = 10, **reading: Any) -> NewWord:
        """Return the vector of a word, name or phrase from texts in which it occurs.

        Its neighbours in the texts are counted as in the text of the model, and passed to
        `embed_rows`. A phrase of several words counts as one word. Texts may be as short as a
        sentence.

        Parameters
        ----------
        word
            What to embed; it need not be new to the model.
        contexts
            Texts, lists of words, a path or several, or a `Corpus`, as `qwem.fit` takes them.
        draws
            Number of subsamples to average over, if the model subsamples frequent words.
        reading
            Settings of reading, such as ``text="body"``. By default a word and a document
            are what they were in the text of the model.

        >>> import qwem
        >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2, window=5)
        >>> duchess = model.embed("duchess", ["the duchess and the queen"])
        >>> duchess.occurrences, duchess.similarity("king")[0] > duchess.similarity("dog")[0]
        (1, True)
        """
        from qwem.model.new_words import embed

        return embed(self, word, contexts, self._reading(**reading), draws)

    def update(self, more: Any = None, *, remove: Any = None, **reading: Any) -> Model:
        """Return the model with text added or removed, without reading the old text again.

        The model must have its counts: ``qwem.fit(…, keep_counts=True)``. They add and subtract
        exactly. The factorization starts from this spectrum and polishing from these vectors, and
        features keep their signs. `qwem.comparison.diff_models` shows what changed.

        New text is counted as the first was: frequent words are subsampled by their frequencies
        in the first text. A word that was too rare in the first text enters the vocabulary when it
        has occurred `min_count` times in the texts added since; its earlier occurrences are not
        counted. Words that no longer occur are dropped.

        Parameters
        ----------
        more
            Text to add, as `qwem.fit` takes it: texts, paths, a `Corpus` of every word
            (``min_count=1``), or counts.
        remove
            Text to remove, in the same forms. Its documents must be documents of the model's text.
        reading
            Settings of reading, such as ``text="body"``. By default a word and a document
            are what they were in the text of the model.

        >>> import qwem
        >>> texts = ["the king and the queen", "a cat and a dog"] * 20
        >>> model = qwem.fit(texts, dim=2, keep_counts=True)
        >>> "fox" in model.update(["a fox and a cat"] * 20).vocabulary
        True
        """
        from qwem.model.updating import update

        own = {
            "min_tokens": self.settings.get("min_tokens", 0),
            "phrases": self.phrases or False,
        }
        return update(self, more, remove, self._reading(**{**own, **reading}))

    @property
    def _tokenizer(self) -> Any:
        """What a word was in the text of the model."""
        from qwem.corpus.tokenizer import tokenizer_from_name

        return tokenizer_from_name(self.settings.get("tokenizer"))

    def _reading(self, **changes: Any) -> Settings:
        """Return settings that read new text like the model's own, but keep every word."""
        Reading.check_names(changes)
        changes = {name: value for name, value in changes.items() if value is not None}
        if "tokenizer" not in changes:
            changes["tokenizer"] = self._tokenizer
        documents = self.settings.get("documents", "auto")
        return Settings(**{"documents": documents, "min_count": 1, **changes})

    def __repr__(self) -> str:
        words, dim = self.spectrum.eigenvectors.shape
        return f"Model({words:,} words, dimension {dim}, target {self.settings['target']})"

    def _repr_html_(self) -> str:
        """Return the summary that notebooks show."""
        return f"<p>{escape(repr(self))}<br>{escape(self.chosen)}</p>{self.wv._repr_html_()}"

    def save(
        self, path: str | os.PathLike[str], *, names_from: str | os.PathLike[str] | None = None
    ) -> None:
        """Write the model to a directory.

        Names given to features in the explorer are carried over to the features that are clearly
        the same, from the saved model `names_from`, by default the model that is replaced. Other
        names are dropped; the log says which.
        """
        earlier = Path(path if names_from is None else names_from)
        with artefact.writing(path, KIND) as directory:
            if artefact.kind_of(earlier) == KIND:
                from qwem.model.naming import keep_names

                keep_names(earlier, self, directory)
            self.solution.save(directory / (_CLOSED if self.polished is None else _POLISHED))
            if self.phrases is not None:
                self.phrases.save(directory / _PHRASES)
            if self.update_state is not None:
                self.update_state.save(directory / _STATE)
            if self.usage is not None:
                self.usage.save(directory / _USAGE)
            facts = {"settings": self.settings, "corpus": self.corpus, "chosen": self.chosen}
            artefact.write_metadata(directory, KIND, facts)

    def save_hub(
        self,
        path: str | os.PathLike[str],
        *,
        dim: int | None = None,
        vocab_size: int | None = None,
        tokenizer: str | None = None,
        **options: Any,
    ) -> None:
        """Write a folder that model2vec and sentence-transformers load as a sentence model.

        Texts are split into words as the model's own text was, unless `tokenizer` says otherwise.
        At most the `vocab_size` most frequent words are written, by default all. The options are
        those of `qwem.embedding.write_hub`.
        """
        embedding = self.embedding(dim)
        write_hub(
            embedding.restrict(min(vocab_size or len(embedding), len(embedding))),
            path,
            tokenizer=tokenizer or self.settings.get("tokenizer"),
            provenance={**self.corpus, **self.settings},
            **options,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model written by `save`."""
        from qwem.corpus import Phrases
        from qwem.model.updating import UpdateState

        def build(saved: artefact.Saved) -> Model:
            solution: Solution
            if saved.has(_POLISHED):
                solution = Polished.load(saved.child(_POLISHED))
            else:
                solution = ClosedForm(Spectrum.load(saved.child(_CLOSED)))
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


def by_word(rows: sparse.csr_array[Any], words: int) -> sparse.csr_array[Any]:
    """Return counts by word, given counts by context: the sums over each word's contexts."""
    if rows.shape[1] == words:
        return rows
    coo, kinds = rows.tocoo(), rows.shape[1] // words
    return sparse.csr_array((coo.data, (coo.row, coo.col // kinds)), shape=(rows.shape[0], words))
