"""Sparse rows, in memory and on disk: add, subtract, transpose and reorder them."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.arrays import (
    ENTRIES,
    blocks,
    cut_for_threads,
    cut_to_size,
    ends_of,
    for_each,
    in_order,
    sorted_csr,
    stored_blocks,
)
from qwem._internal.resources import thread_count
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[Any] | sparse.csr_array


_TILE = 64


class Rows(NamedTuple):
    """Sparse rows, not necessarily contiguous: row r has `lengths[r]` entries from `starts[r]`."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def with_room(cls, rows: int, entries: int, dtype: np.dtype[Any]) -> Rows:
        """Return empty rows with room for `entries`; the room takes memory only as it is filled."""
        zeros = np.zeros((2, rows), np.int64)
        return cls(zeros[0], zeros[1], np.empty(entries, np.int32), np.empty(entries, dtype))

    @classmethod
    def of(cls, matrix: Matrix, first: int, last: int) -> Rows:
        """Return rows `first` to `last` of a matrix; rows of a sparse matrix are not copied."""
        if isinstance(matrix, np.ndarray):
            matrix = compress(np.ascontiguousarray(matrix[first:last]))
            first, last = 0, matrix.shape[0]
        indptr = matrix.indptr[first : last + 1].astype(np.int64)
        stored = slice(int(indptr[0]), int(indptr[-1]))
        starts = indptr[:-1] - indptr[0]
        return cls(starts, np.diff(indptr), matrix.indices[stored], matrix.data[stored])

    def __add__(self, other: Rows) -> Rows:  # type: ignore[override]
        """Return the sums of these rows and others, in a type that holds them."""
        from qwem.cooccurrence.kernels import merge_rows

        largest = sum(int(rows.values.max(initial=0)) for rows in (self, other))
        if largest >= 2**63:
            raise too_large()
        dtype = np.dtype(np.uint32 if largest < 2**32 else np.uint64)
        total = self.with_room(len(self.starts), self.size + other.size, dtype)
        merge_rows(*self, *other, 0, len(self.starts), *total)
        return total._without_room()

    def __sub__(self, part: Rows) -> Rows:
        """Return these rows less a part of them, without zeros."""
        from qwem.cooccurrence.kernels import subtract_rows

        rest = self.with_room(len(self.starts), self.size, self.values.dtype)
        if not subtract_rows(*self, *part, *rest):
            raise not_a_part()
        return rest._without_room()

    def _without_room(self) -> Rows:
        """Return the rows without the unused room after the last."""
        size = self.size
        return self._replace(columns=self.columns[:size], values=self.values[:size])

    @property
    def size(self) -> int:
        """The number of entries."""
        return int(self.lengths.sum())

    def tocsr(self, columns: int) -> sparse.csr_array:
        """Return contiguous rows as a CSR matrix."""
        indptr = row_ends(self.lengths)
        stored = self.columns[: indptr[-1]].astype(indptr.dtype, copy=False)
        return sorted_csr(self.values[: indptr[-1]], stored, indptr, columns)


def too_large() -> CountError:
    """Return the error for counts that don't fit in 63 bits."""
    return CountError("The sum of these counts would reach 2^63, beyond what they can hold.")


def not_a_part() -> CountError:
    """Return the error for counts that are larger than those they are subtracted from."""
    return CountError("The counts to subtract are not a part of these: some are larger.")


def lengths_of(matrix: Matrix) -> NDArray[np.int64]:
    """Return the number of stored entries of each row; all columns, if the matrix is dense."""
    if isinstance(matrix, np.ndarray):
        return np.full(len(matrix), matrix.shape[1], np.int64)
    return np.diff(matrix.indptr).astype(np.int64)


def row_ends(lengths: NDArray[Any]) -> NDArray[Any]:
    """Return the `indptr` of a CSR matrix, in the smallest type that SciPy accepts."""
    ends = ends_of(lengths)
    return ends.astype(np.int32 if ends[-1] < 2**31 else np.int64)


def compress(matrix: NDArray[Any]) -> sparse.csr_array:
    """Return a dense matrix as CSR; SciPy's own conversion takes several times as much."""
    from qwem.cooccurrence import kernels

    cuts = cut_for_threads(ends_of(lengths_of(matrix)))
    indptr = row_ends(entries_of(matrix))
    columns, values = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], matrix.dtype)
    places = indptr[:-1], indptr[1:]
    for_each(lambda rows: kernels.compress_rows(matrix, *rows, *places, columns, values), cuts)
    return sparse.csr_array((values, columns, indptr), shape=matrix.shape)


