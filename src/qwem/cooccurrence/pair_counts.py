"""Matrices of exact integer counts, stored dense or sparse, and their algebra."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal.arrays import (
    blocks,
    csr_arrays,
    csr_matrix,
    ends_of,
    for_each,
    in_order,
)
from qwem._internal.resources import require_memory, thread_count
from qwem._internal.settings import require_whole
from qwem.cooccurrence._rows import (
    Rows,
    add_transpose,
    column_sums,
    compress,
    expand,
    join_rows,
    lengths_of,
    not_a_part,
    row_ends,
    row_sums,
    symmetrize,
    too_large,
)
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence._rows import Matrix


_BLOCK_ENTRIES = 1 << 22


def row_blocks(matrix: Matrix) -> list[slice]:
    """Return slices of the rows of a matrix, each of bounded size."""
    return blocks(*matrix.shape, most=_BLOCK_ENTRIES)


class _Reordered(NamedTuple):
    """A matrix with its words reordered."""

    matrix: Matrix
    places: NDArray[np.int64] | None
    """The new index of each word; None if all stay."""
    source: NDArray[np.int64]
    """The old index of each new word, or −1 if it has none."""

    @classmethod
    def of(cls, matrix: Matrix, places: NDArray[np.int64] | None, size: int) -> _Reordered:
        own = np.arange(matrix.shape[0])
        if places is None or (len(own) == size and np.array_equal(places, own)):
            return cls(matrix, None, own)
        source = np.full(size, -1, np.int64)
        source[places[places >= 0]] = np.flatnonzero(places >= 0)
        return cls(matrix, places, source)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The approximate number of entries of each row."""
        return np.where(self.source < 0, 0, np.append(lengths_of(self.matrix), 0)[self.source])

    def rows(self, first: int, last: int) -> Rows:
        """Return the rows from `first` to `last`."""
        if self.places is None:
            return Rows.of(self.matrix, first, last)
        source = self.source[first:last]
        known = np.flatnonzero(source >= 0)
        block = self.matrix[source[known]]
        if isinstance(block, np.ndarray):
            block = compress(block)
        columns = self.places[block.indices]
        kept = columns >= 0
        ends = ends_of(kept)[block.indptr]
        stored = block.data[kept], columns[kept].astype(np.int32), row_ends(np.diff(ends))
        moved = sparse.csr_array(stored, shape=(len(known), len(self.places) or 1))
        moved.has_sorted_indices = False
        moved.sort_indices()
        lengths = np.zeros(len(source), np.int64)
        lengths[known] = np.diff(moved.indptr)
        starts = np.cumsum(lengths) - lengths
        return Rows(starts, lengths, moved.indices.astype(np.int32, copy=False), moved.data)

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


def _dense_rows(matrix: Matrix, rows: slice | NDArray[np.int64]) -> NDArray[Any]:
    block: Any = matrix[rows]
    return block if isinstance(block, np.ndarray) else block.toarray()


