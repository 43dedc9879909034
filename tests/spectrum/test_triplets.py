"""Singular triplets of rectangular and asymmetric matrices, against a dense SVD."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from qwem.corpus import Vocabulary
from qwem.errors import RankError, SettingError
from qwem.spectrum import Spectrum, singular_triplets, triplets

if TYPE_CHECKING:
    from pathlib import Path


def matrix_of(rows: int, columns: int, rank: int = 40, seed: int = 0) -> Any:
    """A matrix whose singular values fall like 1/k, plus a little noise."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in (rows, columns))
    return (left * (100 / np.arange(1, rank + 1))) @ right.T


def named(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(count)]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("krylov", [False, True], ids=["lapack", "krylov"])
@pytest.mark.parametrize("shape", [(300, 120), (90, 250)])
def test_triplets_are_those_of_a_dense_svd(
    shape: tuple[int, int], krylov: bool, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triplets, "LAPACK_SIZE", 0 if krylov else 2_000)
    matrix, dim, tol = matrix_of(*shape), 8, 1e-7
    found = singular_triplets(
        form(matrix), dim, words=named("w", shape[0]), contexts=named("c", shape[1]), tol=tol
    )
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    assert found.converged
    np.testing.assert_allclose(found.eigenvalues, values[:dim], rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(found.eigenvectors * left[:, :dim], axis=0)), 1, 1e-6)
    np.testing.assert_allclose(
        np.abs(np.sum(found.right_vectors * right[:dim].T, axis=0)), 1, rtol=1e-6
    )
    product = found.embedding().vectors @ found.context_embedding().vectors.T
    np.testing.assert_allclose(product, (left[:, :dim] * values[:dim]) @ right[:dim], atol=1e-4)
    assert found.restrict(3).embedding().vectors.shape == (shape[0], 3)
    assert found.context_embedding().index_to_key[0] == "c0"


def test_a_symmetric_matrix_has_its_signed_eigenpairs() -> None:
    square = matrix_of(50, 50)
    square = square + square.T
    found = singular_triplets(square, 5, words=named("w", 50))
    sizes = np.sort(np.abs(np.linalg.eigvalsh(square)))[::-1]
    np.testing.assert_allclose(found.eigenvalues, sizes[:5])


def test_the_unconverged_is_said() -> None:
    loose = singular_triplets(matrix_of(60, 40), 3, words=named("w", 60), contexts=named("c", 40))
    assert loose.converged
    assert not type(loose)(**{**vars(loose), "residuals": np.full(3, 1.0e3)}).converged


def test_triplets_come_back_as_they_were_saved(tmp_path: Path) -> None:
    words = Vocabulary(tuple(named("w", 30)), np.arange(30, 0, -1))
    found = singular_triplets(
        matrix_of(30, 20, rank=10), 4, words=words, contexts=named("c", 20), tol=1e-5
    )
    found.save(tmp_path / "triplets")
    loaded = Spectrum.load(tmp_path / "triplets")
    for name in ("eigenvalues", "eigenvectors", "right_vectors", "residuals"):
        before, after = getattr(found, name), getattr(loaded, name)
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)
    assert loaded.vocabulary == words
    assert loaded.contexts == found.contexts
    assert loaded.tol == 1e-5


def test_wrong_input_is_refused() -> None:
    matrix = matrix_of(6, 4, rank=2)
    names: Any = {"words": named("w", 6), "contexts": named("c", 4)}
    with pytest.raises(RankError, match="rank 2"):
        singular_triplets(matrix, 3, **names)
    for wrong in ({"words": named("w", 5)}, {"dim": 5}, {"dim": 0}, {"tol": 2.0}):
        with pytest.raises(SettingError):
            singular_triplets(matrix, **{"dim": 2, **names, **wrong})
