"""Factorizing a target: choose a solver, run it, check its eigenpairs; and the LAPACK solver."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.linalg

from qwem._internal.resources import blas_threads, require_memory
from qwem.errors import RankError, SettingError
from qwem.spectrum.spectrum import Eigenpairs, Request, Spectrum, fix_signs, residuals_of, select
from qwem.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse
    from scipy.sparse.linalg import LinearOperator

    from qwem.corpus import Vocabulary


Method = Literal["auto", "lapack", "krylov"]

_LOGGER = logging.getLogger(__name__)
# Up to this size LAPACK is faster than products at the usual dimensions.
LAPACK_SIZE = 2_000
# LAPACK is also faster if more than this share of the spectrum is wanted, up to `_DENSE_SIZE` rows.
_LAPACK_SHARE = 0.1
_DENSE_SIZE = 20_000
# Below this tolerance float32 products are too coarse.
SINGLE_TOL = 1e-4


def factorize(
    target: Target | ArrayLike | sparse.sparray | sparse.spmatrix | LinearOperator,
    dim: int = 200,
    *,
    words: Sequence[str] | Vocabulary | None = None,
    signed: bool = False,
    tol: float = 1e-3,
    seed: int = 0,
    warm_start: Spectrum | None = None,
    method: Method = "auto",
    max_products: int | None = None,
    max_basis: int | None = None,
) -> Spectrum:
    """Return the `dim` leading eigenpairs of a target (Theorem 3.2, Proposition 3.3).

    They are the largest by value, and all positive. With ``signed=True`` they are the largest in
    magnitude, except for the one huge negative eigenvalue that comes from the unseen pairs. That
    outlier is the eigenvalue of largest magnitude, if it is negative and at least a quarter of its
    eigenvector's squared length lies along the constant vector (Γ1 under a coupling). PPMI, which
    has no negative entry, has no outlier. Each eigenvector has the sign that makes the sum of its
    cubed entries positive. The same call gives the same bits.

    Parameters
    ----------
    target
        A `Target`, or a symmetric matrix of your own with its `words`: NumPy, SciPy sparse, or
        anything with ``@``, `shape` and `dtype`, such as a SciPy `LinearOperator`.
    dim
        The number of eigenpairs; every smaller model is a prefix, see `Spectrum.restrict`.
    words
        The words of the rows, if `target` is a plain matrix.
    signed
        False for a model with tied weights, True for one with separate context vectors.
    tol
        Every residual ‖M v − λ v‖ is at most tol times the largest magnitude |λ|; otherwise
        `Spectrum.converged` is false and a warning is logged. Each eigenvalue, whose error is of
        second order, has a relative error of about tol. Below 1e-4 the arithmetic is in float64.
    seed
        The seed of the random start.
    warm_start
        The spectrum of an earlier, similar target; words are matched by spelling.
    method
        ``lapack`` reduces the whole matrix, ``krylov`` multiplies blocks of vectors; ``auto``
        takes the one that is faster at this size.
    max_products
        The number of vectors to multiply before giving up; 100·dim + 10,000 by default.
    max_basis
        The most basis vectors held in memory; 12·dim + 320 by default.

    >>> spectrum = factorize(np.diag([1.0, 3.0, -9.0]), dim=2, words=["a", "b", "c"])
    >>> spectrum.eigenvalues.round(6).tolist()
    [3.0, 1.0]
    """
    problem = _as_target(target, words)
    _check_settings(problem, dim, tol, method)
    matrix = problem.solved_matrix()
    rows = problem.shape[0]
    request = Request(dim, signed, tol, _unseen_direction(problem))
    if method == "lapack" or (method == "auto" and _lapack_wins(rows, dim)):
        require_memory(
            3 * 8 * rows**2, f"Reducing a matrix of {rows:,} words", 'use method="krylov"'
        )
        used, pairs = "lapack", solve_dense(matrix.toarray(), request)
    else:
        start = None if warm_start is None else _aligned(warm_start, problem.vocabulary)
        used, pairs = "krylov", _solve_krylov(matrix, request, start, seed, max_products, max_basis)
    _check_rank(matrix, request, pairs)
    spectrum = Spectrum(
        eigenvalues=pairs.eigenvalues,
        eigenvectors=fix_signs(pairs.eigenvectors),
        residuals=pairs.residuals,
        vocabulary=problem.vocabulary,
        tol=tol,
        signed=signed,
        row_scale=problem.row_scale,
        outlier=pairs.outlier,
        method=used,
        products=pairs.products,
        target_name=problem.name,
        target_settings=dict(problem.settings),
    )
    if not spectrum.converged:
        _warn(spectrum)
    return spectrum


def _as_target(target: Any, words: Sequence[str] | Vocabulary | None) -> Target:
    if isinstance(target, Target):
        if words is not None:
            raise SettingError("words are for a plain matrix; a target has its own.")
        return target
    if words is None:
        raise SettingError("A plain matrix needs words=, one for each row.")
    return Target.from_matrix(words, target)


def _check_settings(problem: Target, dim: int, tol: float, method: str) -> None:
    if not 0 < dim <= problem.shape[0]:
        raise SettingError(
            f"dim must be between 1 and {problem.shape[0]:,}, the number of words, not {dim}."
        )
    if not 0 < tol < 1:
        raise SettingError(f"tol must be between 0 and 1, not {tol}.")
    if method not in ("auto", "lapack", "krylov"):
        raise SettingError(f"method must be auto, lapack or krylov, not {method!r}.")


def _lapack_wins(rows: int, dim: int) -> bool:
    return rows <= LAPACK_SIZE or (rows <= _DENSE_SIZE and dim > _LAPACK_SHARE * rows)


def _unseen_direction(problem: Target) -> NDArray[np.float64]:
    """Return the unit vector along Γ1: unseen pairs add a negative multiple of Γ1(Γ1)ᵀ."""
    scale = problem.row_scale
    direction = np.ones(problem.shape[0]) if scale is None else 1 / scale
    return direction / np.linalg.norm(direction)


def _solve_krylov(
    matrix: Target,
    request: Request,
    start: NDArray[Any] | None,
    seed: int,
    max_products: int | None,
    max_basis: int | None,
) -> Eigenpairs:
    from qwem.spectrum import krylov

    rows = matrix.shape[0]
    dtype = np.dtype(np.float32 if request.tol >= SINGLE_TOL else np.float64)
    needed = krylov.smallest_basis(request.dim)
    basis = 12 * request.dim + 320 if max_basis is None else max_basis
    products = 100 * request.dim + 10_000 if max_products is None else max_products
    for name, value in (("max_basis", basis), ("max_products", products)):
        if value < min(needed, rows):
            raise SettingError(f"{name} must be at least {needed} for dim {request.dim}.")
    columns = min(basis, rows)
    require_memory(
        columns * (rows * dtype.itemsize + 4 * 8 * columns),
        f"A basis of {columns:,} vectors for {rows:,} words",
        "lower max_basis",
    )
    # After a product, BLAS's threads spin on the cores that other threads need. So BLAS gets one
    # thread, and products are split by rows.
    with blas_threads(1):
        return krylov.solve(
            lambda block: matrix @ np.ascontiguousarray(block),
            rows,
            request,
            dtype=dtype,
            start=None if start is None else start.astype(dtype),
            seed=seed,
            max_basis=basis,
            max_products=products,
        )


def _aligned(earlier: Spectrum, vocabulary: Vocabulary) -> NDArray[Any]:
    """Return the earlier eigenvectors on these words, with zeros for new words."""
    old = [earlier.vocabulary.get(word) for word in vocabulary]
    rows = np.array([i for i, index in enumerate(old) if index is not None], dtype=np.int64)
    if not rows.size:
        raise SettingError("warm_start has no word in common with the target; leave it out.")
    start = np.zeros((len(vocabulary), earlier.dim), dtype=earlier.eigenvectors.dtype)
    start[rows] = earlier.eigenvectors[[index for index in old if index is not None]]
    return start


def _check_rank(matrix: Target, request: Request, pairs: Eigenpairs) -> None:
    """Refuse a spectrum with too few positive (or, if signed, nonzero) eigenvalues."""
    sizes = np.abs(pairs.eigenvalues) if request.signed else pairs.eigenvalues
    count = int(np.count_nonzero(sizes > pairs.floor))
    if count == request.dim:
        return
    if not request.signed and matrix.shape[0] <= _DENSE_SIZE:
        count = count_above(matrix.toarray(), pairs.floor)
    kind = "different from zero" if request.signed else "positive"
    beside = "" if pairs.outlier is None else " beside the outlier"
    remedy = f"lower dim to {count}" if count else "there is nothing to embed"
    if not request.signed:
        remedy += ", or set signed=True to use negative ones"
    raise RankError(
        f"Only {count} eigenvalues of this target are {kind}{beside}, and `dim={request.dim}` was "
        f"asked for; {remedy}."
    )


def _warn(spectrum: Spectrum) -> None:
    largest = np.abs(spectrum.eigenvalues).max()
    short = int(np.count_nonzero(spectrum.residuals > spectrum.tol * largest))
    _LOGGER.warning(
        "%d of %d eigenpairs did not reach tol=%g: the largest residual is %.2g of the largest "
        "eigenvalue after %d products; raise max_products, or raise tol.",
        short,
        spectrum.dim,
        spectrum.tol,
        spectrum.residuals.max() / largest,
        spectrum.products,
    )


def solve_dense(matrix: NDArray[Any], request: Request) -> Eigenpairs:
    """Return the requested eigenpairs of a dense symmetric matrix.

    Only one end of the spectrum is computed, unless `signed`: then both ends are needed, and LAPACK
    can compute them only with everything in between.
    """
    size = len(matrix)
    if not np.all(np.isfinite(matrix)):
        raise SettingError("The matrix holds NaN or infinite entries; take them out.")
    floor = rounding_floor(matrix)
    entries = matrix.astype(np.float64, order="F")  # a copy, which LAPACK may overwrite
    values, vectors = scipy.linalg.eigh(
        entries,
        subset_by_index=None if request.signed else (size - request.dim, size - 1),
        overwrite_a=True,
        check_finite=False,
    )
    alignment = (request.direction @ vectors) ** 2
    selection = select(values, alignment, signed=request.signed)
    kept = selection.kept[: request.dim]
    outlier = None if selection.outlier is None else float(values[selection.outlier])
    values, vectors = values[kept], vectors[:, kept]
    return Eigenpairs(
        eigenvalues=values,
        eigenvectors=vectors,
        residuals=residuals_of(matrix @ vectors, values, vectors),
        outlier=outlier,
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
    # `tiny` makes the eigenvalues of a zero matrix count too.
    return count_above(matrix, -max(rounding_floor(matrix), np.finfo(np.float64).tiny))


def count_above(matrix: NDArray[Any], floor: float) -> int:
    """Return how many eigenvalues of a dense symmetric matrix are above `floor`.

    By Sylvester's law of inertia this is the number of positive eigenvalues of D in
    M − floor·I = L D Lᵀ, which takes far less work than the eigenvalues themselves.

    >>> count_above(np.array([[0.0, 2.0], [2.0, 0.0]]), 1e-9)
    1
    """
    shifted = matrix.astype(np.float64, order="F")  # a copy, which LAPACK may overwrite
    shifted[np.diag_indices_from(shifted)] -= floor
    work, _ = scipy.linalg.lapack.dsytrf_lwork(len(shifted), lower=1)
    factors, pivots, _ = scipy.linalg.lapack.dsytrf(
        shifted, lower=1, lwork=int(work), overwrite_a=True
    )
    # A negative pivot marks a block of two rows, which has one eigenvalue of each sign.
    alone = np.diagonal(factors)[pivots > 0]
    return int(np.count_nonzero(alone > 0) + np.count_nonzero(pivots < 0) // 2)


def rounding_floor(matrix: NDArray[Any]) -> float:
    """Return the magnitude below which an eigenvalue may be only rounding error."""
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return float(np.finfo(dtype).eps * math.sqrt(len(matrix)) * np.linalg.norm(matrix))
