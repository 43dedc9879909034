"""Collocates: the words that a word was counted with, and how much more often than by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import xlogy

from qwem.errors import UnknownWordError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence


def collocates(counts: Cooccurrence, word: str, topn: int) -> list[dict[str, Any]]:
    """Return the words that were counted with `word`, with the strongest first.

    The association is the log-likelihood ratio G² of the 2 × 2 table of a pair (Dunning 1993),
    for pairs that were seen more often than expected. Counts are those of the window, weighted by
    distance, so G² orders words and is not to be read as a test.
    """
    if word not in counts.vocabulary:
        raise UnknownWordError(f"The counts do not have the word {word!r}.")
    row = counts.vocabulary.index(word)
    others, seen = _row(counts, row)
    sums = counts.symmetric.row_sums.astype(np.float64)
    total = float(sums.sum())
    expected = sums[row] * sums[others] / total
    association = log_likelihood(seen, sums[row], sums[others], total)
    more = np.flatnonzero(seen > expected)
    order = more[np.lexsort((others[more], -association[more]))]
    words = counts.vocabulary.words
    return [
        {
            "word": words[others[place]],
            "count": int(seen[place]),
            "ratio": round(float(seen[place] / expected[place]), 3),
        }
        for place in order[:topn].tolist()
    ]


def log_likelihood(
    both: NDArray[np.float64], first: float, second: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """Return G² = 2 Σ O ln(O/E) over the four cells of the table of each pair.

    >>> log_likelihood(np.array([10.0, 5.0]), 50.0, np.array([20.0, 10.0]), 100.0).round(6)
    array([0., 0.])
    """
    cells = (
        (both, first * second),
        (first - both, first * (total - second)),
        (second - both, (total - first) * second),
        (total - first - second + both, (total - first) * (total - second)),
    )
    result = np.zeros_like(both)
    for observed, product in cells:
        # A cell without counts adds nothing, whatever the logarithm is.
        seen = observed > 0
        ratio = np.divide(observed * total, product, out=np.ones_like(result), where=seen)
        result += 2 * xlogy(np.where(seen, observed, 0.0), ratio)
    return np.maximum(result, 0.0)


def _row(counts: Cooccurrence, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    matrix = counts.symmetric.matrix
    if isinstance(matrix, np.ndarray):
        others = np.flatnonzero(matrix[row])
        return others, matrix[row][others].astype(np.float64)
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return matrix.indices[part].astype(np.int64), matrix.data[part].astype(np.float64)
