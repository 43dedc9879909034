"""Eigenvectors are orthonormal to rounding, also among equal eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem.spectrum import factorize
from qwem.spectrum.krylov import orthonormalize
from spectrum.matrices import CASES, matrix_of, words

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


@pytest.mark.parametrize("case", CASES)
def test_eigenvectors_are_orthonormal(case: str, method: Method) -> None:
    matrix, dim = matrix_of(case)
    vectors = factorize(matrix, dim, words=words(len(matrix)), method=method).eigenvectors
    gram = vectors.T.astype(np.float64) @ vectors
    np.testing.assert_allclose(gram, np.eye(dim), atol=5e-6)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 12),
    rank=st.integers(0, 12),
    decay=st.floats(1e-12, 1.0),
    seed=st.integers(0, 1000),
)
def test_orthonormalize_splits_a_block_of_any_rank(
    rows: int, columns: int, rank: int, decay: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scales = np.geomspace(1, decay, rank) if rank else np.empty(0)
    block = (rng.standard_normal((rows, rank)) * scales) @ rng.standard_normal((rank, columns))
    threshold = 1e-8
    basis, factor = orthonormalize(block, threshold)
    assert basis.shape[1] <= min(rows, columns, rank)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
    assert np.linalg.norm(basis @ factor - block) <= columns * threshold
