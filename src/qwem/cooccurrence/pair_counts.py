"""A matrix of exact integer counts, dense or sparse inside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.blocks import blocks
from qwem._internal.resources import require_memory, thread_count
from qwem.cooccurrence.csr import Rows, add_transpose, compress, row_ends, symmetrize
from qwem.errors import CountError

if TYPE_CHECKING:
    from numpy.typing import NDArray

DENSE_COUNTS_SHARE = 0.25
"""The share of pairs that occur from which counts are dense: at most twice the memory of sparse
ones (which store a column beside each count), and much faster to count into and to compute with."""

_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of ordered pairs: unsigned integers that never wrap.

    However a count came about (threads, chunks, sums of parts), equal counts have the same form:
    32 bits per entry where the largest fits and 64 where it doesn't, dense from a quarter of all
    pairs on and sparse (rows sorted, no zeros stored) below.

    >>> PairCounts.from_matrix([[0, 2], [2, 1]]).total
    5
    """

    matrix: NDArray[Any] | sparse.csr_array
    """The counts: a read-only array, or a CSR matrix in canonical form."""

    @classmethod
    def from_matrix(cls, matrix: Any, *, symmetric: bool = True) -> PairCounts:
        """Check that `matrix`, dense or SciPy sparse, is a matrix of pair counts and take it.

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
    def from_exact(
        cls, matrix: NDArray[Any] | sparse.csr_array, threads: int | None = None
    ) -> PairCounts:
        """Take a square matrix of unsigned integers, which the caller gives up."""
        threads = thread_count(threads)
        if isinstance(matrix, np.ndarray):
            stored, largest = _survey(matrix, threads)
        else:
            matrix.eliminate_zeros()
            matrix.sort_indices()
            stored = matrix.nnz
            largest = int(matrix.data.max(initial=0))
        size = matrix.shape[0]
        dtype = np.dtype(np.uint32 if largest < 2**32 else np.uint64)
        dense = stored >= DENSE_COUNTS_SHARE * size * size
        if dense and not isinstance(matrix, np.ndarray):
            matrix = matrix.astype(dtype, copy=False).toarray()
        elif not dense and isinstance(matrix, np.ndarray):
            matrix = compress(matrix.astype(dtype, copy=False), threads)
        matrix = matrix.astype(dtype, copy=False)
        for array in (matrix,) if isinstance(matrix, np.ndarray) else _arrays(matrix):
            array.setflags(write=False)
        return cls(matrix)

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
        """The type of a count: uint32, or uint64 where the largest needs it."""
        return self.matrix.dtype

    @cached_property
    def total(self) -> int:
        """The sum of all counts, exactly."""
        if isinstance(self.matrix, np.ndarray):
            return int(self.row_sums.sum())
        return int(self.matrix.data.sum(dtype=np.uint64))

    @cached_property
    def row_sums(self) -> NDArray[np.uint64]:
        """The sum of each word's counts."""
        if isinstance(self.matrix, np.ndarray):
            return np.sum(self.matrix, axis=1, dtype=np.uint64)
        sums = np.zeros(self.shape[0], np.uint64)
        starts, filled = self.matrix.indptr[:-1], np.diff(self.matrix.indptr) > 0
        if filled.any():
            sums[filled] = np.add.reduceat(self.matrix.data, starts[filled], dtype=np.uint64)
        return sums

    @cached_property
    def column_sums(self) -> NDArray[np.uint64]:
        """The sum of each column."""
        sums = np.zeros(self.shape[0], np.uint64)
        for rows in _row_blocks(self.matrix):
            block: Any = self.matrix[rows]
            if isinstance(block, np.ndarray):
                sums += block.sum(axis=0, dtype=np.uint64)
            else:
                np.add.at(sums, block.indices, block.data.astype(np.uint64))
        return sums

    @cached_property
    def nnz(self) -> int:
        """The number of ordered pairs that occur."""
        if isinstance(self.matrix, np.ndarray):
            return int(np.count_nonzero(self.matrix))
        return int(self.matrix.nnz)

    @property
    def nbytes(self) -> int:
        """The memory that the counts take."""
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
            return compress(self.matrix, thread_count(None))
        return self.matrix

    def restrict(self, size: int) -> PairCounts:
        """Return the counts among the first `size` words."""
        return self if size == self.shape[0] else self.from_exact(self.matrix[:size, :size].copy())

    def moved(self, place: NDArray[np.int64], size: int) -> PairCounts:
        """Return the counts with word i at ``place[i]`` among `size` words."""
        entries = self.tocsr().tocoo()
        moved = sparse.csr_array(
            (entries.data, (place[entries.row], place[entries.col])), shape=(size, size)
        )
        return self.from_exact(moved)

    def symmetrized(self, threads: int | None = None) -> PairCounts:
        """Return the sum of these counts and their transpose."""
        threads = thread_count(threads)
        if not isinstance(self.matrix, np.ndarray):
            dtype = _type_of_sum(self.matrix, self.matrix)
            return self.from_exact(symmetrize(self.matrix, dtype, threads), threads)
        total = self.matrix.astype(_type_of_sum(self.matrix, self.matrix))
        with ThreadPoolExecutor(threads) as pool:
            add_transpose(total, pool)
        return self.from_exact(total, threads)

    def __add__(self, other: PairCounts) -> PairCounts:
        """Return the sum; a smaller matrix is aligned with the leading words."""
        if self.is_dense or other.is_dense:
            return self.from_exact(_dense_sum(self.matrix, other.matrix))
        return self.from_exact(sparse_sum(self.matrix, other.matrix))

    def __sub__(self, other: PairCounts) -> PairCounts:
        if isinstance(self.matrix, np.ndarray) or isinstance(other.matrix, np.ndarray):
            whole, part = self.toarray(), other.toarray()
            contained = all(np.all(whole[rows] >= part[rows]) for rows in _row_blocks(whole))
            difference: Any = np.subtract(whole, part, dtype=whole.dtype) if contained else None
        else:
            signed = self.matrix.astype(np.int64) - other.matrix.astype(np.int64)
            contained = bool(np.all(signed.data >= 0))
            difference = signed.astype(np.uint64)
        if not contained:
            raise CountError("The counts to subtract are not a part of these: some are larger.")
        return self.from_exact(difference)


