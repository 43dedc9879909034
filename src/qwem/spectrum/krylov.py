"""Block Krylov eigensolver for large symmetric operators, and its orthonormal basis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from qwem._internal.arrays import blocks, for_each
from qwem._internal.resources import blas_threads, progress
from qwem.errors import SettingError
from qwem.spectrum.spectrum import Eigenpairs, Request, Selection, residuals_of, select

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


Block = np.ndarray[Any, np.dtype[np.floating[Any]]]

# Above this ratio of singular values the Gram matrix has lost the smallest ones to rounding.
_GRAM_CONDITION = 1e6
# If a projection leaves less than this share of a column, it is repeated to remove rounding errors.
_CANCELLATION = 0.1
# Rows per block of the basis: few enough for all threads to get some, enough for BLAS to be fast.
_BLOCK_ROWS = 1 << 14


def inner_products(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Return firstᵀ second; sums of at most `_BLOCK_ROWS` rows are in the type of the factors.

    As in all functions here, the rows are cut into blocks that do not depend on the number of
    threads, so results don't either.
    """
    cuts = _row_blocks(first)
    sums = np.empty((len(cuts), first.shape[1], second.shape[1]), second.dtype)

    def work(block: int) -> None:
        np.matmul(first[cuts[block]].T, second[cuts[block]], out=sums[block])

    for_each(work, range(len(cuts)))
    return sums.sum(axis=0, dtype=np.float64)


def gram(block: Block) -> NDArray[np.float64]:
    """Return blockᵀ block in float64."""
    cuts = _row_blocks(block)
    sums = np.empty((len(cuts), block.shape[1], block.shape[1]))

    def work(part: int) -> None:
        wide = block[cuts[part]].astype(np.float64)
        np.matmul(wide.T, wide, out=sums[part])

    for_each(work, range(len(cuts)))
    return sums.sum(axis=0)


def combined(columns: Block, weights: NDArray[Any]) -> Block:
    """Return columns @ weights, multiplied in the type of the weights, in that of the columns."""
    result = np.empty((len(columns), weights.shape[1]), columns.dtype)

    def work(rows: slice) -> None:
        result[rows] = columns[rows].astype(weights.dtype, copy=False) @ weights

    for_each(work, _row_blocks(columns))
    return result


def _row_blocks(columns: Block) -> list[slice]:
    return blocks(len(columns), most=_BLOCK_ROWS)


def orthonormalize(block: Block, threshold: float) -> tuple[Block, NDArray[np.float64]]:
    """Return Q with orthonormal columns and R such that `block` = Q R.

    Directions in which the block is not longer than `threshold` are left out, so Q may have fewer
    columns than the block, or none. The work is done in float64 through the Gram matrix, which
    needs only matrix products, or through a QR factorization if the Gram matrix is too inaccurate.

    >>> Q, R = orthonormalize(np.array([[3.0, 6.0], [4.0, 8.0]]), 1e-9)
    >>> Q.shape, np.allclose(Q @ R, [[3, 6], [4, 8]])
    ((2, 1), True)
    """
    factor = np.eye(block.shape[1])
    for smallest in (threshold, 0.5):
        if block.shape[1] == 0:
            break
        directions, lengths, block = _principal_axes(block, smallest)
        factor = (lengths[:, None] * directions.T) @ factor
    return block, factor


def _principal_axes(
    block: Block, threshold: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], Block]:
    """Return the right vectors, values and left vectors of singular values above `threshold`."""
    squares, directions = np.linalg.eigh(gram(block))
    lengths = np.sqrt(np.maximum(squares, 0.0))
    if lengths[0] * _GRAM_CONDITION < lengths[-1]:
        wide = block.astype(np.float64)
        columns, triangle = scipy.linalg.qr(wide, mode="economic", check_finite=False)
        left, lengths, right = np.linalg.svd(triangle, full_matrices=False)
        kept = lengths > threshold
        outer = (columns @ left[:, kept]).astype(block.dtype)
        return right[kept].T, lengths[kept], outer
    kept = lengths > threshold
    directions, lengths = directions[:, kept], lengths[kept]
    return directions, lengths, combined(block, directions / lengths)


