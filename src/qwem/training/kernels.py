"""Compiled loops: drawing, weighing and sorting pairs, and a gradient step on a batch of them.

Random numbers come from SplitMix64, so a draw depends on its key alone. In a step, each word's
sums are computed by one thread in a fixed order, so the result does not depend on the number of
threads. Rows are addressed by number, never sliced: every slice would update the reference count of
the whole array, which all threads share and which costs more than the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import (
    GOLDEN,
    exp_of_negative,
    log_of_one_plus,
    lower_bound,
    mix,
    njit,
)

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
    document = lower_bound(offsets, 0, offsets.size, first + 1)
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
    """Write Walker's alias table of a distribution: i below limit[i], else alias[i]."""
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
    index: Any,
    reach: Array,
    accept: Array,
    centres: Array,
    contexts: Array,
) -> None:
    """Draw pairs of neighbours: a centre in [begin, end), and a context at a random distance.

    `reach` lists signed distances, each repeated as many times as its weight. `index` has the
    places of each word, where they start, and an alias table of accepted centres; words are then
    accepted with the probabilities `accept`. Without an index, where places are empty, all words
    are accepted. Centres are drawn by word since most of those drawn from the text would be
    rejected; only contexts are drawn until accepted. Most of the time is spent waiting for memory,
    so each look-up handles many candidates together.
    """
    places, starts, limit, alias = index
    by_word, gap = places.size > 0, accept.size - 1
    words, at = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    state = key
    drawn = 0
    while drawn < centres.size:
        for k in range(_BLOCK):
            if by_word:
                words[k] = _word(state, limit, alias)
            else:
                at[k] = begin + np.int64(_uniform(state) * (end - begin))
                words[k] = stream[at[k]]
            state += GOLDEN
        for k in range(_BLOCK if by_word else 0):
            count = starts[words[k] + 1] - starts[words[k]]
            at[k] = places[starts[words[k]] + np.int64(_uniform(state) * count)]
            state += GOLDEN
        for k in range(_BLOCK):
            at[k] = stream[at[k] + reach[np.int64(_uniform(state) * reach.size)]]
            state += GOLDEN
        for k in range(_BLOCK):
            found = words[k] != gap and at[k] != gap
            if by_word:
                found = found and _uniform(state) < accept[at[k]]
                state += GOLDEN
            if found and drawn < centres.size:
                centres[drawn] = words[k]
                contexts[drawn] = at[k]
                drawn += 1


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
def look_up_sparse(
    indptr: Array, indices: Array, data: Array, centres: Array, contexts: Array, out: Array
) -> None:
    """Write the counts of pairs, from a sparse matrix with sorted columns."""
    for k in range(out.size):
        end = indptr[centres[k] + 1]
        at = lower_bound(indices, indptr[centres[k]], end, contexts[k])
        out[k] = data[at] if at < end and indices[at] == contexts[k] else 0


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


_CACHED_PAIRS = 16
"""Pairs per block, few enough for their rows to stay in the cache between two loops."""


@njit(inline="always")
def _dot(a: Array, i: int, b: Array, j: int) -> Any:
    total = a.dtype.type(0)
    for d in range(a.shape[1]):
        total += a[i, d] * b[j, d]
    return total


@njit(inline="always")
def _add_rows(
    slopes: Array, rows: Array, partners: Array, first: int, last: int, into: Array
) -> None:
    """Add each slope times its partner's row to `into`, four rows at a time to read `into` less."""
    k = first
    while k + 4 <= last:
        a, b, c, e = partners[k], partners[k + 1], partners[k + 2], partners[k + 3]
        s, t, u, v = slopes[k], slopes[k + 1], slopes[k + 2], slopes[k + 3]
        for d in range(into.size):
            into[d] += s * rows[a, d] + t * rows[b, d] + u * rows[c, d] + v * rows[e, d]
        k += 4
    while k < last:
        a, s = partners[k], slopes[k]
        for d in range(into.size):
            into[d] += s * rows[a, d]
        k += 1


