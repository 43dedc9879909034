"""Chunks of a corpus laid out for counting, in memory that each chunk uses again.

Memory that was just freed and asked for again is new to the system, which clears it first. On large
text that would take longer than to fill it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import blocks, even_cuts, id_dtype
from qwem._internal.files import release
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

    from qwem.corpus import Corpus


class Chunk(NamedTuple):
    """A part of the text laid out for counting; see `qwem.cooccurrence._counting_kernels`.

    Its arrays are overwritten when the next chunk is laid out.
    """

    stream: NDArray[Any]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """Word w's positions are ``positions[starts[w]:starts[w + 1]]``."""


class ChunkReader:
    """Lays out one chunk of a corpus after another, each by all threads."""

    def __init__(self, corpus: Corpus, window: int, pool: ThreadPoolExecutor, threads: int) -> None:
        self.corpus = corpus
        self.words = len(corpus.vocabulary)
        self.window = window
        self.threads = threads
        self._pool = pool
        self._memory: dict[str, NDArray[Any]] = {}

    def occurrences(self, chunk_tokens: int) -> NDArray[np.int64]:
        """Return how often each word occurs in the corpus."""
        from qwem.cooccurrence import _counting_kernels as kernels

        tokens = self.corpus.tokens
        found = np.zeros((self.threads, self.words + 1), np.int64)
        for block in blocks(len(tokens), most=chunk_tokens):
            if tokens[block].max() > self.words:  # the kernels don't check
                raise CountError(
                    "The corpus has ids of words it doesn't know; encode the text again."
                )
            cuts = even_cuts(block.start, block.stop, self.threads)

            def count(k: int, cuts: NDArray[np.int64] = cuts) -> None:
                kernels.count_words(tokens, cuts[k], cuts[k + 1], found[k])

            self.map(count, range(self.threads))
            release(tokens[block])
        occurrences: NDArray[np.int64] = found[:, : self.words].sum(axis=0)
        return occurrences

    def chunks(
        self, chunk_tokens: int, limits: NDArray[np.uint64], key: np.uint64
    ) -> Iterator[Chunk]:
        """Yield chunks, which may begin and end inside a document.

        `limits` and `key` decide which tokens are kept; see `qwem.cooccurrence._subsampling`.
        """
        for block in blocks(len(self.corpus.tokens), most=chunk_tokens):
            chunk = self._lay_out(block.start, block.stop, limits, key)
            release(self.corpus.tokens[block])
            yield chunk

    def _lay_out(self, start: int, stop: int, limits: NDArray[np.uint64], key: np.uint64) -> Chunk:
        """Lay out the tokens from `start` to `stop`; each thread takes a part of them."""
        from qwem.cooccurrence import _counting_kernels as kernels

        window, offsets = self.window, self.corpus.offsets
        text = self.corpus.tokens, offsets
        common = self.words, window, limits, key, self.corpus.first_document
        cuts = even_cuts(start, stop, self.threads)
        parts, numbers = list(pairwise(cuts.tolist())), range(self.threads)
        documents = np.diff(np.searchsorted(offsets, cuts, side="right"))
        room = window + np.concatenate(([0], np.cumsum(np.diff(cuts) + window * documents)))
        dtype = id_dtype(self.words + 1)  # a gap has the number after the last word's
        stream = self.memory("stream", int(room[-1]) + window, dtype)
        found = np.zeros((self.threads, self.words + 1), np.int64)

        def fill(k: int) -> int:
            end: int = kernels.fill_stream(*text, *parts[k], *common, found[k], stream, room[k])
            return end

        lengths = np.array(self.map(fill, numbers), np.int64) - room[:-1]
        ends = window + np.concatenate(([0], np.cumsum(lengths)))
        for k in numbers[1:]:
            kernels.move_left(stream, room[k], ends[k], lengths[k])
        stream = stream[: ends[-1] + window]
        kernels.fill_margins(*text, start, stop, *common, stream)

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
