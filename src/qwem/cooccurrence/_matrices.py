"""Sums and differences of matrices of counts, dense or sparse, a block of rows at a time."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import blocks, for_each
from qwem.cooccurrence._rows import (
    Rows,
    join_rows,
    lengths_of,
    moved_rows,
    not_a_part,
    runs_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence._rows import Matrix

_BLOCK_ENTRIES = 1 << 22


def row_blocks(matrix: Matrix) -> list[slice]:
    """Return slices of the rows of a matrix of bounded size."""
    return blocks(*matrix.shape, most=_BLOCK_ENTRIES)


def sum_matrices(
    matrices: Sequence[Matrix],
    places: Sequence[NDArray[np.int64] | None] | None,
    size: int,
    threads: int,
    *,
    dense: bool,
) -> Matrix:
    """Return the sum of matrices of counts, the only large thing in memory.

    Word i of matrix k comes to ``places[k][i]`` of `size` words, or is left out at −1; see
    `PairCounts.sum`.
    """
    moves = [
        _Move.of(matrix, place, size)
        for matrix, place in zip(matrices, places or [None] * len(matrices), strict=True)
    ]
    if dense and size:
        return _dense_sum(moves, size, threads)

    def work(first: int, last: int) -> Rows:
        return reduce(add, (move.rows(first, last) for move in moves))

    lengths = np.sum([move.lengths for move in moves], axis=0)
    return join_rows(work, runs_of(lengths, threads), size, threads)


def subtract_matrices(whole: Matrix, part: Matrix, threads: int) -> Matrix:
    """Return a matrix of counts less a part of it."""
    if not isinstance(whole, np.ndarray):

        def work(first: int, last: int) -> Rows:
            return Rows.of(whole, first, last) - Rows.of(part, first, last)

        return join_rows(work, runs_of(lengths_of(whole), threads), whole.shape[1], threads)
    rest = np.empty_like(whole)

    def subtract(rows: slice) -> None:
        block = _dense_rows(part, rows)
        if np.any(block > whole[rows]):
            raise not_a_part()
        np.subtract(whole[rows], block, out=rest[rows], casting="unsafe")

    for_each(subtract, row_blocks(whole))
    return rest


class _Move(NamedTuple):
    """A matrix whose words take other places."""

    matrix: Matrix
    places: NDArray[np.int64] | None
    """The new place of each word; None where all stay."""
    source: NDArray[np.int64]
    """The word that comes to each place, or −1."""

    @classmethod
    def of(cls, matrix: Matrix, places: NDArray[np.int64] | None, size: int) -> _Move:
        own = np.arange(matrix.shape[0])
        if places is None or (len(own) == size and np.array_equal(places, own)):
            return cls(matrix, None, own)
        source = np.full(size, -1, np.int64)
        source[places[places >= 0]] = np.flatnonzero(places >= 0)
        return cls(matrix, places, source)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """About how many entries each row has."""
        return np.where(self.source < 0, 0, np.append(lengths_of(self.matrix), 0)[self.source])

    def rows(self, first: int, last: int) -> Rows:
        """Return the rows from `first` to `last`."""
        if self.places is None:
            return Rows.of(self.matrix, first, last)
        return moved_rows(self.matrix, self.places, self.source[first:last])

    def add_to(self, total: NDArray[Any], rows: slice) -> None:
        """Add some rows to those of a dense matrix."""
        source = self.source[rows]
        known = source >= 0
        if self.places is None:
            total[rows] += _dense_rows(self.matrix, rows)
            return
        block = _dense_rows(self.matrix, source[known])
        kept = self.places >= 0
        chosen = np.arange(rows.start, rows.stop)[known]
        total[np.ix_(chosen, self.places[kept])] += block[:, kept]


def _dense_sum(moves: Sequence[_Move], size: int, threads: int) -> NDArray[Any]:
    """Return the sum of counts as a dense array: the only large array is the sum."""

    def largest(move: _Move) -> int:
        values = move.matrix if isinstance(move.matrix, np.ndarray) else move.matrix.data
        return int(values.max(initial=0))

    small = sum(map(largest, moves)) < 2**32
    total = np.zeros((size, size), np.uint32 if small else np.uint64)

    def work(rows: slice) -> None:
        for move in moves:
            move.add_to(total, rows)

    for_each(work, row_blocks(total))
    return total


def _dense_rows(matrix: Matrix, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
    block: Any = matrix[rows]
    return block if isinstance(block, np.ndarray) else block.toarray()
