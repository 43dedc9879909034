"""Every returned pair is an eigenpair to the tolerance, or the spectrum says that it is not."""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.spectrum import factorize, krylov
from spectrum.matrices import CASES, matrix_of, mstar_like, words

if TYPE_CHECKING:
    from qwem.spectrum import Spectrum
    from qwem.spectrum.factorizing import Method


def true_residuals(matrix: np.ndarray, spectrum: Spectrum) -> np.ndarray:
    vectors = spectrum.eigenvectors.astype(np.float64)
    defects = matrix.astype(np.float64) @ vectors - vectors * spectrum.eigenvalues
    return np.linalg.norm(defects, axis=0)


@cache
def norm_of(case: str) -> float:
    return float(np.linalg.norm(matrix_of(case)[0], 2))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-7])
def test_residuals_are_below_the_tolerance(case: str, tol: float, method: Method) -> None:
    matrix, dim = matrix_of(case)
    spectrum = factorize(matrix, dim, words=words(len(matrix)), tol=tol, method=method)
    largest = spectrum.eigenvalues[0]
    assert spectrum.converged
    assert spectrum.eigenvalues.shape == (dim,)
    # The residuals of float32 vectors can only be told up to the rounding of a product.
    rounding = 1e-5 if spectrum.eigenvectors.dtype == np.float32 else 1e-12
    norm = norm_of(case)
    assert np.all(true_residuals(matrix, spectrum) <= tol * largest + rounding * norm)
    np.testing.assert_allclose(
        spectrum.residuals, true_residuals(matrix, spectrum), atol=rounding * norm, rtol=1e-3
    )


def test_what_did_not_converge_says_so_and_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    matrix = mstar_like(600)
    with caplog.at_level(logging.WARNING, logger="qwem.spectrum"):
        spectrum = factorize(
            matrix, 40, words=words(600), method="krylov", max_products=256, tol=1e-3
        )
    assert not spectrum.converged
    assert spectrum.residuals.max() > 1e-3 * spectrum.eigenvalues[0]
    assert spectrum.products <= 256 + 40
    assert "raise max_products" in caplog.text


@pytest.mark.parametrize("shift", [0.0, 1e-6])
def test_estimated_residuals_are_checked_and_computed_if_they_are_wrong(shift: float) -> None:
    matrix = mstar_like(600)
    exact, vectors = np.linalg.eigh(matrix)
    values, vectors = exact[-40:] * (1 + shift), vectors[:, -40:]
    nothing = np.zeros((600, 0)), np.zeros((0, 40))
    found, products = krylov._residuals(
        lambda block: matrix @ block, values, vectors, nothing, 1e-9, np.random.default_rng(0)
    )
    np.testing.assert_allclose(found, shift * exact[-40:], rtol=1e-5, atol=1e-9)
    assert products == krylov.BLOCK_WIDTH + (40 if shift else 0)


def test_a_small_basis_restarts_and_still_converges() -> None:
    matrix = mstar_like(600)
    small = factorize(matrix, 30, words=words(600), method="krylov", max_basis=180)
    large = factorize(matrix, 30, words=words(600), method="krylov")
    assert small.converged
    assert small.products > large.products
    np.testing.assert_allclose(small.eigenvalues, large.eigenvalues, rtol=1e-3)
