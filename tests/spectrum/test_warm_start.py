"""An earlier spectrum of a similar target saves products and changes no promise."""

from __future__ import annotations

import numpy as np
import pytest

from qwem.errors import SettingError
from qwem.spectrum import factorize
from spectrum.matrices import mstar_like, with_eigenvalues, words


def test_a_target_that_moved_a_little_needs_fewer_products() -> None:
    matrix = mstar_like(1200)
    earlier = factorize(matrix, 40, words=words(1200), method="krylov")
    noise = with_eigenvalues(np.linspace(-3, 3, 1200), seed=5)
    cold = factorize(matrix + noise, 40, words=words(1200), method="krylov")
    warm = factorize(matrix + noise, 40, words=words(1200), method="krylov", warm_start=earlier)
    assert warm.converged
    assert warm.products < cold.products
    np.testing.assert_allclose(warm.eigenvalues, cold.eigenvalues, rtol=1e-3)


def test_the_same_target_again_is_cheaper_still() -> None:
    matrix = mstar_like(1200)
    earlier = factorize(matrix, 40, words=words(1200), method="krylov")
    again = factorize(matrix, 40, words=words(1200), method="krylov", warm_start=earlier)
    assert again.converged
    assert again.products < 0.8 * earlier.products


def test_words_are_matched_by_spelling() -> None:
    matrix = mstar_like(1200)
    names = words(1200)
    order = np.random.default_rng(0).permutation(1200)[:1150]
    part = matrix[np.ix_(order, order)]
    earlier = factorize(part, 40, words=[names[i] for i in order], method="krylov")
    cold = factorize(matrix, 40, words=names, method="krylov")
    warm = factorize(matrix, 40, words=names, method="krylov", warm_start=earlier)
    assert warm.converged
    assert warm.products < cold.products
    np.testing.assert_allclose(warm.eigenvalues, cold.eigenvalues, rtol=1e-3)


def test_a_start_that_misses_an_eigenvector_finds_it() -> None:
    values = np.r_[100.0, 90, 80, 70, 60, np.linspace(-5, 5, 595)]
    matrix = np.diag(values)
    without = matrix.copy()
    without[0, 0] = 0.0
    earlier = factorize(without, 4, words=words(600), method="krylov")
    warm = factorize(matrix, 5, words=words(600), method="krylov", warm_start=earlier)
    np.testing.assert_allclose(warm.eigenvalues, values[:5], rtol=1e-3)


@pytest.mark.parametrize("signed", [False, True])
def test_a_coarse_tolerance_takes_a_few_blocks_as_wide_as_the_earlier_spectrum(
    signed: bool,
) -> None:
    matrix = mstar_like(1200)
    earlier = factorize(matrix, 40, words=words(1200), method="krylov", signed=signed)
    moved = matrix + with_eigenvalues(np.linspace(-3, 3, 1200), seed=5)
    names = [f"new{i}" if i < 20 else word for i, word in enumerate(words(1200))]
    exact = factorize(moved, 40, words=names, method="lapack", signed=signed)
    warm = factorize(
        moved, 40, words=names, method="krylov", signed=signed, tol=0.03, warm_start=earlier
    )
    assert warm.converged
    assert warm.products <= 4 * 50
    assert (warm.outlier is None) == (exact.outlier is None)
    largest = np.abs(exact.eigenvalues).max()
    assert np.abs(np.sort(warm.eigenvalues) - np.sort(exact.eigenvalues)).max() < 0.03 * largest


def test_strangers_are_refused() -> None:
    earlier = factorize(np.eye(5), 1, words=["a", "b", "c", "d", "e"])
    with pytest.raises(SettingError, match="no word in common"):
        factorize(np.eye(5), 1, words=words(5), method="krylov", warm_start=earlier)
