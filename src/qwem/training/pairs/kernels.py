"""Compiled loops that lay out text, and draw, weigh and sort pairs.

Random numbers come from SplitMix64, so a draw depends on its key alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import GOLDEN, mix, njit

Array = np.ndarray[Any, Any]

_ONE, _S11 = np.uint64(1), np.uint64(11)

# Let the compiler reorder and fuse sums, which it does in the same way in every run.
_SUMS = {"reassoc", "contract", "nsz"}

_BLOCK = 1024
"""Places per block."""


@njit(inline="always")
def _uniform(state: Any) -> Any:
    """Return a number in [0, 1) of 53 random bits."""
    return np.float64(mix(state) >> _S11) * 2.0**-53


@njit(nogil=True, cache=True)
def derive_key(seed: int, number: int) -> Any:
    """Return the key of one of many independent streams."""
    return mix(mix(np.uint64(seed) + GOLDEN) + GOLDEN * (np.uint64(number) + _ONE))


@njit(nogil=True, cache=True)
def lay_out(
    tokens: Array,
    offsets: Array,
    first: int,
    start: int,
    stop: int,
    gap: int,
    window: int,
    out: Array,
) -> tuple[int, int]:
    """Write tokens with gaps of `window` between documents and at both ends.

    `tokens` are those of the corpus from number `first` on; ids above `gap` become gaps.
    Returns the range in `out` of the tokens from number `start` up to `stop`.
    """
    place = begin = end = 0
    document = np.searchsorted(offsets, first, side="right")
    for k in range(tokens.size + 1):
        if first + k == stop:
            end = place
        apart = k in (0, tokens.size)
        while document < offsets.size and first + k >= offsets[document]:
            apart = True
            document += 1
        for _ in range(window if apart else 0):
            out[place] = gap
            place += 1
        if first + k == start:
            begin = place
        if k < tokens.size:
            out[place] = min(tokens[k], gap)
            place += 1
    return begin, end


@njit(nogil=True, cache=True)
def fill_alias(probability: Array, limit: Array, alias: Array) -> None:
    """Write Walker's alias table of a distribution: a place stands for itself below its limit."""
    size = probability.size
    small, large = np.empty(size, np.int64), np.empty(size, np.int64)
    few = many = 0
    for i in range(size):
        limit[i] = probability[i] * size
        alias[i] = i
        if limit[i] < 1:
            small[few] = i
            few += 1
        else:
            large[many] = i
            many += 1
    while few and many:
        few -= 1
        i, j = small[few], large[many - 1]
        alias[i] = j
        limit[j] -= 1 - limit[i]
        if limit[j] < 1:
            many -= 1
            small[few] = j
            few += 1
    for k in range(few):
        limit[small[k]] = 1.0
    for k in range(many):
        limit[large[k]] = 1.0


@njit(inline="always")
def _word(state: Any, limit: Array, alias: Array) -> Any:
    at = _uniform(state) * limit.size
    word = np.int64(at)
    return word if at - word < limit[word] else np.int64(alias[word])


@njit(nogil=True, cache=True)
def draw_words(key: Any, limit: Array, alias: Array, out: Array) -> None:
    """Draw independent words from the distribution of an alias table."""
    state = key
    for k in range(out.size):
        out[k] = _word(state, limit, alias)
        state += GOLDEN


@njit(nogil=True, cache=True)
def draw_positives(
    key: Any,
    stream: Array,
    begin: int,
    end: int,
    gap: int,
    reach: Array,
    centres: Array,
    contexts: Array,
) -> None:
    """Draw pairs of neighbours: a centre in [begin, end), and a context at a random distance.

    `reach` lists signed distances, each as often as its weight. Most of the time is spent waiting
    for memory, so each look-up handles many candidates together.
    """
    words, at = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    state = key
    drawn = 0
    while drawn < centres.size:
        for k in range(_BLOCK):
            at[k] = begin + np.int64(_uniform(state) * (end - begin))
            words[k] = stream[at[k]]
            state += GOLDEN
        for k in range(_BLOCK):
            at[k] = stream[at[k] + reach[np.int64(_uniform(state) * reach.size)]]
            state += GOLDEN
        for k in range(_BLOCK):
            if drawn < centres.size and words[k] != gap and at[k] != gap:
                centres[drawn] = words[k]
                contexts[drawn] = at[k]
                drawn += 1


