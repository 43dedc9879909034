"""Chunks of text laid out for counting, in memory that each chunk uses again.

Memory that was just freed and asked for again is new to the system, which clears it first. On large
text that would take longer than to fill it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import id_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray


class Chunk(NamedTuple):
    """A part of the text laid out for counting; see `qwem.cooccurrence.kernels`.

    Its arrays are overwritten when the next chunk is laid out.
    """

    stream: NDArray[Any]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """Word w's positions are ``positions[starts[w]:starts[w + 1]]``."""


class Part(NamedTuple):
    """A part of a chunk, which one thread lays out."""

    room: int
    """How many entries of a stream it takes at most."""
    fill: Callable[[NDArray[np.int64], NDArray[Any], int], int]
    """Adds to the counts of words, writes to a stream from a place on, returns where it ended."""


class Layout:
    """What lays chunks out: the number of words, their window, and threads."""

    def __init__(self, words: int, window: int, pool: ThreadPoolExecutor, threads: int) -> None:
        self.words = words
        self.window = window
        self.threads = threads
        self._pool = pool
        self._memory: dict[str, NDArray[Any]] = {}

    def lay_out(self, parts: Sequence[Part]) -> Chunk:
        """Lay out parts that follow each other, with a gap before the first and after the last."""
        from qwem.cooccurrence import kernels

        window, numbers = self.window, range(len(parts))
        room = window + np.cumsum([0, *(part.room for part in parts)])
        dtype = id_dtype(self.words + 1)  # a gap has the number after the last word's
        stream = self.memory("stream", int(room[-1]) + window, dtype)
        found = np.zeros((len(parts), self.words + 1), np.int64)
        ended = self.map(lambda k: parts[k].fill(found[k], stream, int(room[k])), numbers)
        lengths = np.array(ended, np.int64) - room[:-1]
        ends = window + np.concatenate(([0], np.cumsum(lengths)))
        for k in numbers[1:]:
            kernels.move_left(stream, room[k], ends[k], lengths[k])
        stream = stream[: ends[-1] + window]
        stream[:window] = stream[-window:] = self.words

        ranges = list(pairwise(ends))
        per_part = found[:, : self.words]
        starts = np.concatenate(([0], np.cumsum(per_part.sum(axis=0))))
        free = starts[:-1] + np.cumsum(per_part, axis=0) - per_part
        positions = self.memory("positions", int(starts[-1]), np.dtype(np.uint32))
        self.map(lambda k: kernels.index_positions(stream, *ranges[k], free[k], positions), numbers)
        return Chunk(stream, positions, starts)

    def map(self, work: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Return what `work` makes of each item, with all threads."""
        return list(self._pool.map(work, items))

    def memory(self, name: str, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of this size, in the memory that had this name before if it is enough."""
        found = self._memory.get(name)
        if found is None or found.size < size or found.dtype != dtype:
            self._memory.pop(name, None)
            self._memory[name] = found = np.empty(size, dtype)
        return found[:size]
