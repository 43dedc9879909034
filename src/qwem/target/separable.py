"""Separable approximation of the smooth part of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.arrays import blocks
from qwem.errors import ConvergenceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TOLERANCE = 1e-5
"""The largest error of an entry that `separate` accepts."""

_SAMPLES = 400
_CHECKS = 2000
_MOST_TERMS = 64


def separate(
    function: Callable[[Array], Array], left: Array, right: Array, word_counts: NDArray[np.int64]
) -> tuple[Array, Array, float]:
    """Write function(left @ right), a symmetric matrix, as terms @ diag(signs) @ terms.T.

    The factors are smooth functions of a word's count, so words of equal count have equal rows, and
    the eigenvectors on a few hundred words, evenly spread over the logarithm of the count, extend
    to all words (Nyström). Terms are added until the largest error, measured among the words of
    distinct counts (2,000 of them, evenly spread, where there are more), is at most `TOLERANCE`.

    Returns the terms (words × terms), their signs, and the error measured.
    """
    distinct, first, place = np.unique(word_counts, return_index=True, return_inverse=True)
    left, right = left[first], right[:, first]
    sample, check = _spread(distinct, _SAMPLES), _spread(distinct, _CHECKS)

    values, vectors = np.linalg.eigh(function(left[sample] @ right[:, sample]))
    order = np.argsort(-np.abs(values))
    order = order[np.abs(values[order]) > 1e-10 * np.abs(values[order[0]])]
    values, vectors = values[order], vectors[:, order]
    extended = function(left @ right[:, sample]) @ (vectors / np.sqrt(np.abs(values)))
    signs = np.sign(values)

    rest = function(left[check] @ right[:, check])
    for count in range(1, min(values.size, _MOST_TERMS) + 1):
        term = extended[check, count - 1]
        for rows in blocks(len(check), len(check)):
            rest[rows] -= np.outer(signs[count - 1] * term[rows], term)
        error = max(float(np.abs(rest[rows]).max()) for rows in blocks(*rest.shape))
        if error <= TOLERANCE:
            return extended[place, :count], signs[:count], error
    raise ConvergenceError(
        f"The entries of unseen pairs could not be written as a few separable terms (the error "
        f"stays at {error:.1e}); use dense=True."
    )


def _spread(counts: NDArray[np.int64], size: int) -> NDArray[np.intp]:
    """Return indices into sorted `counts`, evenly spread over its logarithm, the ends included."""
    if counts.size <= size:
        return np.arange(counts.size)
    even = np.geomspace(counts[0], counts[-1], size)
    return np.unique(np.searchsorted(counts, even).clip(max=counts.size - 1))