def _survey(matrix: NDArray[Any], threads: int) -> tuple[int, int]:
    """Return how many entries are not zero, and the largest."""

    def look(rows: slice) -> tuple[int, int]:
        block = matrix[rows]
        return int(np.count_nonzero(block)), int(block.max(initial=0))

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(look, _row_blocks(matrix)))
    return sum(stored for stored, _ in found), max((largest for _, largest in found), default=0)


def _dense_sum(*matrices: NDArray[Any] | sparse.csr_array) -> NDArray[Any]:
    """Return the sum of counts, a block of rows at a time: the only large array is the sum."""
    size = max(matrix.shape[0] for matrix in matrices)
    total = np.zeros((size, size), _type_of_sum(*matrices))
    for matrix in matrices:
        for rows in _row_blocks(matrix):
            block: Any = matrix[rows]
            block = block if isinstance(block, np.ndarray) else block.toarray()
            total[rows, : matrix.shape[0]] += block
    return total


def sparse_sum(first: sparse.csr_array, second: sparse.csr_array) -> sparse.csr_array:
    """Return the sum of sparse counts, several times as fast as SciPy, which needs uint64.

    The smaller matrix has the first rows and columns of the larger.
    """
    from qwem.cooccurrence.kernels import merge_rows

    rows, columns = (max(sizes) for sizes in zip(first.shape, second.shape, strict=True))
    total = Rows.with_room(rows, first.nnz + second.nnz, _type_of_sum(first, second))
    merge_rows(*_as_rows(first, rows), *_as_rows(second, rows), 0, rows, *total)
    indptr = row_ends(total.lengths)
    found = total.columns[: indptr[-1]].astype(indptr.dtype, copy=False)
    result = sparse.csr_array((total.values[: indptr[-1]], found, indptr), shape=(rows, columns))
    result.has_canonical_format = True
    return result


def _type_of_sum(*matrices: NDArray[Any] | sparse.csr_array) -> np.dtype[Any]:
    values = (m if isinstance(m, np.ndarray) else m.data for m in matrices)
    largest = sum(int(array.max(initial=0)) for array in values)
    return np.dtype(np.uint32 if largest < 2**32 else np.uint64)


def _as_rows(matrix: sparse.csr_array, size: int) -> Rows:
    """Return a matrix as so many rows, of which the last may be empty."""
    indptr = np.pad(matrix.indptr, (0, size - matrix.shape[0]), mode="edge")
    return Rows(indptr[:-1], np.diff(indptr), matrix.indices, matrix.data)


def _row_blocks(matrix: NDArray[Any] | sparse.csr_array) -> list[slice]:
    return blocks(*matrix.shape, most=_BLOCK_ENTRIES)


def _arrays(matrix: sparse.csr_array) -> tuple[NDArray[Any], ...]:
    return matrix.indptr, matrix.indices, matrix.data
