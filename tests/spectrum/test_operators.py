"""Anything with ``@``, `shape` and `dtype` can be factorized, with the result of its matrix."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from qwem import Target
from qwem.errors import SettingError
from qwem.spectrum import factorize, krylov
from spectrum.matrices import mstar_like, words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.spectrum.factorizing import Method

MATRIX = mstar_like(300).astype(np.float64)


class Operator:
    """The least that can be factorized."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        self._matrix = matrix
        self.shape = matrix.shape
        self.dtype = matrix.dtype

    def __matmul__(self, vectors: NDArray[Any]) -> NDArray[Any]:
        product: NDArray[Any] = self._matrix @ vectors
        return product


@pytest.mark.parametrize(
    "operator",
    [Operator(MATRIX), aslinearoperator(MATRIX), aslinearoperator(sparse.csr_array(MATRIX))],
    ids=["a class", "LinearOperator", "LinearOperator of a sparse matrix"],
)
def test_an_operator_has_the_eigenpairs_of_its_matrix(operator: Any, method: Method) -> None:
    found = factorize(operator, 5, words=words(300), method=method, signed=True)
    expected = factorize(MATRIX, 5, words=words(300), method=method, signed=True)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-6)
    np.testing.assert_allclose(found.eigenvectors, expected.eigenvectors, atol=1e-3)
    target = Target.from_matrix(words(300), operator)
    np.testing.assert_array_equal(target.toarray(), MATRIX)


def test_an_operator_that_is_no_target_is_refused() -> None:
    lopsided = np.triu(np.ones((9, 9)))
    with pytest.raises(SettingError, match="symmetric"):
        factorize(Operator(lopsided), 2, words=words(9))
    with pytest.raises(SettingError, match="finite"):
        factorize(Operator(np.full((9, 9), np.nan)), 2, words=words(9))
    with pytest.raises(SettingError, match="need a 3 × 3 target"):
        factorize(Operator(MATRIX), 2, words=words(3))


def test_progress_advances_with_every_product(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    notes: list[str] = []
    bar = SimpleNamespace(update=steps.append, set_postfix_str=notes.append)
    monkeypatch.setattr(krylov, "progress", lambda *_, **__: nullcontext(bar))
    found = factorize(Operator(MATRIX), 5, words=words(300), method="krylov", signed=True)
    assert max(steps) <= krylov.BLOCK_WIDTH
    assert 5 < sum(steps) <= found.products  # those that check the residuals are not counted
    assert notes[-1] == "5 of 5 eigenpairs found"
