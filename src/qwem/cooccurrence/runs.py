"""Sorted runs on disk: the sparse rows of one or more chunks, where memory is short.

A run is written once, front to back, and read through a memory map. Its files have no name, so that
nothing is left behind however the process ends.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import cut_evenly
from qwem.cooccurrence._rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_SIMILAR = 1.5  # how many times as large as the next a run is that is merged with it


class RunWriter:
    """Writes the rows of a run in order, a group of rows at a time."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtypes = (np.dtype(np.int32), dtype)
        self._files = tuple(tempfile.TemporaryFile() for _ in self._dtypes)  # noqa: SIM115
        self._lengths: list[NDArray[np.int64]] = []

    def append(self, group: Rows) -> None:
        """Write all rows of a group; the entries of its rows need not be contiguous."""
        filled = np.flatnonzero(group.lengths)
        starts, stops = group.starts[filled], (group.starts + group.lengths)[filled]
        breaks = np.flatnonzero(starts[1:] != stops[:-1]) + 1
        firsts = starts[np.concatenate(([0], breaks))] if filled.size else starts
        lasts = stops[np.concatenate((breaks - 1, [-1]))] if filled.size else stops
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            for file, entries in zip(self._files, (group.columns, group.values), strict=True):
                file.write(entries[first:last].data)
        self._lengths.append(group.lengths.copy())

    def finish(self) -> Rows:
        """Return the run, for reading."""
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


class Runs:
    """Runs of growing size, merged two at a time whenever the last two are of similar size.

    Each entry is thus rewritten about as often as the number of chunks can be halved.
    """

    def __init__(self, rows: int, dtype: np.dtype[Any], buffer_entries: int) -> None:
        self._rows = rows
        self._dtype = dtype
        self._buffer_entries = buffer_entries
        self._runs: list[Rows] = []

    def add(self, run: Rows) -> None:
        """Take the next run, and merge what is due."""
        self._runs.append(run)
        sizes = [len(run.columns) for run in self._runs]
        while len(sizes) > 1 and sizes[-2] <= _SIMILAR * sizes[-1]:
            self._merge_last_two()
            sizes = [len(run.columns) for run in self._runs]

    def merged(self) -> Rows:
        """Return all runs as one."""
        while len(self._runs) > 1:
            self._merge_last_two()
        return self._runs[0] if self._runs else Rows.with_room(self._rows, 0, self._dtype)

    def _merge_last_two(self) -> None:
        from qwem.cooccurrence.kernels import merge_rows

        second, first = self._runs.pop(), self._runs.pop()
        writer = RunWriter(self._dtype)
        most = first.lengths + second.lengths
        for start, stop in row_groups(most, self._buffer_entries):
            group = Rows.with_room(stop - start, int(most[start:stop].sum()), self._dtype)
            merge_rows(*first, *second, start, stop, *group)
            writer.append(group)
        self._runs.append(writer.finish())


def most_entries(chunks: int, per_chunk: float, total: float) -> float:
    """Return how many entries runs have on disk at a time, at most, while they are merged.

    A run of k chunks has at most k times the entries of one chunk, and at most those of the result.

    >>> most_entries(chunks=3, per_chunk=10, total=25)  # 20 and 10 are merged to 25
    55.0
    """

    def entries(chunks: int) -> float:
        return float(min(chunks * per_chunk, total))

    most = 0.0
    runs: list[int] = []
    for number in range(1, chunks + 1):
        runs.append(1)
        most = max(most, sum(map(entries, runs)))
        while len(runs) > 1 and (
            number == chunks or entries(runs[-2]) <= _SIMILAR * entries(runs[-1])
        ):
            before = sum(map(entries, runs))
            runs.append(runs.pop() + runs.pop())
            most = max(most, before + entries(runs[-1]))
    return most


def row_groups(most: NDArray[np.int64], buffer_entries: int) -> Iterator[tuple[int, int]]:
    """Yield runs of rows with about `buffer_entries` entries, or one row where that has more."""
    ends = np.concatenate(([0], np.cumsum(most)))
    yield from cut_evenly(ends, -(-int(ends[-1]) // max(1, buffer_entries)) or 1)
