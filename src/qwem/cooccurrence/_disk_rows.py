"""Sparse rows on disk: the counts of one or more chunks, where memory is short.

Rows are written once, front to back, and read through a memory map. Their files have no name, so
that nothing is left behind however the process ends.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import cut_evenly
from qwem.cooccurrence._rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_SIMILAR = 1.5  # how many times as large as the next those are that are added to it


class RowWriter:
    """Writes rows to disk in order, a block of them at a time."""

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
    """The rows of several chunks, added two at a time whenever the last two are of similar size.

    Each entry is thus rewritten about as often as the number of chunks can be halved.
    """

    def __init__(self, rows: int, dtype: np.dtype[Any], buffer_entries: int) -> None:
        self._rows = rows
        self._dtype = dtype
        self._buffer_entries = buffer_entries
        self._parts: list[Rows] = []

    def add(self, rows: Rows) -> None:
        """Take the rows of the next chunk, and add up what is due."""
        self._parts.append(rows)
        sizes = [len(rows.columns) for rows in self._parts]
        while len(sizes) > 1 and sizes[-2] <= _SIMILAR * sizes[-1]:
            self._merge_last_two()
            sizes = [len(rows.columns) for rows in self._parts]

    def total(self) -> Rows:
        """Return the sum of all."""
        while len(self._parts) > 1:
            self._merge_last_two()
        return self._parts[0] if self._parts else Rows.with_room(self._rows, 0, self._dtype)

    def _merge_last_two(self) -> None:
        from qwem.cooccurrence._row_kernels import merge_rows

        second, first = self._parts.pop(), self._parts.pop()
        writer = RowWriter(self._dtype)
        most = first.lengths + second.lengths
        for start, stop in row_blocks(most, self._buffer_entries):
            block = Rows.with_room(stop - start, int(most[start:stop].sum()), self._dtype)
            merge_rows(*first, *second, start, stop, *block)
            writer.append(block)
        self._parts.append(writer.finish())


def most_entries(chunks: int, per_chunk: float, total: float) -> float:
    """Return how many entries are on disk at a time, at most, while rows are added up.

    The sum of k chunks has at most k times the entries of one chunk, and at most those of the
    result.

    >>> most_entries(chunks=3, per_chunk=10, total=25)  # 20 and 10 are added up to 25
    55.0
    """

    def entries(chunks: int) -> float:
        return float(min(chunks * per_chunk, total))

    most = 0.0
    parts: list[int] = []
    for number in range(1, chunks + 1):
        parts.append(1)
        most = max(most, sum(map(entries, parts)))
        while len(parts) > 1 and (
            number == chunks or entries(parts[-2]) <= _SIMILAR * entries(parts[-1])
        ):
            before = sum(map(entries, parts))
            parts.append(parts.pop() + parts.pop())
            most = max(most, before + entries(parts[-1]))
    return most


def row_blocks(most: NDArray[np.int64], buffer_entries: int) -> Iterator[tuple[int, int]]:
    """Yield blocks (first row, row after the last) of about `buffer_entries` entries."""
    ends = np.concatenate(([0], np.cumsum(most)))
    yield from cut_evenly(ends, -(-int(ends[-1]) // max(1, buffer_entries)) or 1)
