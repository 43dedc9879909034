"""Signed spectra: by magnitude, of either sign, without the outlier of the unseen pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.errors import RankError
from qwem.spectrum import factorize
from qwem.target import Target
from spectrum.matrices import mstar_like, mstar_values, with_eigenvalues, words

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


def by_magnitude(values: np.ndarray) -> np.ndarray:
    return values[np.argsort(-np.abs(values), kind="stable")]


def test_signed_pairs_are_the_largest_magnitudes_without_the_outlier(method: Method) -> None:
    spectrum = factorize(mstar_like(600), 60, words=words(600), signed=True, method=method)
    expected = by_magnitude(mstar_values(600)[1:])[:60]
    assert expected.min() < 0 < expected.max()
    np.testing.assert_allclose(spectrum.eigenvalues, expected, rtol=1e-3)
    assert spectrum.signed
    assert spectrum.converged
    assert spectrum.outlier == pytest.approx(-12_000, rel=1e-3)


def test_a_large_negative_eigenvalue_that_points_elsewhere_stays(method: Method) -> None:
    values = mstar_values(300)
    contrast = np.resize([1.0, -1.0], 300)
    matrix = with_eigenvalues(values, first=contrast)
    spectrum = factorize(matrix, 20, words=words(300), signed=True, method=method)
    assert spectrum.outlier is None
    np.testing.assert_allclose(spectrum.eigenvalues, by_magnitude(values)[:20], rtol=1e-3)


def test_a_negative_eigenvalue_that_is_not_the_largest_stays(method: Method) -> None:
    values = np.r_[-90.0, 100.0, np.linspace(-50, 50, 300)]
    matrix = with_eigenvalues(values, first=np.ones(302))
    spectrum = factorize(matrix, 12, words=words(302), signed=True, method=method)
    assert spectrum.outlier is None
    np.testing.assert_allclose(spectrum.eigenvalues[:2], [100, -90], rtol=1e-3)


def test_nothing_is_left_out_of_a_matrix_without_negative_entries(method: Method) -> None:
    rng = np.random.default_rng(0)
    entries = np.maximum(0, rng.standard_normal((200, 200)))
    matrix = entries + entries.T
    spectrum = factorize(matrix, 30, words=words(200), signed=True, method=method)
    expected = by_magnitude(np.linalg.eigvalsh(matrix))[:30]
    assert spectrum.outlier is None
    np.testing.assert_allclose(np.abs(spectrum.eigenvalues), np.abs(expected), rtol=1e-3)


def test_a_coupling_turns_the_direction_of_the_outlier(method: Method) -> None:
    g = np.random.default_rng(0).uniform(0.01, 25, 200)
    gamma = np.sqrt(g)
    small = with_eigenvalues(np.linspace(-1, 1, 200))
    target = Target.from_matrix(words(200), small - 2.0, coupling=g)
    spectrum = factorize(target, 10, signed=True, method=method)
    solved = gamma[:, None] * (small - 2.0) * gamma
    expected = by_magnitude(np.linalg.eigvalsh(solved))
    assert spectrum.outlier == pytest.approx(expected[0], rel=1e-3)
    np.testing.assert_allclose(np.abs(spectrum.eigenvalues), np.abs(expected[1:11]), rtol=1e-3)


def test_word_and_context_vectors_multiply_to_the_best_approximation(method: Method) -> None:
    matrix = mstar_like(300)
    spectrum = factorize(matrix, 299, words=words(300), signed=True, method=method)
    W = spectrum.embedding().vectors.astype(np.float64)  # noqa: N806
    C = spectrum.context_embedding().vectors.astype(np.float64)  # noqa: N806
    values, vectors = np.linalg.eigh(matrix)
    rest = matrix - values[0] * np.outer(vectors[:, 0], vectors[:, 0])
    np.testing.assert_allclose(W @ C.T, rest, atol=1e-3 * np.abs(rest).max())


def test_zero_eigenvalues_are_counted_out(method: Method) -> None:
    matrix = with_eigenvalues([3.0, -2.0, 1.0] + [0.0] * 100)
    assert factorize(matrix, 3, words=words(103), signed=True, method=method).converged
    with pytest.raises(RankError, match="Only 3 eigenvalues"):
        factorize(matrix, 4, words=words(103), signed=True, method=method)


def test_the_outlier_is_not_there_for_the_asking(method: Method) -> None:
    with pytest.raises(RankError, match=r"Only 299 .* beside the outlier"):
        factorize(mstar_like(300), 300, words=words(300), signed=True, method=method)
