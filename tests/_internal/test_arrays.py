"""Arrays: indices from outside are checked, and vectors have their lengths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from qwem._internal.arrays import check_csr, row_norms, unit_rows


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_what_scipy_makes_is_accepted(size: int, seed: int) -> None:
    matrix = sparse.random_array((size, size), density=0.4, rng=np.random.default_rng(seed)).tocsr()
    matrix.sort_indices()
    check_csr(matrix.data, matrix.indices, matrix.indptr, size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [0, 5, 1]}, "out of range"),
        ({"indices": [0, -1, 1]}, "out of range"),
        ({"indices": [1, 0, 1]}, "out of order"),
        ({"indices": [0, 0, 1]}, "out of order"),
        ({"indices": [0.0, 1.0, 1.0]}, "not integers"),
        ({"indptr": [0, 3, 2, 3]}, "not in order"),
        ({"indptr": [1, 2, 3, 3]}, "not in order"),
        ({"indptr": [0, 2, 3]}, "not in order"),
        ({"indptr": [0, 2, 3, 9]}, "more or fewer"),
        ({"data": [1.0, 2.0]}, "more or fewer"),
    ],
)
def test_what_is_wrong_is_refused(change: dict[str, Any], message: str) -> None:
    parts = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 1], "indptr": [0, 2, 3, 3]} | change
    with pytest.raises(ValueError, match=message):
        check_csr(np.array(parts["data"]), np.array(parts["indices"]), np.array(parts["indptr"]), 3)


def test_unit_rows_have_length_one_and_zero_rows_stay_zero() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, 0.0], [1e-31, 0.0]], np.float32)
    np.testing.assert_array_equal(row_norms(vectors), [5.0, 0.0, 0.0])
    np.testing.assert_allclose(unit_rows(vectors), [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0]])
    assert unit_rows(vectors).dtype == np.float64
