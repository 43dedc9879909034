"""Counting a corpus, chunk by chunk, each with all threads.

The same integers are added for any number of threads, size of chunks and amount of memory, so the
result is the same. If memory is short, chunks are smaller and their counts are written to disk as
sorted rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import (
    blocks,
    cut_for_threads,
    cut_to_size,
    ends_of,
    even_cuts,
    for_each,
    id_dtype,
    in_order,
    worthwhile_parts,
)
from qwem._internal.files import release, require_disk
from qwem._internal.resources import (
    available_memory,
    progress,
    require_memory,
    thread_count,
)
from qwem.cooccurrence._rows import (
    DiskRows,
    Rows,
    RowWriter,
    add_transpose,
    assemble,
    most_entries,
)
from qwem.cooccurrence.pair_counts import DENSE_COUNTS_SHARE, PairCounts
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from qwem._internal.resources import Progress
    from qwem.cooccurrence.contexts import Slot, Subsampling
    from qwem.corpus import Corpus


class Chunk(NamedTuple):
    """A chunk of the text laid out for counting; see `qwem.cooccurrence.kernels`.

    Its arrays are overwritten when the next chunk is laid out.
    """

    stream: NDArray[Any]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """Word w's positions are ``positions[starts[w]:starts[w + 1]]``."""


