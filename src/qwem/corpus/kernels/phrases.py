"""Kernels of `Phrases`: which words follow each other, and joining those that belong together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]


@njit(nogil=True, cache=True)
def count_words(tokens: Array, start: int, stop: int, counts: Array) -> None:
    """Add how often each word occurs in a part of the tokens."""
    for t in range(start, stop):
        counts[tokens[t]] += 1


@njit(nogil=True, cache=True)
def count_firsts(
    tokens: Array, offsets: Array, start: int, stop: int, low: int, high: int, counts: Array
) -> None:
    """Add how often each word from `low` up to `high` has a word after it, in some documents."""
    for document in range(start, stop):
        for t in range(offsets[document], offsets[document + 1] - 1):
            word = np.int64(tokens[t])
            if low <= word < high:
                counts[word - low] += 1


@njit(nogil=True, cache=True)
def group_next(
    tokens: Array, offsets: Array, start: int, stop: int, low: int, high: int,
    free: Array, after: Array,
) -> None:  # fmt: skip
    """Write the words that follow each word from `low` up to `high`, contiguous for each word.

    ``free[word - low]`` is where the next one goes.
    """
    for document in range(start, stop):
        for t in range(offsets[document], offsets[document + 1] - 1):
            word = np.int64(tokens[t])
            if low <= word < high:
                after[free[word - low]] = tokens[t + 1]
                free[word - low] += 1


@njit(nogil=True, cache=True)
def count_pairs(
    after: Array, starts: Array, start: int, stop: int, least: int,
    counter: Array, touched: Array, firsts: Array, seconds: Array, counts: Array,
) -> tuple[int, int]:  # fmt: skip
    """Count the pairs whose first word is one of those from `start` up to `stop`.

    `after` is what `group_next` wrote, and ``starts`` is where each word's part begins. `counter`
    is zero for every word before and after. Pairs that occur at least `least` times are written.
    Returns how many were written, and how many different pairs there are.
    """
    written, different = 0, 0
    for word in range(start, stop):
        found = 0
        for place in range(starts[word], starts[word + 1]):
            second = after[place]
            if counter[second] == 0:
                touched[found] = second
                found += 1
            counter[second] += 1
        different += found
        for k in range(found):
            second = touched[k]
            if counter[second] >= least:
                firsts[written], seconds[written] = word, second
                counts[written] = counter[second]
                written += 1
            counter[second] = 0
    return written, different


@njit(nogil=True, cache=True)
def join_pairs(
    tokens: Array, offsets: Array, start: int, stop: int,
    indptr: Array, seconds: Array, joined: Array, out: Array, ends: Array,
) -> int:  # fmt: skip
    """Write the tokens of some documents with each listed pair as one token, from left to right.

    The pairs of first word w are ``seconds[indptr[w]:indptr[w + 1]]``, sorted, and become `joined`.
    ``ends`` gets where each document ends in `out`. Returns how many tokens were written.
    """
    written = 0
    for document in range(start, stop):
        t, end = offsets[document], offsets[document + 1]
        while t < end:
            word = tokens[t]
            token = np.int64(word)
            if t + 1 < end:
                low, high = indptr[word], indptr[word + 1]
                last, following = high, tokens[t + 1]
                while low < high:
                    middle = (low + high) // 2
                    if seconds[middle] < following:
                        low = middle + 1
                    else:
                        high = middle
                if low < last and seconds[low] == following:
                    token = joined[low]
                    t += 1
            out[written] = token
            written += 1
            t += 1
        ends[document - start] = written
    return written
