"""Vectors of new words, from texts in which they occur or from counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.results import Result, ShownTable, as_plain
from qwem.cooccurrence import Cooccurrence, context_matrix
from qwem.cooccurrence.contexts import recorded_subsampling
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError, CountError, SettingError
from qwem.model.model import ClosedForm
from qwem.model.settings import SHRINKAGE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from qwem.embedding import Embedding
    from qwem.model.model import Model
    from qwem.model.settings import Settings

MOST_FOLDS = 20
"""The most folds of documents or occurrences in the jackknife of a new word."""

Counts: TypeAlias = "ArrayLike | sparse.sparray | sparse.spmatrix | Sequence[Mapping[str, float]]"


@dataclass(frozen=True, eq=False)
class NewVectors:
    """Vectors in the space of a model, with the noise of the counts they were made from."""

    vectors: NDArray[np.float32]
    """One vector per row."""
    covariances: NDArray[np.float32] = field(repr=False)
    """How each vector would vary with other text of the same kind, one d × d matrix per row."""

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """The standard error of each number of each vector."""
        variances = np.diagonal(self.covariances, axis1=1, axis2=2).astype(np.float64)
        return np.sqrt(np.maximum(variances, 0))


@dataclass(frozen=True, eq=False)
class NewWord(Result):
    """The vector of a word or phrase from its contexts, with its uncertainty."""

    word: str
    vector: NDArray[np.float32] = field(repr=False)
    covariance: NDArray[np.float64] = field(repr=False)
    """How the vector would vary with other texts of the same kind: the jackknife over documents, or
    over occurrences in a single document. NaN for a single occurrence."""
    occurrences: int
    """How often the word was found."""
    embedding: Embedding = field(repr=False)
    """The words of the model."""

    def similarity(self, word: str) -> tuple[float, float]:
        """Return the cosine with a word of the model, and its standard error, NaN if unknown."""
        other = self.embedding.get_vector(word).astype(np.float64)
        own = self.vector.astype(np.float64)
        lengths = np.linalg.norm(own), np.linalg.norm(other)
        if not all(lengths):
            return 0.0, 0.0
        own, other = own / lengths[0], other / lengths[1]
        cosine = float(own @ other)
        slope = (other - cosine * own) / lengths[0]
        return cosine, float(np.sqrt(np.maximum(slope @ self.covariance @ slope, 0.0)))

    def most_similar(self, topn: int = 10) -> list[tuple[str, float, float]]:
        """Return the nearest words of the model, with cosines and their standard errors."""
        found = self.embedding.most_similar(self.vector, topn=topn)
        return [(word, *self.similarity(word)) for word, _ in found]

    def heading(self) -> str:
        """Return how often the word was found."""
        if self.occurrences == 1:
            return f"{self.word}: found once, so standard errors are unknown.\n"
        return f"{self.word}: found {self.occurrences:,} times.\n"

    def rows(self, topn: int = 10) -> list[dict[str, Any]]:
        """Return one row for each of the nearest words of the model."""
        names = ("word", "similarity", "error")
        return [dict(zip(names, near, strict=True)) for near in self.most_similar(topn)]

    def shown(self, topn: int = 10) -> ShownTable:
        """Return how often the word was found, and the nearest words of the model."""
        return ShownTable(self.heading(), self.rows(topn))

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the vector and the nearest words."""
        return {
            "word": self.word,
            "occurrences": self.occurrences,
            "vector": as_plain(self.vector),
            "neighbours": as_plain(self.rows()),
        }


def embed(model: Model, word: str, contexts: Any, reading: Settings, draws: int) -> NewWord:
    """Return the vector of a word from contexts, read as `reading` says; see `Model.embed`."""
    from qwem.model.fitting import read

    corpus = contexts if isinstance(contexts, Corpus) else read(contexts, reading)
    spelled = Corpus.from_documents([word], tokenizer=reading.tokenizer, min_count=1)
    if model.phrases is not None:
        spelled = model.phrases.join(spelled)
        corpus = corpus if corpus.phrases is not None else model.phrases.join(corpus)
    pattern = [spelled.vocabulary.words[token] for token in spelled.tokens]
    places = corpus.occurrences(pattern)
    if not places.size:
        raise CorpusError(
            f"{word!r} does not occur in the contexts; give texts in which it does, or check its "
            "spelling."
        )
    counts = _fold_rows(model, corpus, places, len(pattern), draws) / draws
    total = counts.sum(axis=0)
    vectors = model.embed_rows(total[None]).vectors
    covariance = np.full(2 * (vectors.shape[1],), np.nan)
    others = total - counts
    others = others[(others.sum(axis=1) > 0) & (counts.sum(axis=1) > 0)]
    if len(others) > 1:
        without = model.embed_rows(others).vectors.astype(np.float64)
        without -= without.mean(axis=0)
        covariance = (len(without) - 1) / len(without) * without.T @ without
    return NewWord(
        word=word,
        vector=vectors[0],
        covariance=covariance,
        occurrences=len(places),
        embedding=model.wv,
    )