@njit(nogil=True, cache=True)
def draw_accepted(
    key: Any,
    stream: Array,
    places: Array,
    starts: Array,
    limit: Array,
    alias: Array,
    gap: int,
    reach: Array,
    accept: Array,
    centres: Array,
    contexts: Array,
) -> None:
    """Draw pairs of neighbours whose words are accepted with the probabilities `accept`.

    Centres are drawn from an alias table of accepted words and from the places of the word, since
    most centres drawn from the text would be rejected. Only contexts are drawn until accepted.
    """
    words, at = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    state = key
    drawn = 0
    while drawn < centres.size:
        for k in range(_BLOCK):
            words[k] = _word(state, limit, alias)
            state += GOLDEN
        for k in range(_BLOCK):
            count = starts[words[k] + 1] - starts[words[k]]
            at[k] = starts[words[k]] + np.int64(_uniform(state) * count)
            state += GOLDEN
        for k in range(_BLOCK):
            at[k] = places[at[k]] + reach[np.int64(_uniform(state) * reach.size)]
            state += GOLDEN
        for k in range(_BLOCK):
            at[k] = stream[at[k]]
        for k in range(_BLOCK):
            if drawn < centres.size and at[k] != gap and _uniform(state) < accept[at[k]]:
                centres[drawn] = words[k]
                contexts[drawn] = at[k]
                drawn += 1
            state += GOLDEN


@njit(nogil=True, cache=True, fastmath=_SUMS)
def sum_accepted(stream: Array, begin: int, end: int, accept: Array, weights: Array) -> float:
    """Return the expected weight of accepted pairs with a centre in [begin, end).

    `weights` are those of the distances 1, 2, …, and `accept` is 0 for gaps.
    """
    window = weights.size
    accepted = np.empty(_BLOCK + 2 * window)
    total = 0.0
    for first in range(begin, end, _BLOCK):
        size = min(_BLOCK, end - first)
        for k in range(size + 2 * window):
            accepted[k] = accept[stream[first - window + k]]
        for distance in range(1, window + 1):
            part = 0.0
            for k in range(window, window + size):
                part += accepted[k] * (accepted[k - distance] + accepted[k + distance])
            total += weights[distance - 1] * part
    return total


@njit(nogil=True, cache=True)
def look_up_dense(counts: Array, centres: Array, contexts: Array, out: Array) -> None:
    """Write the counts of pairs."""
    for k in range(out.size):
        out[k] = counts[centres[k], contexts[k]]


@njit(nogil=True, cache=True)
def look_up_sparse(
    indptr: Array, indices: Array, data: Array, centres: Array, contexts: Array, out: Array
) -> None:
    """Write the counts of pairs, from a sparse matrix with sorted columns."""
    for k in range(out.size):
        low, high = indptr[centres[k]], indptr[centres[k] + 1]
        end = high
        while low < high:
            middle = (low + high) // 2
            if indices[middle] < contexts[k]:
                low = middle + 1
            else:
                high = middle
        out[k] = data[low] if low < end and indices[low] == contexts[k] else 0


@njit(nogil=True, cache=True, error_model="numpy")
def weigh_pairs(
    centres: Array,
    contexts: Array,
    is_positive: Array,
    positive_factor: Array,
    negative_factor: Array,
    left: Array,
    right: Array,
    seen: Array,
    curvature: Any,
    out: Array,
) -> None:
    """Write the importance weights of pairs.

    A positive pair has u_i u_j, with u the positive factor. A negative pair has u_i u_j E_ij, with
    u the negative factor and E_ij = Σ_t left_it right_jt. Under Setting 3.1, where `seen` holds
    P_ij, both are divided by a P_ij + b E_ij.
    """
    a, b = curvature
    for k in range(out.size):
        i, j = centres[k], contexts[k]
        expected = 0.0
        for term in range(left.shape[1]):
            expected += left[i, term] * right[j, term]
        if is_positive[k]:
            weight = positive_factor[i] * positive_factor[j]
        else:
            weight = negative_factor[i] * negative_factor[j] * expected
        if seen.size:
            weight /= a * seen[k] + b * expected
        out[k] = weight


@njit(nogil=True, cache=True)
def take(values: Array, order: Array, first: int, last: int, out: Array) -> None:
    """Write a range of ``values[order]`` without holding the interpreter lock, as NumPy does."""
    for k in range(first, last):
        out[k] = values[order[k]]


@njit(nogil=True, cache=True)
def sort_pairs(keys: Array, order: Array, starts: Array) -> None:
    """Sort pairs by one of their words; word w has the pairs order[starts[w]:starts[w + 1]]."""
    starts[:] = 0
    for k in range(keys.size):
        starts[keys[k] + 1] += 1
    for word in range(1, starts.size):
        starts[word] += starts[word - 1]
    free = starts[:-1].copy()
    for k in range(keys.size):
        order[free[keys[k]]] = k
        free[keys[k]] += 1