class GrowingBasis:
    """Orthonormal columns Q for a symmetric operator A, with the projection QᵀAQ.

    `capacity` bounds the number of columns; memory is touched only as they fill up.
    """

    def __init__(self, rows: int, capacity: int, dtype: np.dtype[Any]) -> None:
        self._columns: Block = np.empty((rows, capacity), dtype=dtype, order="F")
        self._projection = np.zeros((capacity, capacity))
        self._recent = 0
        self.size = 0

    @property
    def capacity(self) -> int:
        """The largest number of columns."""
        return int(self._columns.shape[1])

    @property
    def columns(self) -> Block:
        """The columns so far."""
        return self._columns[:, : self.size]

    @property
    def projection(self) -> NDArray[np.float64]:
        """QᵀAQ of the columns so far."""
        return self._projection[: self.size, : self.size]

    @property
    def newest(self) -> slice:
        """The columns appended last."""
        return slice(self._recent, self.size)

    def has_room(self, width: int) -> bool:
        """Return whether `width` more columns fit."""
        return self.size + width <= self.capacity

    def append(self, block: Block, image: Block, threshold: float) -> tuple[Block, Any]:
        """Append an orthonormal `block`, given its `image` under A.

        Returns the part of the image outside the basis, as `orthonormalize` does. In a Krylov space
        the image has large components only along the last two blocks; subtracting those first makes
        one pass over all columns as accurate as the usual two.
        """
        first, last = self._recent, self.size
        self._recent = last
        self.size += block.shape[1]
        self._copy(block, self._columns[:, last : self.size])

        coefficients = np.zeros((self.size, block.shape[1]))
        image = image.astype(self._columns.dtype, order="C", copy=True)
        coefficients[first:] += self._subtract(image, first)
        before = float(np.linalg.norm(image, axis=0).max(initial=0.0))
        coefficients += self._subtract(image, 0)
        rest, factor = orthonormalize(image, threshold)
        shortest = float(np.linalg.norm(factor, axis=1).min(initial=before))
        if shortest < _CANCELLATION * before:
            again = self._subtract(rest, 0)
            coefficients += again @ factor
            rest, correction = orthonormalize(rest, 0.5)
            factor = correction @ factor

        self._projection[: self.size, last : self.size] = coefficients
        self._projection[last : self.size, : self.size] = coefficients.T
        square = coefficients[last:]
        self._projection[last : self.size, last : self.size] = (square + square.T) / 2
        return rest, factor

    def orthogonal(self, block: Block) -> Block:
        """Return an orthonormal basis of `block` with the columns so far projected out."""
        block = block / np.linalg.norm(block, axis=0)
        for _ in range(2):  # the second time removes the rounding errors of the first
            self._subtract(block, 0)
            block, _ = orthonormalize(block, 1e-3)
        return block

    def compress(self, combinations: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """Replace the columns by combinations of them that are eigenvectors of the projection."""
        kept = combinations.shape[1]
        self._columns[:, :kept] = self.combine(combinations)
        self._projection[:kept, :kept] = np.diag(values)
        self.size, self._recent = kept, 0

    def combine(self, combinations: NDArray[np.float64]) -> Block:
        """Return these combinations of the columns."""
        return combined(self.columns, combinations.astype(self._columns.dtype))

    def _copy(self, block: Block, result: Block) -> None:
        """Copy `block` in blocks of rows, which is faster if the memory order changes."""

        def work(rows: slice) -> None:
            result[rows] = block[rows]

        for_each(work, _row_blocks(block))

    def _subtract(self, block: Block, first: int) -> NDArray[np.float64]:
        """Project the columns from `first` on out of `block`, in place; return the coefficients."""
        columns = self.columns[:, first:]
        coefficients = inner_products(columns, block)
        weights = coefficients.astype(block.dtype)

        def work(rows: slice) -> None:
            block[rows] -= columns[rows] @ weights

        for_each(work, _row_blocks(block))
        return coefficients


BLOCK_WIDTH = 32
# Directions shorter than this many rounding errors of the operator's norm are noise.
_ROUNDINGS = 50
# The error of an eigenvalue is r²/gap; the gap to eigenvalues not in the space is assumed λ_k / 10.
_GAP = 1 / 10
# Eigenvalues closer than this share of λ₁ are treated as copies of one. A random block finds only
# as many copies as it has columns.
_CROWD = 1e-4
# The most negative Ritz vectors are kept on a restart although they are not requested; otherwise
# the outlier would have to be found again each time.
_OTHER_END = 8
# Size of the noise added to a warm start, for directions orthogonal to the earlier eigenvectors.
_NOISE = 0.03
# From this tolerance on, a warm start is a block of all earlier eigenvectors: they are nearly
# accurate enough, and one or two blocks of corrections suffice. Smaller tolerances need a
# polynomial of high degree.
_COARSE = 0.01
# Random columns added to such a block.
_EXTRA_COLUMNS = 8


def smallest_basis(dim: int) -> int:
    """Return the fewest basis vectors that leave room to grow after a restart."""
    return 2 * dim + 3 * BLOCK_WIDTH + _OTHER_END


def solve(
    multiply: Callable[[Block], Block],
    rows: int,
    request: Request,
    *,
    dtype: np.dtype[Any],
    start: Block | None,
    seed: int,
    max_basis: int,
    max_products: int,
) -> Eigenpairs:
    """Return the requested eigenpairs of the operator that `multiply` applies.

    The space spanned by X, AX, A²X, … for a random block X is built one block at a time with an
    orthonormal basis Q, and the eigenpairs are computed from those of the small matrix QᵀAQ (block
    Lanczos with full reorthogonalization and Rayleigh–Ritz). Every step is a product of matrices,
    so it runs at the speed of BLAS. At `max_basis` columns the basis is reduced to the best Ritz
    vectors and grows again (thick restart).

    M* at 10,000 words and dimension 200 takes about 1,600 products. Its eigenvalues decay so slowly
    (λ₂₀₀ = 197, λ₄₀₀ = 175) that the cost depends on the degree of the polynomial in A, and a basis
    that keeps every block has the highest degree per product. Chebyshev-filtered subspace iteration
    with 300 columns took 10,800 products, and twice the block width takes a fifth more. M*'s huge
    negative eigenvalue is one direction of the space, found in the first steps, and needs no
    deflation.
    """
    rng = np.random.default_rng(seed)
    basis = GrowingBasis(rows, min(rows, max_basis), dtype)
    width = BLOCK_WIDTH
    if start is not None and request.tol >= _COARSE:
        direction = request.direction[:, None].astype(dtype)
        block = np.hstack([start, direction, _random(rng, rows, _EXTRA_COLUMNS, dtype)])
    else:
        block = _random(rng, rows, width, dtype)
        if start is not None:
            block = _mix(rng, start, width) + dtype.type(_NOISE) * block / math.sqrt(rows)
    block = basis.orthogonal(block)
    schedule = _Schedule(3 * request.dim if start is None else request.dim)
    products, steps, norm = 0, 0, 0.0
    # Without a total: nobody knows how many products it takes, and pairs are found by the dozen.
    with progress("factorizing", unit=" products") as bar:
        while True:
            block = block[:, : rows - basis.size]
            if not basis.has_room(block.shape[1]):
                _restart(basis, request, block.shape[1])
            image = multiply(block)
            if not np.all(np.isfinite(image)):
                raise SettingError("The matrix holds NaN or infinite entries; take them out.")
            products += block.shape[1]
            bar.update(block.shape[1])
            steps += 1
            norm = max(norm, float(np.linalg.norm(image, axis=0).max()))
            block, factor = basis.append(block, image, _ROUNDINGS * np.finfo(dtype).eps * norm)
            last = basis.size == rows or products + block.shape[1] > max_products
            crowded = False
            if last or (basis.size >= request.dim and products >= schedule.due):
                ritz = _rayleigh_ritz(basis, factor, request)
                found = int(np.count_nonzero(ritz.excess <= 1))
                bar.set_postfix_str(f"{found} of {request.dim} eigenpairs found")
                crowded = found == request.dim and ritz.crowd >= width
                if last or (found == request.dim and not crowded):
                    break
                schedule.record(products, float(ritz.excess.max()))
            if crowded:
                # The new columns need as many steps as the old ones to find the missing copies.
                width = min(2 * width, request.dim + 1)
                schedule.due, steps = products + steps * width, 0
            if crowded or block.shape[1] == 0:
                fresh = _random(rng, rows, width - block.shape[1], dtype)
                block = basis.orthogonal(np.hstack([block, fresh]))
    kept = ritz.selection.kept[: request.dim]
    outlier = ritz.selection.outlier
    values, vectors = ritz.values[kept], basis.combine(ritz.combinations[:, kept])
    outside = factor @ ritz.combinations[basis.newest][:, kept]
    rounding = _ROUNDINGS * float(np.finfo(dtype).eps) * norm
    residuals, more = _residuals(multiply, values, vectors, (block, outside), rounding, rng)
    return Eigenpairs(
        eigenvalues=values,
        eigenvectors=vectors,
        residuals=residuals,
        outlier=None if outlier is None else float(ritz.values[outlier]),
        floor=float(np.finfo(dtype).eps * math.sqrt(rows) * norm),
        products=products + more,
    )


def _residuals(
    multiply: Callable[[Block], Block],
    values: NDArray[np.float64],
    vectors: Block,
    rest: tuple[Block, NDArray[np.float64]],
    rounding: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], int]:
    """Return ‖A v − λ v‖ of every pair, and how many vectors were multiplied for that.

    The space is built so that A V − V Λ is the product of `rest`, an orthonormal block and its
    coefficients, up to rounding errors. A product with random combinations of all columns of V
    measures these errors, and they are included. Should they be larger than `rounding`, or if there
    are few columns, A is multiplied by V itself.
    """
    dim, (block, outside) = vectors.shape[1], rest
    if dim > BLOCK_WIDTH:
        # On average an error times these weights has the mean square of the error's columns.
        weights = rng.choice([-1.0, 1.0], (dim, BLOCK_WIDTH)) / math.sqrt(dim * BLOCK_WIDTH)
        kind = vectors.dtype
        expected = combined(vectors, (values[:, None] * weights).astype(kind))
        expected += combined(block, (outside @ weights).astype(kind))
        error = float(np.linalg.norm(multiply(combined(vectors, weights.astype(kind))) - expected))
        if error <= rounding:
            return np.hypot(np.linalg.norm(outside, axis=0), error), BLOCK_WIDTH
    more = dim + (BLOCK_WIDTH if dim > BLOCK_WIDTH else 0)
    return residuals_of(multiply(vectors), values, vectors), more


