"""Eigenvalues are the largest by value, in order, none missed, and agree with NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem.spectrum import factorize
from qwem.spectrum.factorizing import count_above
from spectrum.matrices import CASES, matrix_of, mstar_like, mstar_values, with_eigenvalues, words

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


@pytest.mark.parametrize("case", CASES)
def test_agree_with_a_full_decomposition(case: str, method: Method) -> None:
    matrix, dim = matrix_of(case)
    spectrum = factorize(matrix, dim, words=words(len(matrix)), method=method)
    expected = np.linalg.eigvalsh(matrix.astype(np.float64))[::-1][:dim]
    np.testing.assert_allclose(spectrum.eigenvalues, expected, rtol=1e-3)
    assert np.all(np.diff(spectrum.eigenvalues) <= 0)


def test_the_outlier_is_not_taken_for_the_largest(method: Method) -> None:
    spectrum = factorize(mstar_like(700), 3, words=words(700), method=method)
    np.testing.assert_allclose(spectrum.eigenvalues, mstar_values(700)[1:4], rtol=1e-3)


def test_more_copies_than_a_block_has_columns_are_all_found() -> None:
    values = np.r_[[50.0] * 90, 40 * 0.98 ** np.arange(1100)]
    spectrum = factorize(with_eigenvalues(values), 95, words=words(1190), method="krylov")
    np.testing.assert_allclose(spectrum.eigenvalues, values[:95], rtol=1e-3)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 50), seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_tiny_matrices_of_any_size_are_factorized(size: int, seed: int, share: float) -> None:
    values = np.random.default_rng(seed).uniform(0.1, 1, size)
    dim = max(1, round(share * size))
    matrix = with_eigenvalues(values, seed)
    for method in ("lapack", "krylov"):
        spectrum = factorize(matrix, dim, words=words(size), method=method)
        np.testing.assert_allclose(spectrum.eigenvalues, np.sort(values)[::-1][:dim], rtol=1e-5)


def test_smaller_models_are_prefixes(method: Method) -> None:
    matrix = mstar_like(500)
    large = factorize(matrix, 50, words=words(500), method=method, tol=1e-5)
    small = factorize(matrix, 20, words=words(500), method=method, tol=1e-5)
    part = large.restrict(20)
    assert part.converged
    np.testing.assert_allclose(part.eigenvalues, small.eigenvalues, rtol=1e-6)
    np.testing.assert_allclose(part.eigenvectors, small.eigenvectors, atol=1e-3)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 30), seed=st.integers(0, 10_000), floor=st.floats(-2, 2))
def test_inertia_counts_the_eigenvalues_above_a_floor(size: int, seed: int, floor: float) -> None:
    values = np.random.default_rng(seed).standard_normal(size)
    if np.abs(values - floor).min() > 1e-6:
        matrix = with_eigenvalues(values, seed)
        assert count_above(matrix, floor) == np.count_nonzero(values > floor)
