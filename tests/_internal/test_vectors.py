"""Unit rows have length one, and zero rows stay zero."""

from __future__ import annotations

import numpy as np

from qwem._internal.vectors import row_norms, unit_rows


def test_unit_rows() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, 0.0], [1e-31, 0.0]], np.float32)
    np.testing.assert_array_equal(row_norms(vectors), [5.0, 0.0, 0.0])
    np.testing.assert_allclose(unit_rows(vectors), [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0]])
    assert unit_rows(vectors).dtype == np.float64
