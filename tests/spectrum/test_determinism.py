"""The same call gives the same bits; other numbers of threads give the same eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from in_threads import in_threads
from qwem.spectrum import factorize, krylov
from spectrum.matrices import mstar_like, words

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


def test_the_same_call_gives_the_same_bits(method: Method) -> None:
    matrix = mstar_like(700)
    one, two = (factorize(matrix, 40, words=words(700), method=method, seed=3) for _ in range(2))
    assert one.eigenvalues.tobytes() == two.eigenvalues.tobytes()
    assert one.eigenvectors.tobytes() == two.eigenvectors.tobytes()
    assert one.residuals.tobytes() == two.residuals.tobytes()


def test_thread_counts_agree(method: Method) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    matrix = mstar_like(300)
    spectra = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            spectra.append(factorize(matrix, 20, words=words(300), method=method))
    one, two = spectra
    np.testing.assert_allclose(one.eigenvalues, two.eigenvalues, rtol=1e-5)
    products = [s.embedding().vectors @ s.embedding().vectors.T for s in spectra]
    assert np.abs(products[0] - products[1]).max() <= 1e-3 * np.abs(products[0]).max()


def test_other_seeds_agree_to_the_tolerance() -> None:
    matrix = mstar_like(700)
    one, two = (
        factorize(matrix, 40, words=words(700), method="krylov", seed=seed) for seed in (0, 1)
    )
    assert one.eigenvectors.tobytes() != two.eigenvectors.tobytes()
    np.testing.assert_allclose(one.eigenvalues, two.eigenvalues, rtol=1e-3)


def test_a_basis_is_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(krylov, "_BLOCK_ROWS", 7)
    rng = np.random.default_rng(0)
    start, image = rng.standard_normal((2, 50, 4)).astype(np.float32)

    def grow() -> np.ndarray:
        basis = krylov.GrowingBasis(50, 20, np.dtype(np.float32))
        block, _ = basis.append(basis.orthogonal(start), image, 1e-6)
        basis.append(block, image[::-1], 1e-6)
        return basis.combine(np.eye(basis.size))

    shared = in_threads(3, grow)
    np.testing.assert_array_equal(in_threads(1, grow), shared)
    monkeypatch.setattr(krylov, "_BLOCK_ROWS", 50)
    whole = grow()
    np.testing.assert_allclose(shared @ shared.T, whole @ whole.T, atol=1e-5)
