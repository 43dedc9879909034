"""Sparse products against twins that are slow and obviously right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from qwem._internal.sparse_product import multiply, multiply_rows


def test_a_product_over_several_tiles_is_exact() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((40, 2300)) * (rng.random((40, 2300)) < 0.2)
    block = rng.standard_normal((2300, 1000))
    np.testing.assert_allclose(
        multiply(sparse.csr_array(matrix), block), matrix @ block, atol=1e-11
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_of_some_rows_is_those_rows_of_the_product(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    matrix = (rng.integers(0, 50, (9, 9)) * (rng.random((9, 9)) < 0.4)).astype(dtype)
    rows = sparse.csr_array(matrix)
    block = rng.standard_normal((9, 5)).astype(dtype)
    out = np.ones((6, 5), dtype)
    multiply_rows(rows.indptr[2:9], rows.indices, rows.data, block, out)
    plain = np.ones((6, 5))
    for i in range(6):
        for j in range(9):
            for column in range(5):
                plain[i, column] += matrix[i + 2, j] * block[j, column]
    np.testing.assert_allclose(out, plain, rtol=1e-4 if dtype == np.float32 else 1e-12)
