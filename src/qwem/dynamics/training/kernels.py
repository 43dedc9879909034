"""The loops of a step on a batch of pairs: products, slopes, gradients, and the rows after it.

Each word's sums are made by one thread in one order, so that the number of threads changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

# The compiler may reorder and fuse sums, which it does the same way in every run; no more.
_SUMS = {"reassoc", "contract", "nsz"}

_CLOSE = 16
"""Pairs whose rows stay in the cache between one loop and the next."""


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _dot(a: Array, b: Array) -> Any:
    total = a[0] * b[0]
    for d in range(1, a.size):
        total += a[d] * b[d]
    return total


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _add_rows(slopes: Array, rows: Array, partners: Array, into: Array) -> None:
    """Add to `into` each slope times its partner's row, four at a time: `into` is read less."""
    k = 0
    while k + 4 <= slopes.size:
        a, b = rows[partners[k]], rows[partners[k + 1]]
        c, e = rows[partners[k + 2]], rows[partners[k + 3]]
        s, t, u, v = slopes[k], slopes[k + 1], slopes[k + 2], slopes[k + 3]
        for d in range(into.size):
            into[d] += s * a[d] + t * b[d] + u * c[d] + v * e[d]
        k += 4
    while k < slopes.size:
        a, s = rows[partners[k]], slopes[k]
        for d in range(into.size):
            into[d] += s * a[d]
        k += 1


@njit(nogil=True, cache=True, error_model="numpy")
def _to_slopes(products: Array, weights: Array, is_positive: Array, logistic: bool) -> float:
    """Turn inner products into slopes of the logistic or quartic loss; return the loss."""
    number = products.dtype.type  # plain literals would make everything double
    zero, half, one = number(0), number(0.5), number(1)
    loss = 0.0
    for k in range(products.size):
        # f±(x) = f(±x), with f(y) = log(1 + e⁻ʸ) or y²/4 − y.
        sign = one if is_positive[k] else -one
        y, weight = sign * products[k], weights[k]
        if logistic:
            small = np.exp(-abs(y))  # can't overflow
            loss += weight * (max(-y, zero) + np.log1p(small))
            slope = -(small if y >= zero else one) / (one + small)
        else:
            loss += weight * (half * half * y - one) * y
            slope = half * y - one
        products[k] = sign * weight * slope
    return loss


@njit(nogil=True, cache=True, fastmath=_SUMS)
def _finish(old: Array, gradient: Array, rate: float, moves: bool, out: Array) -> float:
    """Write the gradient of a row, or the row after a step along it; return its squared norm."""
    if moves:
        eta = out.dtype.type(rate)
        for d in range(out.size):
            out[d] = old[d] - eta * gradient[d]
    else:
        out[:] = gradient
    return np.float64(_dot(gradient, gradient))


@njit(nogil=True, cache=True)
def multiply_pairs(
    left: Array, right: Array, contexts: Array, starts: Array, words: Any, out: Array
) -> None:
    """Write the inner products of the pairs of some centers, pairs being sorted by center."""
    for word in range(words[0], words[1]):
        for k in range(starts[word], starts[word + 1]):
            out[k] = _dot(left[word], right[contexts[k]])


@njit(nogil=True, cache=True)
def fit_centers(
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
    """Write the slopes of the pairs of some centers, and the centers' losses, gradients and norms.

    Pairs are sorted by center. Products and gradients of a few pairs at a time follow each other,
    so that a context's row comes from far away once. With `moves`, `out` gets the rows after a step
    of this rate instead of gradients.
    """
    gradient = np.empty(left.shape[1], left.dtype)
    for word in range(words[0], words[1]):
        gradient[:] = 0
        loss = 0.0
        for first in range(starts[word], starts[word + 1], _CLOSE):
            last = min(first + _CLOSE, starts[word + 1])
            for k in range(first, last):
                slopes[k] = _dot(left[word], right[contexts[k]])
            part = slice(first, last)
            loss += _to_slopes(slopes[part], weights[part], is_positive[part], logistic)
            _add_rows(slopes[part], right, contexts[part], gradient)
        losses[word] = loss
        norms[word] = _finish(left[word], gradient, rate, moves, out[word])


@njit(nogil=True, cache=True)
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
    """Do the last part of `fit_centers`, for words of either side, from slopes sorted by word.

    With `adds`, the gradient comes on top of what `out` has: the other half of a tied model's.
    """
    gradient = np.empty(old.shape[1], old.dtype)
    for word in range(words[0], words[1]):
        if adds:
            gradient[:] = out[word]
        else:
            gradient[:] = 0
        pairs = slice(starts[word], starts[word + 1])
        _add_rows(slopes[pairs], other, partners[pairs], gradient)
        norms[word] = _finish(old[word], gradient, rate, moves, out[word])