@njit(inline="always")
def _to_slopes(
    products: Array, weights: Array, is_positive: Array, first: int, last: int, logistic: bool
) -> float:
    """Turn inner products into slopes of the logistic or quartic loss; return the loss."""
    number = products.dtype.type  # plain literals would promote to double precision
    zero, half, one = number(0), number(0.5), number(1)
    loss = 0.0
    for k in range(first, last):
        # f±(x) = f(±x), with f(y) = log(1 + e⁻ʸ) or y²/4 − y.
        sign = one if is_positive[k] else -one
        y, weight = sign * products[k], weights[k]
        if logistic:
            if products.itemsize == 4:
                small = number(exp_of_negative(np.float32(-abs(y))))
                entropy = number(log_of_one_plus(np.float32(small)))
            else:
                small = np.exp(-abs(y))  # can't overflow
                entropy = np.log1p(small)
            loss += weight * (max(-y, zero) + entropy)
            slope = -(small if y >= zero else one) / (one + small)
        else:
            loss += weight * (half * half * y - one) * y
            slope = half * y - one
        products[k] = sign * weight * slope
    return loss


@njit(inline="always")
def _finish(old: Array, word: int, gradient: Array, rate: float, moves: bool, out: Array) -> float:
    """Write the gradient of a row, or the row after a step along it; return its squared norm."""
    eta = gradient.dtype.type(rate)
    squared = gradient.dtype.type(0)
    for d in range(gradient.size):
        squared += gradient[d] * gradient[d]
    if moves:
        for d in range(gradient.size):
            out[word, d] = old[word, d] - eta * gradient[d]
    else:
        for d in range(gradient.size):
            out[word, d] = gradient[d]
    return np.float64(squared)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def multiply_pairs(
    left: Array, right: Array, contexts: Array, starts: Array, words: Any, out: Array
) -> None:
    """Write the inner products of the pairs of a range of centres; pairs are sorted by centre."""
    for word in range(words[0], words[1]):
        for k in range(starts[word], starts[word + 1]):
            out[k] = _dot(left, word, right, contexts[k])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def fit_centres(
    left: Array,
    right: Array,
    contexts: Array,
    weights: Array,
    is_positive: Array,
    starts: Array,
    words: Any,
    logistic: bool,
    rate: float,
    moves: bool,
    slopes: Array,
    losses: Array,
    norms: Array,
    out: Array,
) -> None:
    """Write the slopes of the pairs of a range of centres, and each centre's loss and gradient.

    Pairs are sorted by centre. The products and gradients of a few pairs are computed together, so
    that each context's row is read from memory once. With `moves`, `out` receives the rows after a
    step of this rate instead of gradients.
    """
    gradient = np.empty(left.shape[1], left.dtype)
    for word in range(words[0], words[1]):
        gradient[:] = 0
        loss = 0.0
        for first in range(starts[word], starts[word + 1], _CACHED_PAIRS):
            last = min(first + _CACHED_PAIRS, starts[word + 1])
            for k in range(first, last):
                slopes[k] = _dot(left, word, right, contexts[k])
            loss += _to_slopes(slopes, weights, is_positive, first, last, logistic)
            _add_rows(slopes, right, contexts, first, last, gradient)
        losses[word] = loss
        norms[word] = _finish(left, word, gradient, rate, moves, out)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_SUMS)
def fit_words(
    old: Array,
    other: Array,
    partners: Array,
    slopes: Array,
    starts: Array,
    words: Any,
    rate: float,
    moves: bool,
    adds: bool,
    norms: Array,
    out: Array,
) -> None:
    """Write the gradients of a range of words from slopes sorted by word.

    With `adds`, the gradient is added to `out`, which holds the other half of a tied model's
    gradient. With `moves`, `out` receives the rows after a step of this rate.
    """
    gradient = np.empty(old.shape[1], old.dtype)
    for word in range(words[0], words[1]):
        for d in range(gradient.size):
            gradient[d] = out[word, d] if adds else 0
        _add_rows(slopes, other, partners, starts[word], starts[word + 1], gradient)
        norms[word] = _finish(old, word, gradient, rate, moves, out)