def entries_of(matrix: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of entries of each row of a dense matrix that are not zero."""
    from qwem.cooccurrence.kernels import count_entries

    lengths = np.zeros(len(matrix), np.int64)
    cuts = cut_for_threads(ends_of(lengths_of(matrix)))
    for_each(lambda rows: count_entries(matrix, *rows, lengths), cuts)
    return lengths


def expand(matrix: sparse.csr_array) -> NDArray[Any]:
    """Return a CSR matrix as dense, on several threads."""
    dense = np.empty(matrix.shape, matrix.dtype)

    def work(rows: tuple[int, int]) -> None:
        ends = matrix.indptr[rows[0] : rows[1] + 1]
        stored, block = slice(ends[0], ends[-1]), dense[slice(*rows)]
        some = matrix.data[stored], matrix.indices[stored], ends - ends[0]
        sparse.csr_array(some, shape=block.shape).toarray(out=block)

    for_each(work, cut_for_threads(matrix.indptr))
    return dense


def join_rows(
    work: Callable[[int, int], Rows], lengths: NDArray[Any], columns: int
) -> sparse.csr_array:
    """Return the matrix of the rows that `work` returns for blocks (first row, row after last).

    `lengths` are the approximate numbers of entries of all rows. Blocks are freed as they are
    copied, so that the result is in memory only once.
    """
    cuts = cut_for_threads(ends_of(lengths))
    parts = dict(enumerate(in_order(lambda block: work(*block), cuts, thread_count())))
    ends = ends_of([part.size for part in parts.values()])
    indptr = row_ends(np.concatenate([part.lengths for part in parts.values()]))
    dtype = np.result_type(*(part.values.dtype for part in parts.values()), np.uint32)
    found, values = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], dtype)

    def copy(number: int) -> None:
        part, place = parts.pop(number), slice(ends[number], ends[number + 1])
        found[place], values[place] = part.columns[: part.size], part.values[: part.size]

    for_each(copy, range(len(cuts)))
    return sorted_csr(values, found, indptr, columns)


def transposed_rows(matrix: sparse.csr_array, ends: NDArray[Any], first: int, last: int) -> Rows:
    """Return the columns `first` to `last` of a matrix as rows.

    Column j has ``ends[j + 1] - ends[j]`` entries.
    """
    from qwem.cooccurrence.kernels import gather_columns

    starts, lengths = ends[first:last] - ends[first], np.diff(ends[first : last + 1])
    entries = int(ends[last] - ends[first])
    rows = Rows(starts, lengths, np.empty(entries, np.int32), np.empty(entries, matrix.dtype))
    stored = matrix.indptr, matrix.indices, matrix.data
    gather_columns(*stored, first, last, starts.copy(), rows.columns, rows.values)
    return rows


def column_ends(matrix: sparse.csr_array) -> NDArray[np.int64]:
    """Return the `indptr` that the columns would have in CSC form."""
    lengths = np.zeros(matrix.shape[1], np.int64)
    for some in blocks(matrix.nnz):  # NumPy would convert all indices to wider ones at once
        lengths += np.bincount(matrix.indices[some], minlength=len(lengths))
    return ends_of(lengths)


def transpose(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the transpose of a matrix."""
    from qwem.cooccurrence.kernels import gather_columns

    ends = column_ends(matrix)
    indptr = row_ends(np.diff(ends))
    columns, values = np.empty(matrix.nnz, indptr.dtype), np.empty(matrix.nnz, matrix.dtype)

    def work(block: tuple[int, int]) -> None:
        first, last = block
        stored, free = slice(ends[first], ends[last]), ends[first:last] - ends[first]
        found = free, columns[stored], values[stored]
        gather_columns(matrix.indptr, matrix.indices, matrix.data, first, last, *found)

    for_each(work, cut_for_threads(ends))
    return sorted_csr(values, columns, indptr, matrix.shape[0])


def symmetrize(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the sum of a square matrix and its transpose."""
    ends = column_ends(matrix)

    def work(first: int, last: int) -> Rows:
        return Rows.of(matrix, first, last) + transposed_rows(matrix, ends, first, last)

    return join_rows(work, np.diff(ends + matrix.indptr), matrix.shape[1])


def row_sums(matrix: sparse.csr_array) -> NDArray[np.uint64]:
    """Return the sum of each row."""
    indptr, sums = matrix.indptr, np.zeros(matrix.shape[0], np.uint64)

    def work(rows: slice) -> None:
        ends = indptr[rows.start : rows.stop + 1]
        filled = np.flatnonzero(np.diff(ends))
        if filled.size:
            stored = matrix.data[ends[0] : ends[-1]].astype(np.uint64)
            sums[rows][filled] = np.add.reduceat(stored, ends[filled] - ends[0])

    for_each(work, stored_blocks(indptr))
    return sums


def column_sums(matrix: sparse.csr_array) -> NDArray[np.uint64]:
    """Return the sum of each column."""
    sums = np.zeros(matrix.shape[1], np.uint64)
    for some in blocks(matrix.nnz):
        np.add.at(sums, matrix.indices[some], matrix.data[some].astype(np.uint64))
    return sums


def gather_rows(
    parts: list[tuple[sparse.csr_array, NDArray[np.int64], NDArray[np.int64]]],
    count: int,
    dtype: Any,
) -> sparse.csr_array:
    """Return a matrix of `count` rows that has rows of several matrices at given places.

    A part is a matrix, the rows of it to copy, and their places. `parts` is emptied, and matrices
    that nobody else needs are freed as they are copied.
    """
    from qwem.cooccurrence import kernels

    lengths = np.zeros(count, np.int64)
    for matrix, rows, places in parts:
        lengths[places] = lengths_of(matrix)[rows]
    ends = row_ends(lengths)
    pieces: dict[int, tuple[Any, ...]] = {}
    for matrix, rows, places in parts:
        stored = matrix.indptr, matrix.indices, matrix.data, rows
        for some in cut_to_size(ends_of(lengths[places]), ENTRIES):
            pieces[len(pieces)] = (*stored, *some, ends[places])
    size = matrix.shape[1]
    del matrix, stored
    parts.clear()

    columns, values = np.empty(ends[-1], ends.dtype), np.empty(ends[-1], dtype)
    for_each(
        lambda number: kernels.copy_rows(*pieces.pop(number), columns, values),
        range(len(pieces)),
    )
    return sorted_csr(values, columns, ends, size)


def add_transpose(matrix: NDArray[Any]) -> None:
    """Replace a dense matrix C by C + Cᵀ; its type must be able to hold the sums."""
    from qwem.cooccurrence import kernels

    size = len(matrix)

    def work(first: int) -> None:
        kernels.add_transpose(matrix, first, min(size, first + _TILE), _TILE)

    for_each(work, range(0, size, _TILE))


def assemble(head: NDArray[Any], below: Rows, channels: tuple[int, int, int]) -> sparse.csr_array:
    """Return the matrix of one slot, whose first rows and columns are `head`.

    `below` has the other rows, up to the diagonal, with a column for each word and channel.
    `channels` is the number of channels, the channel whose entries belong to their own row, and the
    channel whose entries belong to the row of their column (the same if the matrix is symmetric). A
    row of the result is the row of `head` or `below`, followed by the column of `below`, so nothing
    needs sorting or merging.
    """
    from qwem.cooccurrence import kernels

    first, size = len(head), len(head) + len(below.starts)
    width, after, before = channels
    cuts = cut_for_threads(ends_of(below.lengths), 4 * thread_count())
    found = np.zeros((len(cuts), size), np.int64)
    own = np.zeros(len(below.starts), np.int64)
    for_each(
        lambda k: kernels.count_channel(
            *below[:3], width, first, after, before, *cuts[k], own, found[k]
        ),
        range(len(cuts)),
    )
    transposed = found.sum(axis=0)
    own = np.concatenate((entries_of(head), own))
    indptr = row_ends(own + transposed)
    free = indptr[:-1] + own
    result = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], head.dtype)
    for_each(
        lambda rows: kernels.compress_rows(head, *rows, indptr[:-1], free, *result),
        cut_for_threads(ends_of(lengths_of(head))),
    )
    for_each(
        lambda rows: kernels.place_rows(*below, width, first, after, *rows, indptr, *result), cuts
    )
    for_each(
        lambda columns: kernels.place_columns(
            *below, width, first, before, *columns, free, *result
        ),
        cut_for_threads(ends_of(transposed)),
    )
    columns, values = result
    return sorted_csr(values, columns, indptr, size)


_SIMILAR = 1.5  # two sums are added if the first is at most this many times as large


class RowWriter:
    """Writes rows to disk in order, block by block."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtypes = (np.dtype(np.int32), dtype)
        self._files = tuple(tempfile.TemporaryFile() for _ in self._dtypes)  # noqa: SIM115
        self._lengths: list[NDArray[np.int64]] = []

    def append(self, block: Rows) -> None:
        """Write a block of rows, whose entries need not be contiguous."""
        filled = np.flatnonzero(block.lengths)
        starts, stops = block.starts[filled], (block.starts + block.lengths)[filled]
        breaks = np.flatnonzero(starts[1:] != stops[:-1]) + 1
        firsts = starts[np.concatenate(([0], breaks))] if filled.size else starts
        lasts = stops[np.concatenate((breaks - 1, [-1]))] if filled.size else stops
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            for file, entries in zip(self._files, (block.columns, block.values), strict=True):
                file.write(entries[first:last].data)
        self._lengths.append(block.lengths.copy())

    def finish(self) -> Rows:
        """Return all rows, for reading."""
        lengths = np.concatenate(self._lengths) if self._lengths else np.zeros(0, np.int64)
        ends = np.cumsum(lengths)
        entries = int(ends[-1]) if len(ends) else 0
        arrays = []
        for file, dtype in zip(self._files, self._dtypes, strict=True):
            file.flush()
            mapped = np.memmap(file, dtype, "r", shape=entries) if entries else np.empty(0, dtype)
            arrays.append(mapped.view(np.ndarray))
            file.close()
        return Rows(ends - lengths, lengths, arrays[0], arrays[1])


class DiskRows:
    """The sum of the rows of several chunks, on disk.

    The last two sums are added whenever they are of similar size. So an entry is rewritten about
    log₂(number of chunks) times.
    """

    def __init__(self, rows: int, dtype: np.dtype[Any], buffer_entries: int) -> None:
        self._rows = rows
        self._dtype = dtype
        self._buffer_entries = buffer_entries
        self._sums: list[Rows] = []

    def add(self, rows: Rows) -> None:
        """Add the rows of the next chunk."""
        self._sums.append(rows)
        sizes = [len(rows.columns) for rows in self._sums]
        while len(sizes) > 1 and sizes[-2] <= _SIMILAR * sizes[-1]:
            self._merge_last_two()
            sizes = [len(rows.columns) for rows in self._sums]

    def total(self) -> Rows:
        """Return the sum of all chunks."""
        while len(self._sums) > 1:
            self._merge_last_two()
        return self._sums[0] if self._sums else Rows.with_room(self._rows, 0, self._dtype)

    def _merge_last_two(self) -> None:
        from qwem.cooccurrence.kernels import merge_rows

        second, first = self._sums.pop(), self._sums.pop()
        writer = RowWriter(self._dtype)
        most = first.lengths + second.lengths
        for start, stop in cut_to_size(ends_of(most), self._buffer_entries):
            block = Rows.with_room(stop - start, int(most[start:stop].sum()), self._dtype)
            merge_rows(*first, *second, start, stop, *block)
            writer.append(block)
        self._sums.append(writer.finish())


def most_entries(chunks: int, per_chunk: float, total: float) -> float:
    """Return the largest number of entries that are on disk at once while rows are added up.

    The sum of k chunks has at most k times the entries of one chunk, and at most those of the
    result.

    >>> most_entries(chunks=3, per_chunk=10, total=25)  # 20 and 10 are added up to 25
    55.0
    """

    def entries(chunks: int) -> float:
        return float(min(chunks * per_chunk, total))

    most = 0.0
    sums: list[int] = []
    for number in range(1, chunks + 1):
        sums.append(1)
        most = max(most, sum(map(entries, sums)))
        while len(sums) > 1 and (
            number == chunks or entries(sums[-2]) <= _SIMILAR * entries(sums[-1])
        ):
            before = sum(map(entries, sums))
            sums.append(sums.pop() + sums.pop())
            most = max(most, before + entries(sums[-1]))
    return most
