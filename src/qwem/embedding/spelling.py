"""Spelling: vectors of character n-grams, for rare and unseen words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qwem._internal.arrays import blocks, for_each
from qwem._internal.resources import progress
from qwem.errors import SettingError, UnknownWordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray
    from scipy import sparse

    from qwem.embedding.embedding import Embedding

    Matrix: TypeAlias = NDArray[np.float32]

NGRAM_LENGTHS = range(4, 7)
"""Lengths of the n-grams, in characters. Shorter ones are in too many unrelated words."""

WORDS_PER_NGRAM = 3
"""N-grams in fewer words than this are left out: they tell nothing about other words."""

STEPS = 8
"""Steps of conjugate gradients; more change no score."""

MORE_STEPS = 4
"""Steps from the solution for similar vectors on, which end as near to the minimum."""


@dataclass(frozen=True, eq=False)
class Spelling:
    """Vectors of character n-grams, which add up to vectors of words.

    The vector of a word is the sum of the vectors of its n-grams that are known, divided by the
    root of their number.
    """

    ngrams: tuple[str, ...] = field(repr=False)
    vectors: Matrix = field(repr=False)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {ngram: row for row, ngram in enumerate(self.ngrams)}

    def vector(self, word: str) -> Matrix:
        """Return the vector that the spelling of `word` predicts."""
        known = sorted({self._index[part] for part in ngrams_of(word) if part in self._index})
        if not known:
            raise UnknownWordError(
                f"The word {word!r} is not in the vocabulary, and no part of its spelling is known."
            )
        total: Matrix = self.vectors[known].sum(axis=0, dtype=np.float64) / np.sqrt(len(known))
        return total.astype(np.float32)

    def predict(self, words: Iterable[str]) -> Matrix:
        """Return a vector for each word: zero where no part of the spelling is known."""
        rows = []
        for word in words:
            try:
                rows.append(self.vector(word))
            except UnknownWordError:
                rows.append(np.zeros(self.vectors.shape[1], np.float32))
        return np.array(rows, np.float32).reshape(-1, self.vectors.shape[1])


def ngrams_of(word: str) -> set[str]:
    """Return the n-grams of a word between ``<`` and ``>``, which mark its beginning and end.

    >>> sorted(ngrams_of("cats"))
    ['<cat', '<cats', '<cats>', 'ats>', 'cats', 'cats>']
    """
    marked = f"<{word}>"
    return {marked[at : at + n] for n in NGRAM_LENGTHS for at in range(len(marked) - n + 1)}


def spell(
    embedding: Embedding,
    *,
    evidence: float = 100.0,
    ridge: float = 10.0,
) -> Embedding:
    """Return an embedding that uses the spelling of rare words; unseen words have vectors too.

    Polished vectors are shrunk: a word seen n times has about n/(n + evidence) of the vector that
    its text alone would give. The rest, evidence/(n + evidence), is added here from the vector that
    its n-grams predict. So frequent words hardly move, and a word never seen (n = 0) has the
    prediction alone.

    The vectors B of the n-grams come from one ridge regression in closed form,

        min_B Σ_i n_i/(n_i + evidence) |w_i (n_i + evidence)/n_i − x_i B|² + ridge |B|²,

    with x_i the n-grams of word i, each 1/√(number of its n-grams).

    Parameters
    ----------
    embedding
        Word vectors, with the counts of the words.
    evidence
        The evidence of independence that the vectors were shrunk by: see `qwem.polish.polish`.
    ridge
        How many words an n-gram must be in before its vector is trusted.

    >>> from qwem import Embedding, Vocabulary
    >>> words = ("cat", "cats", "dog", "dogs", "doge")
    >>> vectors = [[5, 0], [5, 0], [0, 5], [0, 5], [0, 5]]
    >>> small = Embedding(Vocabulary(words, np.array([9, 8, 7, 6, 5])), vectors)
    >>> spell(small).most_similar("doggy", topn=1)[0][0]
    'dog'
    """
    from qwem.embedding.embedding import Embedding

    counts = embedding.vocabulary.counts.astype(np.float64)
    if counts.min() < 1:
        raise SettingError("spell needs word counts; these vectors have none, or some are zero.")
    for name, value in (("evidence", evidence), ("ridge", ridge)):
        if not (np.isfinite(value) and value > 0):
            raise SettingError(f"{name} must be a positive number, not {value}.")
    regression = NgramRegression(embedding.index_to_key)
    trust = counts / (counts + evidence)
    weights = trust.astype(np.float32)
    asked: Matrix = embedding.vectors / weights[:, None]
    with progress("spelling", asked.shape[1], "dimension") as bar:
        vectors = regression.solve(asked, weights, ridge, done=bar.update)
    predicted = regression.predict(vectors)
    predicted *= (1 - trust)[:, None].astype(np.float32)
    predicted += embedding.vectors
    return Embedding(
        embedding.vocabulary,
        predicted,
        provenance={**embedding.provenance, "spelling": {"evidence": evidence, "ridge": ridge}},
        spelling=Spelling(regression.ngrams, vectors),
    )


class NgramRegression:
    """Ridge regression of word vectors on the n-grams of the words."""

    def __init__(self, words: Iterable[str]) -> None:
        self.ngrams, self.incidence = incidence_of(words)
        if not self.ngrams:
            raise SettingError(
                f"No n-gram of {NGRAM_LENGTHS[0]} to {NGRAM_LENGTHS[-1]} characters is in "
                f"{WORDS_PER_NGRAM} words or more; give more text, or leave spelling out "
                "(`ngrams=False`)."
            )
        self._transposed = self.incidence.T.tocsr()
        self._transposed.sort_indices()

    def predict(self, ngram_vectors: Matrix) -> Matrix:
        """Return the vector of each word, X B."""
        from qwem._internal.kernels import multiply

        found: Matrix = multiply(self.incidence, ngram_vectors)
        return found

    def solve(
        self,
        vectors: Matrix,
        weights: Matrix,
        ridge: float,
        start: Matrix | None = None,
        done: Callable[[int], object] = lambda columns: None,
    ) -> Matrix:
        """Return the n-gram vectors B of (XᵀΩX + ridge) B = XᵀΩU, with U the word vectors.

        Conjugate gradients solve for each column, from `start` on if there is one. `done` is called
        with the number of columns solved.
        """
        from qwem._internal.kernels import LANES

        squares = self._transposed.multiply(self._transposed)
        diagonal = (squares @ weights + np.float32(ridge))[:, None]
        found = np.zeros((len(self.ngrams), vectors.shape[1]), np.float32)
        if start is not None:
            found[:] = start

        def work(columns: slice) -> None:
            # Columns of zeros are added, since so many are multiplied at once.
            padding = ((0, 0), (0, LANES - vectors[:, columns].shape[1]))
            asked, solution = (np.pad(each[:, columns], padding) for each in (vectors, found))
            steps = STEPS if start is None else MORE_STEPS
            self._solve(asked, weights[:, None], np.float32(ridge), diagonal, solution, steps)
            found[:, columns] = solution[:, : found[:, columns].shape[1]]
            done(found[:, columns].shape[1])

        for_each(work, blocks(vectors.shape[1], most=LANES))
        return found

    def _solve(
        self,
        asked: Matrix,
        weights: Matrix,
        ridge: np.float32,
        diagonal: Matrix,
        solution: Matrix,
        steps: int,
    ) -> None:
        """Take steps of conjugate gradients from `solution` on; overwrite it and `asked`."""
        asked *= weights
        residual = _product(self._transposed, asked)
        if solution.any():
            residual -= self._normal_times(solution, weights, ridge)
        direction, before = np.zeros_like(solution), np.ones(solution.shape[1], np.float32)
        for _ in range(steps):
            conditioned = residual / diagonal
            square = np.einsum("ij,ij->j", residual, conditioned)
            direction *= _quotient(square, before)
            direction += conditioned
            image = self._normal_times(direction, weights, ridge)
            step = _quotient(square, np.einsum("ij,ij->j", direction, image))
            residual -= np.multiply(image, step, out=image)
            solution += np.multiply(direction, step, out=image)
            before = square

    def _normal_times(self, block: Matrix, weights: Matrix, ridge: np.float32) -> Matrix:
        """Return (XᵀΩX + ridge) `block`."""
        predicted = _product(self.incidence, block)
        predicted *= weights
        return _product(self._transposed, predicted, ridge * block)


def _product(matrix: sparse.csr_array[Any], block: Matrix, start: Matrix | None = None) -> Matrix:
    """Return matrix @ block + start, on one thread; `start` is overwritten."""
    from qwem._internal.kernels import multiply_rows

    total = np.zeros((matrix.shape[0], block.shape[1]), np.float32) if start is None else start
    multiply_rows(matrix.indptr, matrix.indices, matrix.data, block, total)
    return total


def _quotient(top: Matrix, bottom: Matrix) -> Matrix:
    """Return top / bottom, and zero where `bottom` is not above zero."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def incidence_of(words: Iterable[str]) -> tuple[tuple[str, ...], sparse.csr_array[Any]]:
    """Return the n-grams that are in enough words, sorted, and a matrix of words × n-grams.

    The entries of a row are equal for the n-grams of the word; their squares add up to one.
    """
    from scipy import sparse

    found: dict[str, int] = {}
    ends = [0]
    columns: list[int] = []
    for word in words:
        columns.extend(found.setdefault(ngram, len(found)) for ngram in ngrams_of(word))
        ends.append(len(columns))
    every = np.array(columns, dtype=np.int64)
    frequent = np.bincount(every, minlength=len(found)) >= WORDS_PER_NGRAM
    names = np.array(list(found), dtype=object)
    order = np.flatnonzero(frequent)[np.argsort(names[frequent])]
    place = np.zeros(len(found), dtype=np.int32)
    place[order] = np.arange(len(order))
    kept = frequent[every]
    indptr = np.concatenate(([0], np.cumsum(kept)))[ends]
    lengths = np.diff(indptr)
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
    shape = (len(ends) - 1, len(order))
    matrix = sparse.csr_array((values, place[every[kept]], indptr.astype(np.int32)), shape=shape)
    matrix.sort_indices()
    return tuple(names[order]), matrix
