"""Counting a corpus: chunks of it, one after another, each by all threads.

Whatever the threads, the chunks and the memory, the same integers are added, so the result is the
same. Where memory is short, chunks are smaller and their counts go to sorted runs on disk.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import id_dtype
from qwem._internal.blocks import cut_evenly
from qwem._internal.progress import progress
from qwem._internal.resources import (
    available_memory,
    require_memory,
    require_temporary_disk,
    thread_count,
)
from qwem.cooccurrence.csr import Rows, assemble
from qwem.cooccurrence.estimating import expected_pairs, sampled_pairs
from qwem.cooccurrence.layout import Layout
from qwem.cooccurrence.pair_counts import DENSE_COUNTS_SHARE, PairCounts
from qwem.cooccurrence.runs import Runs, RunWriter, most_entries, row_groups
from qwem.cooccurrence.texts import text_of
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from qwem._internal.progress import Progress
    from qwem.cooccurrence.layout import Chunk
    from qwem.cooccurrence.subsampling import Subsampling
    from qwem.cooccurrence.texts import Text
    from qwem.corpus import Corpus, RecodedPieces

CHUNK_TOKENS = 1 << 26
"""Tokens per chunk: a chunk takes less than a gigabyte."""

HEAD_WORDS = 10_000
"""How many words may have a dense matrix of their own. They make up nearly all of a text, and
counting into dense rows is several times faster; pairs with a rarer word are counted from that
word's side into sparse rows."""

_ENTRIES_PER_TOKEN = 4  # of that matrix, at most: filling it must not take longer than counting

_TASKS = 64
_TILE = 64


class Counts(NamedTuple):
    """The counts of pairs and of words."""

    pairs: PairCounts
    words: NDArray[np.int64]
    length: int
    """How many words the text has, before any is dropped by subsampling."""


def count_pairs(
    source: Corpus | RecodedPieces,
    weights: Sequence[int],
    subsampling: Subsampling | None,
    threads: int | None,
    chunk_tokens: int = CHUNK_TOKENS,
    working_memory: int | None = None,
    *,
    rough: bool = False,
) -> Counts:
    """Count all pairs of a text within a window whose weights by distance are `weights`.

    `working_memory` is what counting may use in addition to its result, in bytes: by default, all
    that is available. With `rough`, the size of the result is not estimated from a sample, even if
    it seems too large without.
    """
    counter = _Counter(
        text_of(source), np.array(weights, dtype=np.uint64), subsampling, thread_count(threads)
    )
    return counter.run(chunk_tokens, working_memory, rough)


class _Plan(NamedTuple):
    """How to count within the memory there is."""

    head: int
    """How many words' mutual counts are kept dense."""
    chunk_tokens: int
    buffer_entries: int | None
    """Entries to collect before they are written to disk; None where all stays in memory."""


