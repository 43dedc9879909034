"""The result itself: what it holds, what comes out of it, and its way to disk and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.corpus import Vocabulary
from qwem.errors import ArtefactError, SettingError
from qwem.spectrum import Spectrum, factorize
from qwem.target import Target
from spectrum.matrices import mstar_like, with_eigenvalues, words

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.spectrum.factorizing import Method


def test_embedding_is_the_minimum_of_the_loss(method: Method) -> None:
    matrix = mstar_like(200)
    spectrum = factorize(matrix, 12, words=words(200), method=method, tol=1e-6)
    values, vectors = np.linalg.eigh(matrix)
    best = (vectors[:, -12:] * values[-12:]) @ vectors[:, -12:].T
    W = spectrum.embedding().vectors.astype(np.float64)  # noqa: N806
    np.testing.assert_allclose(W @ W.T, best, atol=1e-5 * np.abs(best).max())


def test_a_rank_one_coupling_is_divided_out(method: Method) -> None:
    matrix = mstar_like(150)
    g = np.random.default_rng(0).uniform(0.5, 2, 150)
    gamma = np.sqrt(g)
    target = Target.from_matrix(words(150), matrix, coupling=g)
    W = factorize(target, 9, method=method, tol=1e-6).embedding().vectors  # noqa: N806
    values, vectors = np.linalg.eigh(gamma[:, None] * matrix * gamma)
    best = (vectors[:, -9:] * values[-9:]) @ vectors[:, -9:].T / np.outer(gamma, gamma)
    np.testing.assert_allclose(W.astype(np.float64) @ W.T, best, atol=1e-5 * np.abs(best).max())


def test_an_embedding_has_the_requested_exponent_and_dimension() -> None:
    spectrum = factorize(mstar_like(100), 10, words=words(100))
    plain = spectrum.embedding(dim=4, exponent=0.0)
    assert plain.index_to_key == tuple(words(100))
    np.testing.assert_allclose(plain.vectors, spectrum.eigenvectors[:, :4], rtol=1e-6)
    full = spectrum.embedding(dim=4, exponent=1.0).vectors
    np.testing.assert_allclose(full, plain.vectors * spectrum.eigenvalues[:4], rtol=1e-6)


def test_tied_context_vectors_are_the_word_vectors() -> None:
    spectrum = factorize(mstar_like(100), 10, words=words(100))
    np.testing.assert_array_equal(
        spectrum.embedding().vectors, spectrum.context_embedding().vectors
    )


@pytest.mark.parametrize("dim", [0, 11])
def test_restrict_stays_within(dim: int) -> None:
    spectrum = factorize(mstar_like(100), 10, words=words(100))
    with pytest.raises(SettingError, match="between 1 and 10"):
        spectrum.restrict(dim)


@pytest.mark.parametrize("signed", [False, True])
def test_a_spectrum_comes_back_as_it_was_saved(
    tmp_path: Path, signed: bool, method: Method
) -> None:
    vocabulary = Vocabulary(("naïve", "日本", "a b", *words(97)), np.arange(100)[::-1])
    g = np.random.default_rng(0).uniform(0.5, 2, 100)
    target = Target.from_matrix(vocabulary, mstar_like(100), coupling=g)
    spectrum = factorize(target, 10, signed=signed, method=method)
    spectrum.save(tmp_path / "spectrum")
    loaded = Spectrum.load(tmp_path / "spectrum")
    for name in ("eigenvalues", "eigenvectors", "residuals", "row_scale"):
        before, after = getattr(spectrum, name), getattr(loaded, name)
        np.testing.assert_array_equal(before, after)
        assert before.dtype == after.dtype
    for name in ("vocabulary", "tol", "signed", "outlier", "converged", "method", "products"):
        assert getattr(spectrum, name) == getattr(loaded, name)
    assert loaded.target_name == target.name
    assert loaded.target_settings == target.settings


def test_a_damaged_or_foreign_directory_is_refused(tmp_path: Path) -> None:
    spectrum = factorize(np.eye(3), 1, words=words(3))
    spectrum.save(tmp_path / "spectrum")
    file = tmp_path / "spectrum" / "spectrum.safetensors"
    file.write_bytes(file.read_bytes()[:-5])
    with pytest.raises(ArtefactError, match="damaged"):
        Spectrum.load(tmp_path / "spectrum")
    Target.from_matrix(words(3), np.eye(3)).save(tmp_path / "target")
    with pytest.raises(ArtefactError, match="target, not a spectrum"):
        Spectrum.load(tmp_path / "target")


def test_arrays_are_read_only_and_shapes_are_checked() -> None:
    spectrum = factorize(with_eigenvalues([1.0, 2.0, 3.0]), 2, words=words(3))
    with pytest.raises(ValueError, match="read-only"):
        spectrum.eigenvalues[0] = 7
    with pytest.raises(ValueError, match="read-only"):
        spectrum.eigenvectors[0, 0] = 7
    with pytest.raises(SettingError, match="eigenvectors of shape"):
        Spectrum(np.ones(2), np.ones((3, 1)), np.zeros(2), spectrum.vocabulary, tol=1e-3)
