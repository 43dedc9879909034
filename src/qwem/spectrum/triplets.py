"""Singular triplets of asymmetric and rectangular targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.corpus import Vocabulary
from qwem.errors import RankError, SettingError
from qwem.spectrum import krylov
from qwem.spectrum.factorizing import LAPACK_SIZE, SINGLE_TOL
from qwem.spectrum.spectrum import Request, Spectrum, fix_signs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def singular_triplets(
    matrix: Any,
    dim: int,
    *,
    words: Sequence[str] | Vocabulary,
    contexts: Sequence[str] | Vocabulary | None = None,
    tol: float = 1e-3,
    seed: int = 0,
) -> Spectrum:
    """Return the `dim` leading singular triplets M ≈ Σ_k s_k u_k v_kᵀ of words and contexts.

    An untied model WW′ᵀ of an asymmetric target learns them: W = U S^½ for words and W′ = V S^½ for
    contexts, which may be other words, documents or images. A residual is
    √(‖Mv − su‖² + ‖Mᵀu − sv‖²)/√2.

    Parameters
    ----------
    matrix
        A NumPy array, a SciPy sparse matrix, or an operator with ``@``, ``.T`` and ``.shape``.
    dim
        The number of triplets.
    words, contexts
        The names of rows and columns; by default contexts are the words.
    tol
        The largest residual, relative to the largest singular value.
    seed
        The seed of the random start.

    A matrix of up to 2,000 rows or columns is solved by LAPACK. A larger one is solved by the block
    Krylov method of `factorize`, applied to (0 M; Mᵀ 0), whose eigenvalues are ±s_k with the
    eigenvectors (u_k; ±v_k)/√2.

    >>> found = singular_triplets(np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 0.0]]), 2,
    ...                           words=["a", "b", "c"], contexts=["x", "y"])
    >>> found.eigenvalues, found.context_embedding().index_to_key
    (array([2., 1.]), ('x', 'y'))
    """
    rows, columns = map(Vocabulary.of, (words, words if contexts is None else contexts))
    if tuple(matrix.shape) != (len(rows), len(columns)):
        raise SettingError(
            f"{len(rows):,} words and {len(columns):,} contexts need a matrix of that shape, not "
            f"{tuple(matrix.shape)}."
        )
    if not 0 < dim <= min(matrix.shape):
        raise SettingError(
            f"dim must be between 1 and {min(matrix.shape):,}, the smaller side of the matrix, "
            f"not {dim}."
        )
    if not 0 < tol < 1:
        raise SettingError(f"tol must be between 0 and 1, not {tol}.")
    if min(matrix.shape) <= LAPACK_SIZE:
        dense = matrix @ np.eye(matrix.shape[1])
        left, values, right = np.linalg.svd(dense, full_matrices=False)
        left, values, right = left[:, :dim], values[:dim], right[:dim].T
    else:
        left, values, right = _by_krylov(matrix, dim, tol, seed)
    if values[-1] <= np.finfo(np.float32).eps * values[0]:
        count = int(np.count_nonzero(values > np.finfo(np.float32).eps * values[0]))
        raise RankError(f"The matrix has rank {count}; lower dim from {dim} to that.")
    stacked = fix_signs(np.concatenate([left, right]))
    left, right = stacked[: len(left)], stacked[len(left) :]
    defects = np.concatenate([matrix @ right - left * values, matrix.T @ left - right * values])
    residuals = np.linalg.norm(defects, axis=0) / np.sqrt(2)
    return Spectrum(
        values, left, residuals, rows, tol, signed=True, right_vectors=right, contexts=columns
    )


def _by_krylov(
    matrix: Any, dim: int, tol: float, seed: int
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[Any]]:
    height, width = matrix.shape
    total = height + width
    dtype = np.dtype(np.float32 if tol >= SINGLE_TOL else np.float64)

    def multiply(block: NDArray[Any]) -> NDArray[Any]:
        upper, lower = np.ascontiguousarray(block[:height]), np.ascontiguousarray(block[height:])
        product = np.concatenate([matrix @ lower, matrix.T @ upper])
        return product.astype(dtype, copy=False)

    pairs = krylov.solve(
        multiply,
        total,
        Request(dim, False, tol, np.full(total, total**-0.5)),
        dtype=dtype,
        start=None,
        seed=seed,
        max_basis=min(total, 24 * dim + 640),
        max_products=200 * dim + 20_000,
    )
    vectors = pairs.eigenvectors
    left, right = vectors[:height], vectors[height:]
    # The halves of a converged eigenvector have the same length, up to the tolerance.
    return (
        left / np.linalg.norm(left, axis=0),
        pairs.eigenvalues,
        right / np.linalg.norm(right, axis=0),
    )
