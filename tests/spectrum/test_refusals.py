"""What can't be factorised is refused with what was found and what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse

from qwem import Cooccurrence
from qwem.errors import RankError, SettingError
from qwem.spectrum import factorize
from qwem.target import Target, mstar
from qwem.target.reweighting import unweighted
from spectrum.matrices import mstar_like, with_eigenvalues, words

if TYPE_CHECKING:
    from qwem.spectrum.factorizing import Method


@pytest.mark.parametrize("positive", [0, 1, 7, 40])
def test_too_few_positive_eigenvalues_are_counted(positive: int, method: Method) -> None:
    values = np.r_[np.linspace(1, 2, positive), -np.linspace(0.1, 3, 300)]
    matrix = with_eigenvalues(values)
    with pytest.raises(RankError, match=f"Only {positive} eigenvalues .* positive"):
        factorize(matrix, positive + 1, words=words(len(matrix)), method=method)
    if positive:
        assert factorize(matrix, positive, words=words(len(matrix)), method=method).converged


def test_zero_is_not_positive(method: Method) -> None:
    matrix = with_eigenvalues([2.0] * 5 + [0.0] * 100)
    with pytest.raises(RankError, match="Only 5 eigenvalues"):
        factorize(matrix, 6, words=words(105), method=method)
    with pytest.raises(RankError, match="nothing to embed"):
        factorize(np.zeros((5, 5)), 1, words=words(5), method=method)


@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_matrices_with_nan_or_infinity_are_refused(hole: float, method: Method) -> None:
    matrix = mstar_like(100)
    target = Target.from_matrix(words(100), matrix)
    matrix[3, 5] = matrix[5, 3] = hole
    with np.errstate(invalid="ignore"), pytest.raises(SettingError, match="NaN or infinite"):
        factorize(replace(target, rest=matrix), 5, method=method)
    with pytest.raises(SettingError, match="finite"):
        factorize(matrix, 5, words=words(100), method=method)


@pytest.mark.parametrize("dim", [0, -1, 6])
def test_a_dimension_beyond_the_words_is_refused(dim: int) -> None:
    with pytest.raises(SettingError, match="between 1 and 5"):
        factorize(np.eye(5), dim, words=words(5))


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(SettingError, match="tol must be"):
        factorize(np.eye(5), 1, words=words(5), tol=0.0)
    with pytest.raises(SettingError, match="method must be"):
        factorize(np.eye(5), 1, words=words(5), method="magic")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="max_basis must be at least"):
        factorize(np.eye(500), 50, words=words(500), method="krylov", max_basis=60)
    with pytest.raises(SettingError, match="max_products must be at least"):
        factorize(np.eye(500), 50, words=words(500), method="krylov", max_products=60)


def test_a_matrix_needs_words_and_a_target_has_them() -> None:
    with pytest.raises(SettingError, match="needs words"):
        factorize(np.eye(5), 1)
    with pytest.raises(SettingError, match="has its own"):
        factorize(Target.from_matrix(words(5), np.eye(5)), 1, words=words(5))
    with pytest.raises(SettingError, match="symmetric"):
        factorize(np.triu(np.ones((5, 5))), 1, words=words(5))


def test_a_general_coupling_is_sent_to_the_trainer() -> None:
    counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 1]])
    with pytest.raises(SettingError, match=r"population trainer of qwem\.training"):
        factorize(mstar(counts, reweighting=unweighted()), 1)


def test_a_sparse_matrix_of_your_own_is_factorized(method: Method) -> None:
    matrix = sparse.diags_array([4.0, 3.0, 2.0, 1.0]).tocsr()
    spectrum = factorize(matrix, 2, words=words(4), method=method)
    np.testing.assert_allclose(spectrum.eigenvalues, [4, 3], rtol=1e-6)