DENSE_COUNTS_SHARE = 0.5
"""The share of pairs that occur from which on counts are stored dense. Then that takes less memory
than sparse counts, which store a column with each count."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of ordered pairs: unsigned integers that never overflow.

    Equal counts have the same form, for any threads, chunks or sums of parts: 32 bits per entry if
    the largest fits and otherwise 64; dense if at least half of all pairs occur and otherwise
    sparse (rows sorted, no zeros stored). The sum of all counts stays below 2⁶³, so that no partial
    sum overflows.

    >>> PairCounts.from_matrix([[0, 2], [2, 1]]).total
    5
    """

    matrix: NDArray[Any] | sparse.csr_array
    """The counts: a read-only array, or a CSR matrix in canonical form."""

    @classmethod
    def from_matrix(cls, matrix: Any, *, symmetric: bool = True) -> PairCounts:
        """Return a dense or SciPy sparse matrix as pair counts, after checking its values.

        It must be symmetric, unless `symmetric` is False.
        """
        values = matrix.data if sparse.issparse(matrix) else (matrix := np.asarray(matrix))
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise CountError(f"Pair counts must be a square matrix, not one of {matrix.shape}.")
        if values.dtype.kind == "b" or values.dtype.kind not in "iuf":
            raise CountError(f"Pair counts must be integers, not {values.dtype}.")
        if values.dtype.kind == "f" and not (
            np.all(np.isfinite(values)) and np.all(values == np.floor(values))
        ):
            raise CountError("Pair counts must be whole numbers; scale or round these first.")
        if values.size and values.min() < 0:
            raise CountError(f"Pair counts can't be negative; the smallest here is {values.min()}.")
        if values.size and values.max() >= 2.0**63:
            raise CountError(f"Pair counts must stay below 2^63; the largest is {values.max()}.")
        if sparse.issparse(matrix):
            rows = sparse.csr_array(matrix, dtype=np.uint64)
            rows.sum_duplicates()
            differs = symmetric and (rows != rows.T.tocsr()).nnz > 0
            counts = cls.from_exact(rows)
        else:
            differs = symmetric and not np.array_equal(matrix, matrix.T)
            counts = cls.from_exact(matrix.astype(np.uint64))
        if differs:
            raise CountError(
                "Pair counts must be symmetric; add the matrix to its transpose, or say that it is "
                "directed."
            )
        return counts

    @classmethod
    def from_exact(cls, matrix: NDArray[Any] | sparse.csr_array) -> PairCounts:
        """Return a square matrix of unsigned integers as pair counts; it may be modified."""
        stored, largest, total = _survey(_values(matrix))
        if not isinstance(matrix, np.ndarray):
            if stored < matrix.nnz:
                matrix.eliminate_zeros()
            if not matrix.has_sorted_indices:
                matrix.sort_indices()
        if total >= 2**63:
            raise too_large()
        size = matrix.shape[0]
        dtype = np.dtype(np.uint32 if largest < 2**32 else np.uint64)
        dense = stored >= DENSE_COUNTS_SHARE * size * size
        if dense and not isinstance(matrix, np.ndarray):
            matrix = expand(matrix.astype(dtype, copy=False))
        elif not dense and isinstance(matrix, np.ndarray):
            matrix = compress(matrix.astype(dtype, copy=False))
        matrix = matrix.astype(dtype, copy=False)
        for array in (matrix,) if isinstance(matrix, np.ndarray) else _arrays(matrix):
            array.setflags(write=False)
        return cls(matrix)

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], name: str, size: int) -> PairCounts:
        """Return counts of `size` words from the arrays that `arrays` returned, checked."""
        matrix: Any = arrays.get(name)
        if matrix is None:
            matrix = csr_matrix(arrays, name, size)
        elif matrix.shape != (size, size):
            raise ValueError(f"{size:,} words don't fit pairs of {matrix.shape}")
        if matrix.dtype not in (np.uint32, np.uint64):
            raise ValueError(f"pairs of {matrix.dtype}")
        return cls.from_exact(matrix)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that `read` takes, whose names begin with `name`."""
        if isinstance(self.matrix, np.ndarray):
            return {name: self.matrix}
        return csr_arrays(self.matrix, name)

    @property
    def is_dense(self) -> bool:
        """Whether the counts are stored as a dense array."""
        return isinstance(self.matrix, np.ndarray)

    @property
    def shape(self) -> tuple[int, int]:
        """The vocabulary size, twice."""
        size = int(self.matrix.shape[0])
        return size, size

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a count: uint32, or uint64 if the largest needs it."""
        return self.matrix.dtype

    @cached_property
    def total(self) -> int:
        """The sum of all counts, exactly."""
        return int(_values(self.matrix).sum(dtype=np.uint64))

    @cached_property
    def row_sums(self) -> NDArray[np.uint64]:
        """The sum of each row."""
        if isinstance(self.matrix, np.ndarray):
            return np.sum(self.matrix, axis=1, dtype=np.uint64)
        return row_sums(self.matrix)

    @cached_property
    def column_sums(self) -> NDArray[np.uint64]:
        """The sum of each column."""
        if not isinstance(self.matrix, np.ndarray):
            return column_sums(self.matrix)
        sums = np.zeros(self.shape[0], np.uint64)
        for rows in row_blocks(self.matrix):
            sums += self.matrix[rows].sum(axis=0, dtype=np.uint64)
        return sums

    @cached_property
    def nnz(self) -> int:
        """The number of ordered pairs that occur."""
        if isinstance(self.matrix, np.ndarray):
            return int(np.count_nonzero(self.matrix))
        return int(self.matrix.nnz)

    @property
    def nbytes(self) -> int:
        """The memory that the counts take, in bytes."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix.nbytes
        return sum(array.nbytes for array in _arrays(self.matrix))

    def __getitem__(self, pair: tuple[int, int]) -> int:
        i, j = pair
        return int(self.matrix[i, j])

    def row(self, i: int) -> NDArray[Any]:
        """Return row i as an array."""
        row = self.matrix[i]
        return row if isinstance(row, np.ndarray) else row.toarray()

    def column(self, j: int) -> NDArray[Any]:
        """Return column j as an array."""
        matrix = self.matrix
        if isinstance(matrix, np.ndarray):
            return matrix[:, j]
        found = np.zeros(self.shape[0], self.dtype)
        entries = np.flatnonzero(matrix.indices == j)
        found[np.searchsorted(matrix.indptr, entries, side="right") - 1] = matrix.data[entries]
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PairCounts):
            return NotImplemented
        if self.shape != other.shape or self.dtype != other.dtype:
            return False
        if isinstance(self.matrix, np.ndarray) or isinstance(other.matrix, np.ndarray):
            return self.is_dense and other.is_dense and np.array_equal(self.matrix, other.matrix)
        return all(map(np.array_equal, _arrays(self.matrix), _arrays(other.matrix)))

    __hash__ = None  # type: ignore[assignment]

    def __array__(
        self, dtype: np.dtype[Any] | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        array = self.toarray()
        if copy and array is self.matrix:
            array = array.copy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def __repr__(self) -> str:
        form = "dense" if self.is_dense else "sparse"
        size, _ = self.shape
        return f"PairCounts({size:,} × {size:,}, {self.nnz:,} pairs, {form} {self.dtype})"

    def toarray(self) -> NDArray[Any]:
        """Return the counts as a dense array."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix
        size, _ = self.shape
        require_memory(
            size * size * self.dtype.itemsize,
            f"A dense {size:,} × {size:,} matrix",
            "keep the counts sparse with tocsr(), or restrict the vocabulary",
        )
        return self.matrix.toarray()

    def tocsr(self) -> sparse.csr_array:
        """Return the counts as a SciPy CSR matrix."""
        if isinstance(self.matrix, np.ndarray):
            return compress(self.matrix)
        return self.matrix

    def restrict(self, size: int) -> PairCounts:
        """Return the counts among the first `size` words."""
        return self if size == self.shape[0] else self.from_exact(self.matrix[:size, :size].copy())

    def reindex(self, places: NDArray[np.int64], size: int) -> PairCounts:
        """Return the counts with word i at index ``places[i]`` of `size`; −1 leaves it out."""
        return self.sum([self], [places], size)

    @classmethod
    def sum(
        cls,
        parts: Sequence[PairCounts],
        places: Sequence[NDArray[np.int64] | None] | None = None,
        size: int | None = None,
    ) -> PairCounts:
        """Return the sum of counts, computed one block of rows at a time.

        Parameters
        ----------
        parts
            The counts, at least one; they may be memory maps.
        places
            For each part, the new index of each word as in `reindex`, or None if all stay.
        size
            The number of words of the sum; by default that of the first part.
        """
        size = parts[0].shape[0] if size is None else size
        if sum(part.total for part in parts) >= 2**63:
            raise too_large()
        summands = [
            _Reordered.of(part.matrix, place, size)
            for part, place in zip(parts, places or [None] * len(parts), strict=True)
        ]

        def rows_of(first: int, last: int) -> Rows:
            return reduce(add, (each.rows(first, last) for each in summands))

        if not any(part.nnz >= DENSE_COUNTS_SHARE * size * size for part in parts) or not size:
            lengths = np.sum([each.lengths for each in summands], axis=0)
            return cls.from_exact(join_rows(rows_of, lengths, size))
        small = sum(part._largest for part in parts) < 2**32
        total = np.zeros((size, size), np.uint32 if small else np.uint64)

        def work(rows: slice) -> None:
            for each in summands:
                each.add_to(total, rows)

        for_each(work, row_blocks(total))
        return cls.from_exact(total)

    def symmetrized(self) -> PairCounts:
        """Return the sum of these counts and their transpose."""
        if 2 * self.total >= 2**63:
            raise too_large()
        if not isinstance(self.matrix, np.ndarray):
            return self.from_exact(symmetrize(self.matrix))
        total = self.matrix.astype(np.uint32 if 2 * self._largest < 2**32 else np.uint64)
        add_transpose(total)
        return self.from_exact(total)

    def __add__(self, other: PairCounts) -> PairCounts:
        self._require_shape_of(other)
        return self.sum([self, other])

    def __sub__(self, other: PairCounts) -> PairCounts:
        self._require_shape_of(other)
        whole, part = self.matrix, other.matrix
        if not isinstance(whole, np.ndarray):

            def rest_of(first: int, last: int) -> Rows:
                return Rows.of(whole, first, last) - Rows.of(part, first, last)

            return self.from_exact(join_rows(rest_of, lengths_of(whole), whole.shape[1]))
        rest = np.empty_like(whole)

        def subtract(rows: slice) -> None:
            block = _dense_rows(part, rows)
            if np.any(block > whole[rows]):
                raise not_a_part()
            np.subtract(whole[rows], block, out=rest[rows], casting="unsafe")

        for_each(subtract, row_blocks(whole))
        return self.from_exact(rest)

    def __mul__(self, times: int) -> PairCounts:
        require_whole("times", times, least=0)
        if self.total * times >= 2**63:
            raise too_large()
        return self.from_exact(self.matrix.astype(np.uint64) * np.uint64(times))

    @cached_property
    def _largest(self) -> int:
        return int(_values(self.matrix).max(initial=0))

    def _require_shape_of(self, other: PairCounts) -> None:
        if self.shape != other.shape:
            raise CountError(f"Counts of {self.shape} and {other.shape} don't fit together.")


def _survey(values: NDArray[Any]) -> tuple[int, int, int]:
    """Return the number of nonzero values, the largest value and the exact sum."""

    def look(rows: slice) -> tuple[int, int, int]:
        block = values[rows]
        largest = int(block.max(initial=0))
        if largest < 2**32:
            total = int(block.sum(dtype=np.uint64))
        else:  # sum the low and high 32 bits separately, so that nothing overflows
            low, high = block & np.uint64(2**32 - 1), block >> np.uint64(32)
            total = int(low.sum()) + (int(high.sum()) << 32)
        return int(np.count_nonzero(block)), largest, total

    found = list(in_order(look, row_blocks(values), thread_count()))
    stored, largest, totals = zip(*found, strict=True) if found else ((0,), (0,), (0,))
    return sum(stored), max(largest), sum(totals)


def _values(matrix: Matrix) -> NDArray[Any]:
    return matrix if isinstance(matrix, np.ndarray) else matrix.data


def _arrays(matrix: sparse.csr_array) -> tuple[NDArray[Any], ...]:
    return matrix.indptr, matrix.indices, matrix.data