class _Counter:
    def __init__(
        self,
        text: Text,
        weights: NDArray[np.uint64],
        subsampling: Subsampling | None,
        threads: int,
    ) -> None:
        self.text = text
        self.weights = weights
        self.subsampling = subsampling
        self.threads = threads
        self.words = len(text.vocabulary)
        self.draws = subsampling.draws if subsampling else 1
        self.limits = np.empty(0, np.uint64)
        if subsampling:
            every_gap = np.uint64(2**64 - 1)
            self.limits = np.append(subsampling.keep_limits(text.vocabulary.counts), every_gap)

    def run(self, chunk_tokens: int, working_memory: int | None, rough: bool) -> Counts:
        tokens = self.text.size
        words = np.zeros(self.words, np.int64)
        with (
            ThreadPoolExecutor(self.threads) as self.pool,
            progress("counting", self.draws * tokens, "word") as bar,
        ):
            self.layout = Layout(self.words, len(self.weights), self.pool, self.threads)
            occurrences = self.draws * self.text.occurrences(self.layout, chunk_tokens)
            self.dtype = self._choose_width(occurrences)
            self.weights = self.weights.astype(self.dtype)
            size = self._estimate(occurrences, rough)
            plan = self._plan(size, max(1, min(tokens, chunk_tokens)), working_memory)
            if plan.buffer_entries is not None:
                self._require_disk(occurrences, size, plan.chunk_tokens)
            self.head = plan.head
            head = np.zeros((self.head, self.head), self.dtype)
            tail = Rows.with_room(self.words - self.head, 0, self.dtype)
            runs = Runs(self.words - self.head, self.dtype, plan.buffer_entries or 0)
            for chunk in self._chunks(plan.chunk_tokens):
                words += np.diff(chunk.starts)
                self._count_head(chunk, head, bar)
                if plan.buffer_entries is not None:
                    runs.add(self._count_run(chunk, plan.buffer_entries))
                elif self.head < self.words:
                    tail = self._count_tail(chunk, tail)
                bar.update(int(chunk.starts[-1] - chunk.starts[self.head]))
            del self.layout  # and with it the memory of a chunk
            if plan.buffer_entries is not None:
                tail = runs.merged()
            self._symmetrize(head)
            pairs = (
                assemble(head, tail, self.pool, self.threads) if self.head < self.words else head
            )
        length = int(occurrences.sum()) // self.draws
        return Counts(PairCounts.from_exact(pairs, self.threads), words, length)

    def _choose_width(self, occurrences: NDArray[np.int64]) -> np.dtype[Any]:
        """Return a type that holds any count there can be."""
        largest = int(occurrences.max(initial=0)) * 2 * sum(map(int, self.weights))
        if largest >= 2**63:
            raise CountError(
                f"A count could reach {largest:.1e}, beyond 64 bits; use smaller window weights."
            )
        return np.dtype(np.uint32 if largest < 2**32 else np.uint64)

    def _estimate(self, occurrences: NDArray[np.int64], rough: bool) -> float:
        """Estimate the number of pairs: from a sample of the text, if many are to be expected."""
        pairs = expected_pairs(occurrences, 2 * len(self.weights))
        if rough or 2 * self._result_bytes(pairs) <= available_memory():
            return pairs
        weights = [int(weight) for weight in self.weights]
        return float(sampled_pairs(self.text.corpus, weights, self.subsampling, self.threads)[-1])

    def _result_bytes(self, pairs: float) -> int:
        size, entry = self.words, self.dtype.itemsize
        return entry * size**2 if self._is_dense(pairs) else int(pairs * (entry + 4))

    def _is_dense(self, pairs: float) -> bool:
        return pairs >= DENSE_COUNTS_SHARE * self.words**2

    def _plan(self, pairs: float, chunk_tokens: int, working_memory: int | None) -> _Plan:
        """Choose what fits in memory; refuse what would not, even with the help of the disk."""
        size, entry, result = self.words, self.dtype.itemsize, self._result_bytes(pairs)
        require_memory(
            result,
            f"Counting {size:,} words",
            "use a smaller vocabulary, or count parts of the corpus and add them",
        )
        if working_memory is None:
            working_memory = available_memory() - result
        per_token = id_dtype(size + 1).itemsize + 4
        if self._is_dense(pairs):
            fitting = max(1, working_memory // per_token)
            return _Plan(size, min(chunk_tokens, fitting), None)
        worthwhile = math.isqrt(_ENTRIES_PER_TOKEN * self.text.size)
        head = min(size, HEAD_WORDS, worthwhile)
        # Apart from the result: the dense part, a chunk, and the lower half of the rest.
        if entry * head**2 + chunk_tokens * per_token + result // 2 <= working_memory:
            return _Plan(head, chunk_tokens, None)
        share = max(1, working_memory // 4)
        head = min(head, math.isqrt(share // entry))
        return _Plan(head, min(chunk_tokens, max(1, share // per_token)), share // (entry + 4))

    def _require_disk(
        self, occurrences: NDArray[np.int64], pairs: float, chunk_tokens: int
    ) -> None:
        """Refuse to count if the runs would not fit on the disk. Each pair is in them once."""
        chunks = self.draws * -(-self.text.size // chunk_tokens)
        per_chunk = expected_pairs(occurrences / max(1, chunks), 2 * len(self.weights))
        entries = most_entries(chunks, per_chunk / 2, pairs / 2)
        require_temporary_disk(
            int(entries * (self.dtype.itemsize + 4)),
            f"Counting {self.words:,} words in {available_memory() / 1e9:.1f} GB of memory",
        )

    def _chunks(self, chunk_tokens: int) -> Iterator[Chunk]:
        """Yield each chunk of the text, for each draw."""
        for draw in range(self.draws):
            key = self.subsampling.key(draw) if self.subsampling else np.uint64(0)
            yield from self.text.chunks(self.layout, chunk_tokens, self.limits, key)

    def _count_head(self, chunk: Chunk, head: NDArray[Any], bar: Progress) -> None:
        """Add, for each of the first words, which of them follow it."""
        from qwem.cooccurrence import kernels

        stream, starts = chunk.stream, chunk.starts[: self.head + 1]
        if self.head < self.words:
            narrow = self.layout.memory("narrow stream", stream.size, np.dtype(np.uint16))
            stream = np.minimum(stream, self.head, out=narrow, casting="unsafe")

        def work(run: tuple[int, int]) -> None:
            kernels.count_rows_after(stream, chunk.positions, starts, self.weights, *run, head)

        runs = cut_evenly(starts, _TASKS * self.threads)
        for (first, last), _ in zip(runs, self.pool.map(work, runs), strict=True):
            bar.update(int(starts[last] - starts[first]))

    def _count_tail(self, chunk: Chunk, before: Rows) -> Rows:
        """Return, for each of the other words, what stands around it and is no rarer.

        That adds to what was counted `before`.
        """
        most = self._most_entries(chunk, before.lengths)
        rows = Rows.with_room(len(most), int(most.sum()), self.dtype)
        self._count_rows(chunk, before, rows, most, 0)
        return rows

    def _count_run(self, chunk: Chunk, buffer_entries: int) -> Rows:
        """Return what `_count_tail` does for this chunk alone, as a run on disk."""
        most = self._most_entries(chunk, 0)
        before = Rows.with_room(len(most), 0, self.dtype)
        writer = RunWriter(self.dtype)
        for first, last in row_groups(most, buffer_entries):
            part = most[first:last]
            group = Rows.with_room(len(part), int(part.sum()), self.dtype)
            self._count_rows(chunk, before, group, part, first)
            writer.append(group)
        return writer.finish()

    def _most_entries(self, chunk: Chunk, before: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return how many entries each row after the head can have at most."""
        around = 2 * len(self.weights) * np.diff(chunk.starts[self.head :])
        return np.minimum(np.arange(self.head, self.words) + 1, around + before)

    def _count_rows(
        self, chunk: Chunk, before: Rows, rows: Rows, most: NDArray[np.int64], skipped: int
    ) -> None:
        """Fill rows after the head, without the first `skipped`, given the most entries of each."""
        from qwem.cooccurrence import kernels

        ends = np.concatenate(([0], np.cumsum(most)))

        def work(run: tuple[int, int]) -> None:
            row = np.zeros(self.words + 1, self.dtype)
            touched = np.zeros((self.words // 64 + 1) * 8, np.uint8)
            cells = (row, touched, touched.view(np.uint64))
            kernels.count_rows_below(
                *chunk,
                self.weights,
                self.head + skipped,
                *run,
                *cells,
                *before,
                *rows,
                ends[run[0]],
            )

        self._map(work, cut_evenly(ends, _TASKS * self.threads))

    def _symmetrize(self, head: NDArray[Any]) -> None:
        """Turn the counts of what follows a word into counts of what stands around it: C + Cᵀ."""
        from qwem.cooccurrence import kernels

        size = len(head)
        self._map(
            lambda first: kernels.add_transpose(head, first, min(size, first + _TILE), _TILE),
            range(0, size, _TILE),
        )

    def _map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self.pool.map(work, items))
