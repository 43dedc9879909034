# mypy: allow-untyped-defs, allow-untyped-calls
"""Compiled loops over sorted lists of words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.kernels import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def _compare(text, first, first_end, second, second_end):
    """Compare two spellings: below 0 if the first comes first, 0 if they are equal."""
    for i in range(min(first_end - first, second_end - second)):
        difference = np.int64(text[first + i]) - np.int64(text[second + i])
        if difference != 0:
            return difference
    return (first_end - first) - (second_end - second)


@njit(nogil=True, cache=True)
def add_sorted(
    text: NDArray[np.uint8],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
    lists: NDArray[np.int64],
    places: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> int:
    """Merge sorted lists of words, add their counts, and return the number of different words.

    Word w is ``text[ends[w - 1]:ends[w]]``. List k has the words from ``lists[k]`` up to
    ``lists[k + 1]``, all different and sorted by bytes. For each different word, in order, one of
    its numbers w is written to `places` and the sum of its counts to `sums`.
    """
    heads = lists[:-1].copy()
    found = 0
    while True:
        least, start, end = -1, 0, 0
        for k in range(heads.size):
            word = heads[k]
            if word < lists[k + 1]:
                first = ends[word - 1] if word else 0
                if least < 0 or _compare(text, first, ends[word], start, end) < 0:
                    least, start, end = word, first, ends[word]
        if least < 0:
            return found
        places[found], total = least, 0
        for k in range(heads.size):
            word = heads[k]
            if word < lists[k + 1]:
                first = ends[word - 1] if word else 0
                if _compare(text, first, ends[word], start, end) == 0:
                    total += counts[word]
                    heads[k] += 1
        sums[found] = total
        found += 1
