"""LAPACK: eigenpairs, and the number of positive ones, of matrices reduced as a whole."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from qwem.errors import SettingError
from qwem.spectrum.spectrum import Eigenpairs, Request, select

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.target import Target


def solve(matrix: NDArray[Any], request: Request) -> Eigenpairs:
    """Return the requested eigenpairs of a dense symmetric matrix.

    Only one end of the spectrum is computed. Where `signed`, both ends are needed, and LAPACK can
    compute them only with everything in between.
    """
    size = len(matrix)
    if not np.all(np.isfinite(matrix)):
        raise SettingError("The matrix holds NaN or infinite entries; take them out.")
    floor = rounding_floor(matrix)
    entries = matrix.astype(np.float64, order="F")  # a copy, which LAPACK may use as its own
    values, vectors = scipy.linalg.eigh(
        entries,
        subset_by_index=None if request.signed else (size - request.dim, size - 1),
        overwrite_a=True,
        check_finite=False,
    )
    alignment = (request.direction @ vectors) ** 2
    selection = select(values, alignment, signed=request.signed)
    kept = selection.kept[: request.dim]
    return Eigenpairs(
        eigenvalues=values[kept],
        eigenvectors=vectors[:, kept],
        outlier=None if selection.outlier is None else float(values[selection.outlier]),
        floor=floor,
        products=0,
    )


def count_nonnegative(target: Target) -> int:
    """Return how many eigenvalues of a target are zero or positive.

    This is the largest dimension in which a tied model, WWᵀ, can still improve on the target; the
    paper counts 4,795 for its M* of 10,000 words. The target is made dense, V² numbers in float64,
    and factorized once as LDLᵀ, which takes about V³/3 multiplications.

    >>> from qwem import Target
    >>> count_nonnegative(Target.from_matrix(["a", "b", "c"], np.diag([2.0, 0.0, -1.0])))
    2
    """
    matrix = np.asarray(target.toarray(), dtype=np.float64)
    # The least positive number lets the eigenvalues of a zero matrix count too.
    return count_above(matrix, -max(rounding_floor(matrix), np.finfo(np.float64).tiny))


def count_above(matrix: NDArray[Any], floor: float) -> int:
    """Return how many eigenvalues of a dense symmetric matrix are above `floor`.

    By Sylvester's law of inertia they are as many as the positive eigenvalues of D in
    M − floor·I = L D Lᵀ, which takes far less work than the eigenvalues themselves.

    >>> count_above(np.array([[0.0, 2.0], [2.0, 0.0]]), 1e-9)
    1
    """
    shifted = matrix.astype(np.float64, order="F")  # a copy, which LAPACK may use as its own
    shifted[np.diag_indices_from(shifted)] -= floor
    work, _ = scipy.linalg.lapack.dsytrf_lwork(len(shifted), lower=1)
    factors, pivots, _ = scipy.linalg.lapack.dsytrf(
        shifted, lower=1, lwork=int(work), overwrite_a=True
    )
    # A negative pivot marks a block of two rows, which has one eigenvalue of each sign.
    alone = np.diagonal(factors)[pivots > 0]
    return int(np.count_nonzero(alone > 0) + np.count_nonzero(pivots < 0) // 2)


def rounding_floor(matrix: NDArray[Any]) -> float:
    """Return an upper limit for the magnitude of eigenvalues that are only rounding errors."""
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return float(np.finfo(dtype).eps * math.sqrt(len(matrix)) * np.linalg.norm(matrix))