def _fold_rows(
    model: Model,
    corpus: Corpus,
    places: NDArray[np.int64],
    length: int,
    draws: int,
) -> NDArray[np.int64]:
    """Count the model's words around the occurrences at `places`, summed over draws, by fold.

    Folds consist of whole documents, or of occurrences if there is one document, because the pairs
    of one window are not independent. The documents are encoded with the model's words and one
    extra word per fold, which replaces the `length` words that begin at each place. They are then
    counted as the model's text was.
    """
    slots = model.solution.slots
    if any(slot.weights is None for slot in slots):
        raise SettingError(
            "This model was made from counts whose window is not known, so contexts can't be "
            "counted; count them yourself and use embed_rows."
        )
    words, size = corpus.vocabulary.words, len(model.vocabulary)
    masked = model.settings.get("oov") == "mask"
    document = np.searchsorted(corpus.offsets, places, side="right") - 1
    chosen, cluster = np.unique(document, return_inverse=True)
    if len(chosen) == 1:
        cluster = np.arange(len(places))
    folds = min(MOST_FOLDS, int(cluster.max()) + 1)
    others = size + folds if masked else -1
    number = np.array([others if (i := model.vocabulary.get(w)) is None else i for w in words])
    starts, stops = corpus.offsets[chosen], corpus.offsets[chosen + 1]
    kept = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
    tokens = np.full(corpus.tokens.size, -1, np.int64)
    tokens[kept] = np.append(number, others)[corpus.tokens[kept]]
    tokens[(places[:, None] + np.arange(length)).ravel()] = -1
    tokens[places] = size + cluster % folds
    stream = tokens[kept]
    present = np.concatenate(([0], np.cumsum(stream >= 0)))
    subsample, frequency = recorded_subsampling(
        model.vocabulary, model.spectrum.target_settings["sources"]
    )
    # These names can't clash with words, which have no line breaks.
    names = (f"\n{fold}" for fold in range(folds))
    new = Vocabulary((*model.vocabulary.words, *names), np.append(frequency, np.ones(folds, int)))
    small = Corpus(
        stream[stream >= 0].astype(np.uint32),
        present[np.concatenate(([0], np.cumsum(stops - starts)))],
        new,
        {"oov": "mask" if masked else "drop"},
    )
    counts = Cooccurrence.count(
        small,
        slots=slots,
        subsample=subsample,
        draws=draws if subsample else 1,
    )
    width = size * counts.contexts_per_word
    rows = context_matrix(counts)[size:].toarray()[:, :width].astype(np.int64)
    return rows if subsample else rows * draws


def embed_rows(
    model: Model,
    counts: Counts,
    occurrences: ArrayLike | None = None,
    *,
    shrink: bool = True,
    dispersion: float | None = None,
) -> NewVectors:
    """Return the vectors of new rows; see `Model.embed_rows`."""
    kinds = sum(slot.contexts for slot in model.solution.slots)
    rows = _as_rows(counts, model.vocabulary, kinds)
    if dispersion is None:
        dispersion = dispersion_of(model.spectrum.target_settings.get("weights"))
    totals = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
    if not np.all(totals > 0):
        empty = int(np.argmin(totals > 0))
        raise CountError(
            f"Row {empty} has no counts with any of the {len(model.vocabulary):,} words of the "
            "model, so it can't be embedded; leave it out, or give more contexts."
        )
    often = None if occurrences is None else np.asarray(occurrences, dtype=np.float64)
    if often is not None and not (
        often.shape == totals.shape and np.all(np.isfinite(often) & (often > 0))
    ):
        raise SettingError(f"occurrences needs {len(totals)} positive numbers, one for each row.")
    if isinstance(model.solution, ClosedForm):
        own = model.spectrum.target_settings.get("shrinkage")
        found = model.solution.solve_rows(
            rows,
            dispersion=dispersion,
            occurrences=often,
            shrinkage=own or (SHRINKAGE if shrink else None),
        )
    else:
        found = model.solution.solve_rows(rows, dispersion=dispersion)
    return NewVectors(*found)


def dispersion_of(weights: Sequence[int] | None) -> float:
    """Return Σ a²/Σ a over the weights a of a window: the variance of a count over its mean.

    >>> dispersion_of([1, 1, 1]), round(dispersion_of([3, 2, 1]), 3)
    (1.0, 2.333)
    """
    if not weights:
        return 1.0
    array = np.asarray(weights, dtype=np.float64)
    return float(array @ array / array.sum())


def _as_rows(counts: Counts, vocabulary: Vocabulary, kinds: int) -> sparse.csr_array[Any]:
    """Return counts as sparse rows over words or contexts, after checking them."""
    matrix: Any = counts
    if isinstance(matrix, Mapping):
        matrix = [matrix]
    if isinstance(matrix, Sequence) and matrix and isinstance(matrix[0], Mapping):
        matrix = _from_mappings(matrix, vocabulary)
    elif not sparse.issparse(matrix):
        matrix = np.atleast_2d(np.asarray(matrix))
    if matrix.ndim != 2 or matrix.shape[1] not in (len(vocabulary), kinds * len(vocabulary)):
        raise CountError(
            f"Rows need one count for each of the {len(vocabulary):,} words of the model, or for "
            f"each of its contexts, but these have the shape {matrix.shape}."
        )
    rows = sparse.csr_array(matrix)
    rows.sum_duplicates()
    if not np.all(np.isfinite(rows.data)) or (rows.nnz and rows.data.min() < 0):
        raise CountError("Counts of new rows must be finite and not negative.")
    rows.eliminate_zeros()
    return rows


def _from_mappings(
    counts: Sequence[Mapping[str, float]], vocabulary: Vocabulary
) -> sparse.csr_array[Any]:
    """Return rows of counts by word; words that the model doesn't know are left out."""
    known = [
        (row, index, count)
        for row, words in enumerate(counts)
        for word, count in words.items()
        if (index := vocabulary.get(word)) is not None
    ]
    rows, columns, values = np.array(known, dtype=np.float64).reshape(-1, 3).T
    places = rows.astype(np.int64), columns.astype(np.int64)
    return sparse.csr_array((values, places), shape=(len(counts), len(vocabulary)))
