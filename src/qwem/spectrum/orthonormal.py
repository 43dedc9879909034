"""Orthonormal bases of a block of columns, and a basis that grows block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from qwem._internal.arrays import blocks, for_each

if TYPE_CHECKING:
    from numpy.typing import NDArray

Block = np.ndarray[Any, np.dtype[np.floating[Any]]]

# Above this ratio of singular values the Gram matrix has lost the smallest ones to rounding.
_GRAM_CONDITION = 1e6
# Where a projection leaves less than this part of a column, rounding errors are projected out too.
_CANCELLATION = 0.1
# Rows of a block of the basis: few enough to share out, many enough for BLAS at full speed.
_BLOCK_ROWS = 1 << 14


class Shares:
    """Products of tall matrices, shared out over threads.

    The rows are cut into blocks that do not depend on the number of threads, so that results don't
    either. Unless `cut`, they stay whole, and the products are left to BLAS.
    """

    def __init__(self, rows: int, cut: bool) -> None:
        self.blocks = blocks(rows, most=_BLOCK_ROWS if cut else rows)

    def inner_products(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
        """Return firstᵀ second."""
        parts = np.empty((len(self.blocks), first.shape[1], second.shape[1]), second.dtype)

        def work(part: int) -> None:
            rows = self.blocks[part]
            np.matmul(first[rows].T, second[rows], out=parts[part])

        for_each(work, range(len(parts)))
        return parts.sum(axis=0, dtype=np.float64)

    def combined(self, columns: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        """Return columns @ weights."""
        result = np.empty((len(columns), weights.shape[1]), weights.dtype)

        def work(rows: slice) -> None:
            np.matmul(columns[rows], weights, out=result[rows])

        for_each(work, self.blocks)
        return result

    def subtract(self, block: Block, columns: Block, weights: Block) -> None:
        """Subtract columns @ weights from `block`."""

        def work(rows: slice) -> None:
            block[rows] -= columns[rows] @ weights

        for_each(work, self.blocks)

    def copy(self, block: Block, result: Block) -> None:
        """Copy `block` in blocks of rows, which is faster where the order of memory changes."""

        def work(rows: slice) -> None:
            result[rows] = block[rows]

        for_each(work, self.blocks)


def orthonormalize(
    block: Block, threshold: float, shares: Shares | None = None
) -> tuple[Block, NDArray[np.float64]]:
    """Return Q with orthonormal columns and R such that `block` = Q R.

    Directions in which the block is not longer than `threshold` are left out, so Q may have fewer
    columns than the block, or none. The work is done in float64 through the Gram matrix, which is
    all matrix products, and through a QR factorization where the Gram matrix is too inaccurate.
    With `shares` several threads do it.

    >>> Q, R = orthonormalize(np.array([[3.0, 6.0], [4.0, 8.0]]), 1e-9)
    >>> Q.shape, np.allclose(Q @ R, [[3, 6], [4, 8]])
    ((2, 1), True)
    """
    shares = Shares(len(block), False) if shares is None else shares
    wide = np.asarray(block, dtype=np.float64)
    factor = np.eye(wide.shape[1])
    for smallest in (threshold, 0.5):
        if wide.shape[1] == 0:
            break
        directions, lengths, wide = _principal_axes(wide, smallest, shares)
        factor = (lengths[:, None] * directions.T) @ factor
    return np.asarray(wide, dtype=block.dtype), factor


def _principal_axes(
    wide: NDArray[np.float64], threshold: float, shares: Shares
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the right singular vectors, singular values and left singular vectors above it."""
    squares, directions = np.linalg.eigh(shares.inner_products(wide, wide))
    lengths = np.sqrt(np.maximum(squares, 0.0))
    if lengths[0] * _GRAM_CONDITION < lengths[-1]:
        columns, triangle = scipy.linalg.qr(wide, mode="economic", check_finite=False)
        left, lengths, right = np.linalg.svd(triangle, full_matrices=False)
        kept = lengths > threshold
        return right[kept].T, lengths[kept], columns @ left[:, kept]
    kept = lengths > threshold
    directions, lengths = directions[:, kept], lengths[kept]
    return directions, lengths, shares.combined(wide, directions / lengths)


class GrowingBasis:
    """Orthonormal columns Q for a symmetric operator A, with the projection QᵀAQ.

    `capacity` bounds the number of columns; memory is touched only as they fill up. `cut` is
    as for `Shares`.
    """

    def __init__(
        self, rows: int, capacity: int, dtype: np.dtype[Any], *, cut: bool = False
    ) -> None:
        self._shares = Shares(rows, cut)
        self._columns: Block = np.empty((rows, capacity), dtype=dtype, order="F")
        self._projection = np.zeros((capacity, capacity))
        self._recent = 0
        self.size = 0

    @property
    def capacity(self) -> int:
        """The most columns there may be."""
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

        Returns the part of the image outside the basis, as `orthonormalize` does. In a Krylov
        space the image has large components only along the last two blocks; taking those off
        first makes the one pass over all columns as good as the usual two.
        """
        first, last = self._recent, self.size
        self._recent = last
        self.size += block.shape[1]
        self._shares.copy(block, self._columns[:, last : self.size])

        coefficients = np.zeros((self.size, block.shape[1]))
        image = image.astype(self._columns.dtype, order="C", copy=True)
        coefficients[first:] += self._subtract(image, first)
        before = float(np.linalg.norm(image, axis=0).max(initial=0.0))
        coefficients += self._subtract(image, 0)
        rest, factor = orthonormalize(image, threshold, self._shares)
        shortest = float(np.linalg.norm(factor, axis=1).min(initial=before))
        if shortest < _CANCELLATION * before:
            again = self._subtract(rest, 0)
            coefficients += again @ factor
            rest, correction = orthonormalize(rest, 0.5, self._shares)
            factor = correction @ factor

        self._projection[: self.size, last : self.size] = coefficients
        self._projection[last : self.size, : self.size] = coefficients.T
        square = coefficients[last:]
        self._projection[last : self.size, last : self.size] = (square + square.T) / 2
        return rest, factor

    def orthogonal(self, block: Block) -> Block:
        """Return an orthonormal basis of `block` with the columns so far projected out."""
        block = block / np.linalg.norm(block, axis=0)
        for _ in range(2):  # the second time for what rounding left of the first
            self._subtract(block, 0)
            block, _ = orthonormalize(block, 1e-3, self._shares)
        return block

    def compress(self, combinations: NDArray[np.float64], values: NDArray[np.float64]) -> None:
        """Replace the columns by these combinations of them, eigenvectors of the projection."""
        kept = combinations.shape[1]
        self._columns[:, :kept] = self.combine(combinations)
        self._projection[:kept, :kept] = np.diag(values)
        self.size, self._recent = kept, 0

    def combine(self, combinations: NDArray[np.float64]) -> Block:
        """Return these combinations of the columns."""
        return self._shares.combined(self.columns, combinations.astype(self._columns.dtype))

    def _subtract(self, block: Block, first: int) -> NDArray[np.float64]:
        """Project the columns from `first` on out of `block`, in place; return the coefficients."""
        columns = self.columns[:, first:]
        coefficients = self._shares.inner_products(columns, block)
        self._shares.subtract(block, columns, coefficients.astype(block.dtype))
        return coefficients
