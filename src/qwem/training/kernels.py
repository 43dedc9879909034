"""Compiled loops of a step on a batch of pairs: products, slopes, gradients and updated rows.

Each word's sums are computed by one thread in a fixed order, so the result does not depend on the
number of threads. Rows are addressed by number, never sliced: every slice would update the
reference count of the whole array, which all threads share and which costs more than the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import exp_of_negative, log_of_one_plus, njit

Array = np.ndarray[Any, Any]

# Let the compiler reorder and fuse sums, which it does in the same way in every run.
_SUMS = {"reassoc", "contract", "nsz"}

_CLOSE = 16
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
        for first in range(starts[word], starts[word + 1], _CLOSE):
            last = min(first + _CLOSE, starts[word + 1])
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
