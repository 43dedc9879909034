"""Kernels that compute the entries of a `Target` from counts.

An entry is the rational function R(C, E) = (a C + b E) / (c C + d E + h) of the pair's count C and
of the count E expected under independence. E is a sum of separable terms, E_ij = Σ_t left_it
right_tj. The coefficients (a, b, c, d, h) are one array. The arithmetic is always in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import njit

Array = np.ndarray[Any, Any]


@njit(inline="always", error_model="numpy")
def _rational(count: Any, expected: Any, coefficients: Any) -> Any:
    a, b, c, d, h = coefficients
    return (a * count + b * expected) / (c * count + d * expected + h)


@njit(nogil=True, cache=True, error_model="numpy")
def _expected_row(left: Array, right: Array, out: Array) -> None:
    for j in range(out.size):
        out[j] = left[0] * right[0, j]
    for term in range(1, left.size):
        weight = left[term]
        for j in range(out.size):
            out[j] += weight * right[term, j]


@njit(nogil=True, cache=True, error_model="numpy")
def fill_from_dense(
    counts: Array, left: Array, right: Array, coefficients: Array, out: Array
) -> None:
    """Write R(C, E) for every pair of some rows of dense counts."""
    k = (coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4])
    expected = np.empty(right.shape[1])
    for i in range(counts.shape[0]):
        _expected_row(left[i], right, expected)
        for j in range(expected.size):
            out[i, j] = _rational(np.float64(counts[i, j]), expected[j], k)


@njit(nogil=True, cache=True, error_model="numpy")
def fill_from_sparse(
    indptr: Array, indices: Array, counts: Array,
    left: Array, right: Array, coefficients: Array, out: Array,
) -> None:  # fmt: skip
    """Write R(C, E) for every pair of some rows of sparse counts, seen or not.

    `indptr` is that of the rows; it points into `indices` and `counts` of the whole matrix.
    """
    k = (coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4])
    expected = np.empty(right.shape[1])
    for i in range(out.shape[0]):
        _expected_row(left[i], right, expected)
        for j in range(expected.size):
            out[i, j] = _rational(0.0, expected[j], k)
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            out[i, j] = _rational(np.float64(counts[entry]), expected[j], k)


@njit(nogil=True, cache=True, error_model="numpy")
def fill_stored(
    indptr: Array, indices: Array, counts: Array,
    left: Array, right: Array, coefficients: Array, out: Array,
) -> None:  # fmt: skip
    """Write R(C, E) − R(0, E) for the stored pairs of some rows of sparse counts.

    `out` has the stored entries of the whole matrix, as `indices` and `counts` do.
    """
    k = (coefficients[0], coefficients[1], coefficients[2], coefficients[3], coefficients[4])
    for i in range(indptr.size - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            j = indices[entry]
            expected = 0.0
            for term in range(right.shape[0]):
                expected += left[i, term] * right[term, j]
            seen = _rational(np.float64(counts[entry]), expected, k)
            out[entry] = seen - _rational(0.0, expected, k)