@dataclass(frozen=True)
class _Ritz:
    """Approximate eigenpairs, the selected ones, and by how much each exceeds its limit."""

    values: NDArray[np.float64]
    combinations: NDArray[np.float64]
    selection: Selection
    excess: NDArray[np.float64]
    crowd: int


def _rayleigh_ritz(basis: GrowingBasis, factor: NDArray[np.float64], request: Request) -> _Ritz:
    """Solve the projected problem and estimate the residuals, without a product.

    A residual r_k must be below tol·λ₁, as promised, and small enough that the error of the
    eigenvalue, which is of second order in r_k, is below tol·λ_k.
    """
    ends = None if request.signed else (basis.size - request.dim, basis.size - 1)
    values, combinations = _eigenpairs(basis.projection, ends)
    along = request.direction.astype(basis.columns.dtype) @ basis.columns
    alignment = (along @ combinations) ** 2
    selection = select(values, alignment, signed=request.signed)
    kept = selection.kept[: request.dim]
    residuals = np.linalg.norm(factor @ combinations[basis.newest][:, kept], axis=0)
    magnitudes = np.abs(values[kept])
    promised = request.tol * magnitudes[0]
    second_order = magnitudes * math.sqrt(request.tol * _GAP)
    limits = np.clip(second_order, promised / 10, promised)
    excess = np.full(request.dim, np.inf)
    excess[: len(kept)] = residuals / np.maximum(limits, np.finfo(float).tiny)
    ascending = np.sort(values[kept])
    window = min(request.tol, _CROWD) * magnitudes[0]
    crowd = np.searchsorted(ascending, ascending + window, side="right") - np.arange(len(kept))
    return _Ritz(values, combinations, selection, excess, int(crowd.max()))


