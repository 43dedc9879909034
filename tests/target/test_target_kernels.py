"""The compiled loops against twins that are slow and obviously right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

from qwem._internal import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

COEFFICIENTS = np.array([1.5, -0.5, 0.25, 2.0, 3.0])


def rational(count: float, expected: float) -> float:
    a, b, c, d, h = COEFFICIENTS
    return float((a * count + b * expected) / (c * count + d * expected + h))


def problem(dtype: Any) -> tuple[Any, Any, Any, NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    counts = (rng.integers(0, 50, (9, 9)) * (rng.random((9, 9)) < 0.4)).astype(dtype)
    left, right = rng.random((9, 2)) + 0.1, rng.random((2, 9)) + 0.1
    expected = left @ right
    entries = np.array(
        [[rational(counts[i, j], expected[i, j]) for j in range(9)] for i in range(9)]
    )
    return counts, left, right, entries


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.float64])
def test_filled_rows_are_the_entries_of_the_formula(dtype: Any) -> None:
    counts, left, right, entries = problem(dtype)
    rows = sparse.csr_array(counts)
    part = slice(2, 8)

    out = np.full((6, 9), np.nan)
    kernels.fill_from_dense(counts[part], left[part], right, COEFFICIENTS, out)
    np.testing.assert_allclose(out, entries[part])

    out = np.full((6, 9), np.nan)
    arguments = (rows.indptr[2:9], rows.indices, rows.data, left[part], right, COEFFICIENTS)
    kernels.fill_from_sparse(*arguments, out)
    np.testing.assert_allclose(out, entries[part])

    stored = np.zeros(rows.nnz)
    kernels.fill_stored(*arguments, stored)
    unseen = np.array([[rational(0, e) for e in row] for row in left @ right])
    plain = np.where(counts > 0, entries - unseen, 0)
    plain[[0, 1, 8]] = 0
    found = sparse.csr_array((stored, rows.indices, rows.indptr), shape=(9, 9)).toarray()
    np.testing.assert_allclose(found, plain, atol=1e-14)