class ChunkReader:
    """Lays out one chunk of a corpus after another, subsampled, each by all threads."""

    def __init__(self, corpus: Corpus, window: int, subsampling: Subsampling | None) -> None:
        self.corpus = corpus
        self.words = len(corpus.vocabulary)
        self.window = window
        self.subsampling = subsampling
        self.threads = worthwhile_parts(thread_count(), len(corpus.tokens))
        self._memory: dict[str, NDArray[Any]] = {}

    def chunks(self, chunk_tokens: int) -> Iterator[Chunk]:
        """Yield the chunks of each draw; they may begin and end inside a document."""
        limits, keys = np.empty(0, np.uint64), [np.uint64(0)]
        if self.subsampling is not None:
            every_gap = np.uint64(2**64 - 1)
            kept = self.subsampling.keep_limits(self.corpus.vocabulary.counts)
            limits = np.append(kept, every_gap)
            keys = [self.subsampling.key(draw) for draw in range(self.subsampling.draws)]
        for key in keys:
            for tokens in blocks(len(self.corpus.tokens), most=chunk_tokens):
                chunk = self._lay_out(tokens.start, tokens.stop, limits, key)
                release(self.corpus.tokens[tokens])
                yield chunk

    def _lay_out(self, start: int, stop: int, limits: NDArray[np.uint64], key: np.uint64) -> Chunk:
        """Lay out the tokens from `start` to `stop`, divided evenly among threads.

        `limits` and `key` decide which tokens are kept; see `Subsampling`.
        """
        from qwem.cooccurrence import kernels

        window, offsets = self.window, self.corpus.offsets
        text = self.corpus.tokens, offsets
        common = self.words, window, limits, key, self.corpus.first_document
        cuts = even_cuts(start, stop, self.threads)
        numbers = range(self.threads)
        documents = np.diff(np.searchsorted(offsets, cuts, side="right"))
        room = window + ends_of(np.diff(cuts) + window * documents)
        dtype = id_dtype(self.words + 1)  # one more for gaps
        stream = self.memory("stream", int(room[-1]) + window, dtype)
        found = np.zeros((self.threads, self.words + 1), np.int64)

        def fill(k: int) -> int:
            end: int = kernels.fill_stream(
                *text, cuts[k], cuts[k + 1], *common, found[k], stream, room[k]
            )
            return end

        lengths = np.array(list(in_order(fill, numbers, self.threads))) - room[:-1]
        ends = window + ends_of(lengths)
        for k in numbers[1:]:
            kernels.move_left(stream, room[k], ends[k], lengths[k])
        stream = stream[: ends[-1] + window]
        kernels.fill_margins(*text, start, stop, *common, stream)

        per_thread = found[:, : self.words]
        starts = ends_of(per_thread.sum(axis=0))
        free = starts[:-1] + np.cumsum(per_thread, axis=0) - per_thread
        positions = self.memory("positions", int(starts[-1]), np.dtype(np.uint32))

        def index(k: int) -> None:
            kernels.index_positions(stream, ends[k], ends[k + 1], free[k], positions)

        for_each(index, numbers)
        return Chunk(stream, positions, starts)

    def memory(self, name: str, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array of this size, reusing the memory of this name if it is large enough."""
        found = self._memory.get(name)
        if found is None or found.size < size or found.dtype != dtype:
            self._memory.pop(name, None)
            self._memory[name] = found = np.empty(size, dtype)
        return found[:size]


CHUNK_TOKENS = 1 << 26
"""Tokens per chunk: a chunk takes less than a gigabyte."""

HEAD_WORDS = 10_000
"""The most words whose mutual counts are kept in a dense matrix. They make up nearly all of a text,
and counting into dense rows is several times faster. A pair with a rarer word is counted in the
sparse row of the rarer word."""

MOST_CELLS = 2**31 - 1
"""The largest number of words × contexts."""

_ENTRIES_PER_TOKEN = 4  # the most entries of that matrix, so that filling it takes little time

_TASKS = 64


class Counts(NamedTuple):
    """The counts of pairs in each slot, and of words."""

    pairs: tuple[PairCounts, ...]
    words: NDArray[np.int64]
    length: int
    """The number of words in the text, before subsampling."""


def count_pairs(
    corpus: Corpus,
    slots: Sequence[Slot],
    subsampling: Subsampling | None,
    chunk_tokens: int = CHUNK_TOKENS,
    working_memory: int | None = None,
    *,
    rough: bool = False,
) -> Counts:
    """Count all pairs of a text in the given slots, in one pass, or two if it is subsampled.

    `working_memory` is the memory that counting may use in addition to its result, in bytes; by
    default, all that is available. With `rough`, the size of the result is never estimated from a
    sample of the text.
    """
    how = chunk_tokens, working_memory, rough
    whole = tuple(slot for slot in slots if slot.whole_text and subsampling)
    counts = _Counter(corpus, tuple(s for s in slots if s not in whole), subsampling).run(*how)
    if not whole or subsampling is None:
        return counts
    more = iter([pairs * subsampling.draws for pairs in _Counter(corpus, whole, None).run(*how)[0]])
    window = iter(counts.pairs)
    return counts._replace(pairs=tuple(next(more if slot.whole_text else window) for slot in slots))


class SlotTable(NamedTuple):
    """Slots as the kernels take them: arrays with one row per slot."""

    weights: NDArray[Any]
    """The weight of a pair, by slot and distance."""
    spans: NDArray[np.int64]
    """The range of distances of each slot; distance 1 is 0 here."""
    sides: NDArray[np.int64]
    """The channels for words after and before a word; the same channel if symmetric."""
    channels: int

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> SlotTable:
        """Return the table of some slots."""
        window = max(len(slot.weights or ()) for slot in slots)
        weights = np.zeros((len(slots), window), np.uint64)
        spans = np.zeros((len(slots), 2), np.int64)
        sides = np.zeros((len(slots), 2), np.int64)
        channels = 0
        for number, slot in enumerate(slots):
            by_distance = slot.weights or ()
            weights[number, : len(by_distance)] = by_distance
            if (distances := np.flatnonzero(weights[number])).size:
                spans[number] = distances[0], distances[-1] + 1
            sides[number] = channels, channels + slot.contexts - 1
            channels += slot.contexts
        return cls(weights, spans, sides, channels)

    @property
    def window(self) -> int:
        """The largest distance."""
        return int(self.weights.shape[1])

    @property
    def directed(self) -> NDArray[np.bool_]:
        """Which slots distinguish left from right."""
        directed: NDArray[np.bool_] = self.sides[:, 0] != self.sides[:, 1]
        return directed


def expected_pairs(occurrences: NDArray[Any], reach: int) -> NDArray[np.float64]:
    """Estimate how many different words each word occurs with if words are in random order.

    In real text words cluster by topic and fewer pairs occur, so this is an upper estimate. Words
    are grouped by frequency, in eight classes per octave.
    """
    expected = np.zeros(len(occurrences))
    present = occurrences > 0
    if not present.any():
        return expected
    often = occurrences[present]
    _, classes = np.unique(np.round(8 * np.log2(often)), return_inverse=True)
    sizes = np.bincount(classes)
    means = np.bincount(classes, weights=often) / sizes
    meetings = reach * np.outer(means, means) / often.sum()
    expected[present] = (-np.expm1(-meetings) @ sizes)[classes]
    return expected


class _Plan(NamedTuple):
    """How to count within the available memory."""

    head: int
    """The number of words whose mutual counts are kept dense."""
    chunk_tokens: int
    buffer_entries: int | None
    """Entries to collect before they are written to disk; None if all stay in memory."""


class _Counter:
    def __init__(
        self, corpus: Corpus, slots: tuple[Slot, ...], subsampling: Subsampling | None
    ) -> None:
        self.corpus = corpus
        self.slots = slots
        self.table = SlotTable.of(slots)
        self.subsampling = subsampling
        self.words = len(corpus.vocabulary)
        self.draws = subsampling.draws if subsampling else 1
        if (self.words + 1) * self.table.channels > MOST_CELLS:
            raise CountError(
                f"{len(slots)} slots of {self.words:,} words are too many; use fewer of either."
            )

    def run(self, chunk_tokens: int, working_memory: int | None, rough: bool) -> Counts:
        tokens = len(self.corpus.tokens)
        words = np.zeros(self.words, np.int64)
        with progress("counting", self.draws * tokens, "word") as bar:
            self.reader = ChunkReader(self.corpus, self.table.window, self.subsampling)
            occurrences = self.draws * self.corpus.token_counts()[: self.words]
            self.dtype = self._choose_width(occurrences)
            self.table = self.table._replace(weights=self.table.weights.astype(self.dtype))
            size = self._estimate(occurrences, rough)
            plan = self._plan(size, max(1, min(tokens, chunk_tokens)), working_memory)
            if plan.buffer_entries is not None:
                self._require_disk(occurrences, size, plan.chunk_tokens)
            self.head = plan.head
            head = np.zeros((len(self.slots), self.head, self.head), self.dtype)
            tail = Rows.with_room(self.words - self.head, 0, self.dtype)
            on_disk = DiskRows(self.words - self.head, self.dtype, plan.buffer_entries or 0)
            for chunk in self.reader.chunks(plan.chunk_tokens):
                words += np.diff(chunk.starts)
                self._count_head(chunk, head, bar)
                if plan.buffer_entries is not None:
                    on_disk.add(self._count_to_disk(chunk, plan.buffer_entries))
                elif self.head < self.words:
                    tail = self._count_tail(chunk, tail)
                bar.update(int(chunk.starts[-1] - chunk.starts[self.head]))
            del self.reader  # frees the memory of a chunk
            if plan.buffer_entries is not None:
                tail = on_disk.total()
            pairs = tuple(self._pairs(head, tail, slot) for slot in range(len(self.slots)))
        return Counts(pairs, words, int(occurrences.sum()) // self.draws)

    def _pairs(self, head: NDArray[Any], tail: Rows, slot: int) -> PairCounts:
        """Return the counts of one slot."""
        matrix = head[slot]
        after, before = self.table.sides[slot].tolist()
        if after == before:
            add_transpose(matrix)
        if self.head == self.words:
            return PairCounts.from_exact(matrix)
        return PairCounts.from_exact(assemble(matrix, tail, (self.table.channels, after, before)))

    def _choose_width(self, occurrences: NDArray[np.int64]) -> np.dtype[Any]:
        """Return an integer type that can hold the largest possible count."""
        most = max(sum(slot.weights or ()) for slot in self.slots)
        largest = int(occurrences.max(initial=0)) * 2 * most
        if largest >= 2**63:
            raise CountError(
                f"A count could reach {largest:.1e}, beyond 64 bits; use smaller window weights."
            )
        return np.dtype(np.uint32 if largest < 2**32 else np.uint64)

    def _estimate(self, occurrences: NDArray[np.int64], rough: bool) -> float:
        """Estimate the number of pairs, from a sample of the text if they may not fit in memory."""
        pairs = self._expected_pairs(occurrences)
        if rough or 2 * self._result_bytes(pairs) <= available_memory():
            return pairs
        from qwem.cooccurrence._estimates import sampled_pairs

        sampled = sampled_pairs(self.corpus, self.slots, self.subsampling)
        return float(sampled[-1])

    def _expected_pairs(self, occurrences: NDArray[Any]) -> float:
        """Estimate the number of entries of all slots together if words were in random order."""
        reach = np.diff(self.table.spans).ravel() * np.where(self.table.directed, 1, 2)
        return sum(float(expected_pairs(occurrences, int(each)).sum()) for each in reach)

    def _result_bytes(self, pairs: float) -> int:
        entry = self.dtype.itemsize
        dense = len(self.slots) * entry * self.words**2
        return dense if self._is_dense(pairs) else int(pairs * (entry + 4))

    def _is_dense(self, pairs: float) -> bool:
        return pairs >= DENSE_COUNTS_SHARE * len(self.slots) * self.words**2

    def _plan(self, pairs: float, chunk_tokens: int, working_memory: int | None) -> _Plan:
        """Choose a plan that fits in memory; refuse if the result itself would not fit."""
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
        slots = len(self.slots)
        worthwhile = math.isqrt(_ENTRIES_PER_TOKEN * len(self.corpus.tokens) // slots)
        head = min(size, math.isqrt(HEAD_WORDS**2 // slots), worthwhile)
        # Besides the result: the dense part, a chunk, and sparse rows (half, if all are symmetric).
        rest = result if any(slot.directed for slot in self.slots) else result // 2
        if slots * entry * head**2 + chunk_tokens * per_token + rest <= working_memory:
            return _Plan(head, chunk_tokens, None)
        share = max(1, working_memory // 4)
        head = min(head, math.isqrt(share // (slots * entry)))
        return _Plan(head, min(chunk_tokens, max(1, share // per_token)), share // (entry + 4))

    def _require_disk(
        self, occurrences: NDArray[np.int64], pairs: float, chunk_tokens: int
    ) -> None:
        """Refuse to count if the rows would not fit on disk; a symmetric pair is stored once."""
        chunks = self.draws * -(-len(self.corpus.tokens) // chunk_tokens)
        per_chunk = self._expected_pairs(occurrences / max(1, chunks))
        half = 1 if any(slot.directed for slot in self.slots) else 2
        entries = most_entries(chunks, per_chunk / half, pairs / half)
        require_disk(
            int(entries * (self.dtype.itemsize + 4)),
            f"Counting {self.words:,} words in {available_memory() / 1e9:.1f} GB of memory",
        )

    def _count_head(self, chunk: Chunk, head: NDArray[Any], bar: Progress) -> None:
        """Add the counts of words of the head that follow words of the head."""
        from qwem.cooccurrence import kernels

        stream, starts = chunk.stream, chunk.starts[: self.head + 1]
        if self.head < self.words:
            narrow = self.reader.memory("narrow stream", stream.size, np.dtype(np.uint16))
            stream = np.minimum(stream, self.head, out=narrow, casting="unsafe")

        def work(rows: tuple[int, int]) -> None:
            kernels.count_rows_after(
                stream, chunk.positions, starts, self.table.weights, self.table.spans, *rows, head
            )
            bar.update(int(starts[rows[1]] - starts[rows[0]]))

        for_each(work, cut_for_threads(starts, _TASKS * thread_count()))

    def _count_tail(self, chunk: Chunk, before: Rows) -> Rows:
        """Return the neighbours of equal or higher frequency of each word after the head.

        The counts are added to those `before`.
        """
        most = self._most_entries(chunk, before.lengths)
        rows = Rows.with_room(len(most), int(most.sum()), self.dtype)
        self._count_rows(chunk, before, rows, most, 0)
        return rows

    def _count_to_disk(self, chunk: Chunk, buffer_entries: int) -> Rows:
        """Return the rows of `_count_tail` for this chunk alone, on disk."""
        most = self._most_entries(chunk, 0)
        before = Rows.with_room(len(most), 0, self.dtype)
        writer = RowWriter(self.dtype)
        for first, last in cut_to_size(ends_of(most), buffer_entries):
            block = Rows.with_room(last - first, int(most[first:last].sum()), self.dtype)
            self._count_rows(chunk, before, block, most[first:last], first)
            writer.append(block)
        return writer.finish()

    def _most_entries(self, chunk: Chunk, before: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """Return how many entries each row after the head can have at most."""
        around = 2 * int(np.diff(self.table.spans).sum()) * np.diff(chunk.starts[self.head :])
        cells = self.table.channels * (np.arange(self.head, self.words) + 1)
        return np.minimum(cells, around + before)

    def _count_rows(
        self, chunk: Chunk, before: Rows, rows: Rows, most: NDArray[np.int64], skipped: int
    ) -> None:
        """Fill rows after the head and `skipped` more; row r has at most ``most[r]`` entries."""
        from qwem.cooccurrence import kernels

        ends = ends_of(most)

        def work(some: tuple[int, int]) -> None:
            cells = self.table.channels * (self.words + 1)
            row = np.zeros(cells, self.dtype)
            stretches = np.zeros(8 * (cells // 4096 + 1), np.uint8)
            touched = np.zeros(64 * len(stretches), np.uint8)
            kernels.count_rows_below(
                *chunk,
                *self.table[:4],
                self.head + skipped,
                *some,
                *(row, touched, touched.view(np.uint64), stretches, stretches.view(np.uint64)),
                *before,
                *rows,
                ends[some[0]],
            )

        for_each(work, cut_for_threads(ends, _TASKS * thread_count()))
