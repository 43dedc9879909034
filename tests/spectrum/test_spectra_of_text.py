"""M* and its relatives of text: both solvers, both ends, agree with a full decomposition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus
from qwem.spectrum import factorize
from qwem.target import mstar, ppmi

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method
    from qwem.target import Target

DIM = 60


@pytest.fixture(scope="module")
def counts(text_corpus: Corpus) -> Cooccurrence:
    size = min(1_500, len(text_corpus.vocabulary))
    return Cooccurrence.count(text_corpus.restrict(size), window=16)


@pytest.fixture(scope="module")
def target(counts: Cooccurrence) -> Target:
    return mstar(counts)


@pytest.fixture(scope="module")
def everything(target: Target) -> np.ndarray:
    return np.linalg.eigvalsh(target.toarray().astype(np.float64))[::-1]


def test_the_largest_eigenvalues_are_those_of_a_full_decomposition(
    target: Target, everything: np.ndarray, method: Method
) -> None:
    spectrum = factorize(target, DIM, method=method)
    assert spectrum.converged
    np.testing.assert_allclose(spectrum.eigenvalues, everything[:DIM], rtol=1e-3)


def test_signed_spectra_have_the_largest_magnitudes_without_the_outlier(
    target: Target, everything: np.ndarray, method: Method
) -> None:
    spectrum = factorize(target, DIM, signed=True, method=method)
    without = everything[:-1]
    expected = without[np.argsort(-np.abs(without))][:DIM]
    assert spectrum.outlier == pytest.approx(everything[-1], rel=1e-3)
    assert spectrum.outlier < -2 * everything[0]
    np.testing.assert_allclose(np.abs(spectrum.eigenvalues), np.abs(expected), rtol=1e-3)


def test_sparse_and_dense_targets_have_one_spectrum(counts: Cooccurrence) -> None:
    dense, scattered = (
        factorize(mstar(counts, dense=dense), DIM, method="krylov") for dense in (True, False)
    )
    np.testing.assert_allclose(dense.eigenvalues, scattered.eigenvalues, rtol=1e-5)


def test_ppmi_has_no_outlier(counts: Cooccurrence, method: Method) -> None:
    spectrum = factorize(ppmi(counts), DIM, signed=True, method=method)
    assert spectrum.converged
    assert spectrum.outlier is None


def test_more_words_start_from_fewer(counts: Cooccurrence, target: Target) -> None:
    earlier = factorize(mstar(counts.restrict(len(counts.vocabulary) - 50)), DIM, method="krylov")
    cold = factorize(target, DIM, method="krylov")
    warm = factorize(target, DIM, method="krylov", warm_start=earlier)
    assert warm.converged
    assert warm.products < cold.products
    np.testing.assert_allclose(warm.eigenvalues, cold.eigenvalues, rtol=1e-3)