def _eigenpairs(
    matrix: NDArray[np.float64], ends: tuple[int, int] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues and eigenvectors of a small matrix, all or the ones from end to end.

    At this size the threads of BLAS spend more time on waiting for each other than they save.
    """
    with blas_threads(1):
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=ends, check_finite=False)
    return values, vectors


def _restart(basis: GrowingBasis, request: Request, width: int) -> None:
    """Keep the requested Ritz vectors and a third of the others, the best first."""
    values, combinations = _eigenpairs(basis.projection)
    alignment = np.zeros(len(values))
    order = select(values, alignment, signed=request.signed).kept
    room = basis.capacity - width - _OTHER_END
    count = min(request.dim + (basis.size - request.dim) // 3, room)
    kept = np.union1d(order[:count], np.arange(_OTHER_END))
    basis.compress(combinations[:, kept], values[kept])


class _Schedule:
    """When to solve the projected problem: rarely, and when it has probably converged."""

    def __init__(self, first: int) -> None:
        self.due = first
        self._seen: tuple[int, float] | None = None

    def record(self, products: int, excess: float) -> None:
        """Record the largest excess after `products`; it falls about geometrically."""
        step = 0.25 * products
        distance = math.log(excess) if 1 < excess < math.inf else 0.0
        if self._seen is not None:
            before, distance_before = self._seen
            fall = (distance_before - distance) / (products - before)
            if fall > 0:
                # The fall gets steeper, so the next check comes before this line reaches 0.
                step = min(products, 0.75 * distance / fall)
        self._seen = products, distance
        self.due = products + int(step)


def _mix(rng: np.random.Generator, start: Block, width: int) -> Block:
    """Return a narrow block of random combinations of the columns of a warm start.

    A Krylov space that starts within the wanted subspace fills that first. Unless the tolerance is
    coarse, starting from all columns would take more products: the wider the block, the lower the
    degree of the polynomial for the same number of products.
    """
    weights = _random(rng, start.shape[1], width, start.dtype) / math.sqrt(start.shape[1])
    return start @ weights.astype(start.dtype)


def _random(rng: np.random.Generator, rows: int, width: int, dtype: np.dtype[Any]) -> Block:
    return rng.standard_normal((rows, max(width, 1)), dtype=dtype.type)
