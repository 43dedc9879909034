"""Chunks of text laid out for counting, in memory that each chunk uses again.

Memory that was just freed and asked for again is new to the system, which clears it first. On large
text that would take longer than to fill it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.blocks import even_cuts
from qwem._internal.mapped import release

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from qwem.corpus import Corpus


class Chunk(NamedTuple):
    """A part of the corpus laid out for counting; see `qwem.cooccurrence.kernels`.

    Its arrays are overwritten when the next chunk is laid out.
    """

    stream: NDArray[Any]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """Word w's positions are ``positions[starts[w]:starts[w + 1]]``."""


class Layout:
    """What lays chunks out, with a number of threads."""

    def __init__(
        self,
        words: int,
        window: int,
        limits: NDArray[np.uint64],
        pool: ThreadPoolExecutor,
        threads: int,
    ) -> None:
        self._words = words
        self._window = window
        self._limits = limits
        self._pool = pool
        self._threads = threads
        self._memory: dict[str, NDArray[Any]] = {}

    def lay_out(self, corpus: Corpus, start: int, stop: int, key: np.uint64) -> Chunk:
        """Lay out the tokens from `start` to `stop`; `key` decides which frequent words stay."""
        from qwem.cooccurrence import kernels

        window, threads = self._window, range(self._threads)
        text = corpus.tokens, corpus.offsets
        common = self._words, window, self._limits, key, corpus.first_document
        cuts = even_cuts(start, stop, self._threads)
        parts = list(pairwise(cuts))
        # Each part has room for all its tokens and the gaps after its documents.
        gaps = np.diff(np.searchsorted(corpus.offsets, cuts, side="right"))
        room = window + np.concatenate(([0], np.cumsum(np.diff(cuts) + window * gaps)))
        stream = self.memory("stream", int(room[-1]) + window, corpus.tokens.dtype)
        found = np.zeros((self._threads, self._words + 1), np.int64)
        written = self._pool.map(
            lambda k: kernels.fill_stream(*text, *parts[k], *common, found[k], stream, room[k]),
            threads,
        )
        lengths = np.array(list(written)) - room[:-1]
        ends = window + np.concatenate(([0], np.cumsum(lengths)))
        for k in threads[1:]:
            kernels.move_left(stream, room[k], ends[k], lengths[k])
        stream = stream[: ends[-1] + window]
        kernels.fill_margins(*text, start, stop, *common, stream)
        release(corpus.tokens[start:stop])

        ranges = list(pairwise(ends))
        per_part = found[:, : self._words]
        starts = np.concatenate(([0], np.cumsum(per_part.sum(axis=0))))
        free = starts[:-1] + np.cumsum(per_part, axis=0) - per_part
        positions = self.memory("positions", int(starts[-1]), np.dtype(np.uint32))
        list(
            self._pool.map(
                lambda k: kernels.index_positions(stream, *ranges[k], free[k], positions), threads
            )
        )
        return Chunk(stream, positions, starts)

    def memory(self, name: str, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of this size, in the memory that had this name before if it is enough."""
        found = self._memory.get(name)
        if found is None or found.size < size or found.dtype != dtype:
            self._memory.pop(name, None)
            self._memory[name] = found = np.empty(size, dtype)
        return found[:size]
