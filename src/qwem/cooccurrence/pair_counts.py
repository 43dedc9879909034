"""A matrix of exact integer counts, dense or sparse inside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.arrays import blocks, check_csr
from qwem._internal.resources import require_memory, thread_count
from qwem._internal.settings import require_whole
from qwem.cooccurrence._matrices import row_blocks, subtract_matrices, sum_matrices
from qwem.cooccurrence._rows import add_transpose, compress, symmetrize, too_large
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


DENSE_COUNTS_SHARE = 0.25
"""The share of pairs that occur from which counts are dense: at most twice the memory of sparse
ones (which store a column beside each count), and much faster to count into and to compute with."""


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Counts of ordered pairs: unsigned integers that never wrap.

    However a count came about (threads, chunks, sums of parts), equal counts have the same form:
    32 bits per entry where the largest fits and 64 where it doesn't, dense from a quarter of all
    pairs on and sparse (rows sorted, no zeros stored) below. The sum of all stays below 2⁶³, so
    that no sum of some of them wraps.

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
    def from_exact(cls, matrix: NDArray[Any] | sparse.csr_array) -> PairCounts:
        """Take a square matrix of unsigned integers, which the caller gives up."""
        threads = thread_count()
        if isinstance(matrix, np.ndarray):
            stored, largest, total = _survey(matrix, threads)
        else:
            stored, largest, total = _survey(matrix.data, threads)
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
            matrix = matrix.astype(dtype, copy=False).toarray()
        elif not dense and isinstance(matrix, np.ndarray):
            matrix = compress(matrix.astype(dtype, copy=False), threads)
        matrix = matrix.astype(dtype, copy=False)
        for array in (matrix,) if isinstance(matrix, np.ndarray) else _arrays(matrix):
            array.setflags(write=False)
        return cls(matrix)

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]], name: str, size: int) -> PairCounts:
        """Return counts of `size` words from what `arrays` gave, after checking it."""
        matrix: Any = arrays.get(name)
        if matrix is None:
            parts = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
            data, indices, indptr = parts
            check_csr(data, indices, indptr, size)
            matrix = sparse.csr_array((data, indices, indptr), shape=(size, size))
            matrix.has_canonical_format = True
        elif matrix.shape != (size, size):
            raise ValueError(f"{size:,} words don't fit pairs of {matrix.shape}")
        if matrix.dtype not in (np.uint32, np.uint64):
            raise ValueError(f"pairs of {matrix.dtype}")
        return cls.from_exact(matrix)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that `read` takes, whose names begin with `name`."""
        if isinstance(self.matrix, np.ndarray):
            return {name: self.matrix}
        parts = zip(("indptr", "indices", "data"), _arrays(self.matrix), strict=True)
        return {f"{name}.{part}": array for part, array in parts}

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
        values = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.data
        return int(values.sum(dtype=np.uint64))

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
        if isinstance(self.matrix, np.ndarray):
            for rows in row_blocks(self.matrix):
                sums += self.matrix[rows].sum(axis=0, dtype=np.uint64)
            return sums
        for part in blocks(self.matrix.nnz):
            np.add.at(sums, self.matrix.indices[part], self.matrix.data[part].astype(np.uint64))
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
            return compress(self.matrix, thread_count())
        return self.matrix

    def restrict(self, size: int) -> PairCounts:
        """Return the counts among the first `size` words."""
        return self if size == self.shape[0] else self.from_exact(self.matrix[:size, :size].copy())

    def reindex(self, places: NDArray[np.int64], size: int) -> PairCounts:
        """Return the counts with word i at ``places[i]`` of `size` words; at −1 it is left out."""
        return self.sum([self], [places], size)

    @classmethod
    def sum(
        cls,
        parts: Sequence[PairCounts],
        places: Sequence[NDArray[np.int64] | None] | None = None,
        size: int | None = None,
    ) -> PairCounts:
        """Return the sum of counts, made a block of rows at a time.

        Parameters
        ----------
        parts
            The counts, at least one; they may be mapped from files.
        places
            For each part, the new place of each word as in `reindex`, or None where it stays.
        size
            The number of words of the sum; by default that of the first part.
        """
        threads = thread_count()
        size = parts[0].shape[0] if size is None else size
        if sum(part.total for part in parts) >= 2**63:
            raise too_large()
        dense = any(part.nnz >= DENSE_COUNTS_SHARE * size * size for part in parts)
        matrices = [part.matrix for part in parts]
        return cls.from_exact(sum_matrices(matrices, places, size, threads, dense=dense))

    def symmetrized(self) -> PairCounts:
        """Return the sum of these counts and their transpose."""
        threads = thread_count()
        if 2 * self.total >= 2**63:
            raise too_large()
        if not isinstance(self.matrix, np.ndarray):
            return self.from_exact(symmetrize(self.matrix, threads))
        total = self.matrix.astype(np.uint32 if 2 * self._largest < 2**32 else np.uint64)
        with ThreadPoolExecutor(threads) as pool:
            add_transpose(total, pool)
        return self.from_exact(total)

    def __add__(self, other: PairCounts) -> PairCounts:
        self._require_shape_of(other)
        return self.sum([self, other])

    def __sub__(self, other: PairCounts) -> PairCounts:
        self._require_shape_of(other)
        return self.from_exact(subtract_matrices(self.matrix, other.matrix, thread_count()))

    def __mul__(self, times: int) -> PairCounts:
        require_whole("times", times, least=0)
        if self.total * times >= 2**63:
            raise too_large()
        return self.from_exact(self.matrix.astype(np.uint64) * np.uint64(times))

    @cached_property
    def _largest(self) -> int:
        values = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.data
        return int(values.max(initial=0))

    def _require_shape_of(self, other: PairCounts) -> None:
        if self.shape != other.shape:
            raise CountError(f"Counts of {self.shape} and {other.shape} don't fit together.")


def _survey(values: NDArray[Any], threads: int) -> tuple[int, int, int]:
    """Return how many values are not zero, the largest, and the sum of all, exactly."""

    def look(rows: slice) -> tuple[int, int, int]:
        block = values[rows]
        largest = int(block.max(initial=0))
        if largest < 2**32:
            total = int(block.sum(dtype=np.uint64))
        else:  # in two halves, whose sums don't wrap
            low, high = block & np.uint64(2**32 - 1), block >> np.uint64(32)
            total = int(low.sum()) + (int(high.sum()) << 32)
        return int(np.count_nonzero(block)), largest, total

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(look, row_blocks(values)))
    stored, largest, totals = zip(*found, strict=True) if found else ((0,), (0,), (0,))
    return sum(stored), max(largest), sum(totals)


def _arrays(matrix: sparse.csr_array) -> tuple[NDArray[Any], ...]:
    return matrix.indptr, matrix.indices, matrix.data
