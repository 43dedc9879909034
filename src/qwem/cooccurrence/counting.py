"""Counting a corpus: chunks of it, one after another, each by all threads.

Whatever the threads and chunks, the same integers are added, so the result is the same.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.blocks import cut_evenly, even_cuts
from qwem._internal.progress import progress
from qwem._internal.resources import require_memory, thread_count
from qwem.cooccurrence.csr import Rows, assemble
from qwem.cooccurrence.pair_counts import DENSE_COUNTS_SHARE, PairCounts
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from qwem._internal.progress import Progress
    from qwem.cooccurrence.subsampling import Subsampling
    from qwem.corpus import Corpus

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


def count_pairs(
    corpus: Corpus,
    weights: Sequence[int],
    subsampling: Subsampling | None,
    threads: int | None,
    chunk_tokens: int = CHUNK_TOKENS,
) -> Counts:
    """Count all pairs of `corpus` within a window whose weights by distance are `weights`."""
    counter = _Counter(
        corpus, np.array(weights, dtype=np.uint64), subsampling, thread_count(threads)
    )
    return counter.run(chunk_tokens)


class _Chunk(NamedTuple):
    """A part of the corpus laid out for counting; see `qwem.cooccurrence.kernels`."""

    stream: NDArray[Any]
    positions: NDArray[np.uint32]
    starts: NDArray[np.int64]
    """Word w's positions are ``positions[starts[w]:starts[w + 1]]``."""


class _Counter:
    def __init__(
        self,
        corpus: Corpus,
        weights: NDArray[np.uint64],
        subsampling: Subsampling | None,
        threads: int,
    ) -> None:
        self.corpus = corpus
        self.weights = weights
        self.subsampling = subsampling
        self.threads = threads
        self.words = len(corpus.vocabulary)
        self.draws = subsampling.draws if subsampling else 1
        self.limits = (
            subsampling.keep_limits(corpus.vocabulary.counts)
            if subsampling
            else np.empty(0, np.uint64)
        )

    def run(self, chunk_tokens: int) -> Counts:
        tokens = len(self.corpus.tokens)
        if tokens and self.corpus.tokens.max() > self.words:  # the kernels don't check
            raise CountError("The corpus has ids of words it doesn't know; encode the text again.")
        words = np.zeros(self.words, np.int64)
        with (
            ThreadPoolExecutor(self.threads) as self.pool,
            progress("counting", self.draws * tokens, "word") as bar,
        ):
            occurrences = self._occurrences()
            self.dtype = self._choose_width(occurrences)
            self.weights = self.weights.astype(self.dtype)
            self.head = self._choose_head(occurrences, min(tokens, chunk_tokens))
            head = np.zeros((self.head, self.head), self.dtype)
            tail = Rows.with_room(self.words - self.head, 0, self.dtype)
            for draw in range(self.draws):
                key = self.subsampling.key(draw) if self.subsampling else np.uint64(0)
                for start in range(0, tokens, chunk_tokens):
                    stop = min(tokens, start + chunk_tokens)
                    chunk = self._lay_out(start, stop, key)
                    words += np.diff(chunk.starts)
                    self._count_head(chunk, head, bar)
                    if self.head < self.words:
                        tail = self._count_tail(chunk, tail, bar)
            self._symmetrize(head)
            pairs = (
                assemble(head, tail, self.pool, self.threads) if self.head < self.words else head
            )
        return Counts(PairCounts.from_exact(pairs, self.threads), words)

    def _choose_width(self, occurrences: NDArray[np.int64]) -> np.dtype[Any]:
        """Return a type that holds any count there can be."""
        largest = int(occurrences.max(initial=0)) * 2 * sum(map(int, self.weights))
        if largest >= 2**63:
            raise CountError(
                f"A count could reach {largest:.1e}, beyond 64 bits; use smaller window weights."
            )
        return np.dtype(np.uint32 if largest < 2**32 else np.uint64)

    def _choose_head(self, occurrences: NDArray[np.int64], chunk: int) -> int:
        """Return how many words' mutual counts to keep dense; refuse what would not fit."""
        size, entry = self.words, self.dtype.itemsize
        pairs = expected_pairs(occurrences, 2 * len(self.weights))
        dense = pairs >= DENSE_COUNTS_SHARE * size * size
        worthwhile = math.isqrt(_ENTRIES_PER_TOKEN * len(self.corpus.tokens))
        head = size if dense else min(size, HEAD_WORDS, worthwhile)
        needed = entry * head**2 + chunk * (self.corpus.tokens.itemsize + 4)
        if not dense:
            # The result and, on the way there, half of it once more.
            needed += int(1.5 * pairs * (entry + 4))
        require_memory(
            needed,
            f"Counting {size:,} words",
            "use a smaller vocabulary, or count parts of the corpus and add them",
        )
        return head

    def _lay_out(self, start: int, stop: int, key: np.uint64) -> _Chunk:
        from qwem.cooccurrence import kernels

        corpus, window = self.corpus, len(self.weights)
        common = (self.words, window, self.limits, key, corpus.first_document)
        text = (corpus.tokens, corpus.offsets)

        parts = list(pairwise(even_cuts(start, stop, self.threads)))
        found = np.zeros((self.threads, self.words + 1), np.int64)
        lengths = self._map(
            lambda k: kernels.stream_length(*text, *parts[k], *common, found[k]),
            range(self.threads),
        )
        ends = window + np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        stream = np.empty(ends[-1] + window, corpus.tokens.dtype)
        kernels.fill_margins(*text, start, stop, *common, stream)
        self._map(
            lambda k: kernels.fill_stream(*text, *parts[k], *common, stream, ends[k]),
            range(self.threads),
        )

        ranges = list(pairwise(ends))
        per_part = found[:, : self.words]
        starts = np.concatenate(([0], np.cumsum(per_part.sum(axis=0))))
        free = starts[:-1] + np.cumsum(per_part, axis=0) - per_part
        positions = np.empty(starts[-1], np.uint32)
        self._map(
            lambda k: kernels.index_positions(stream, *ranges[k], free[k], positions),
            range(self.threads),
        )
        return _Chunk(stream, positions, starts)

    def _count_head(self, chunk: _Chunk, head: NDArray[Any], bar: Progress) -> None:
        """Add, for each of the first words, which of them follow it."""
        from qwem.cooccurrence import kernels

        stream, starts = chunk.stream, chunk.starts[: self.head + 1]
        if self.head < self.words:
            stream = np.minimum(stream, self.head).astype(np.uint16)

        def work(run: tuple[int, int]) -> None:
            kernels.count_rows_after(stream, chunk.positions, starts, self.weights, *run, head)

        runs = cut_evenly(starts, _TASKS * self.threads)
        for (first, last), _ in zip(runs, self.pool.map(work, runs), strict=True):
            bar.update(int(starts[last] - starts[first]))

    def _count_tail(self, chunk: _Chunk, before: Rows, bar: Progress) -> Rows:
        """Return, for each of the other words, what stands around it and is no rarer.

        That adds to what was counted `before`.
        """
        from qwem.cooccurrence import kernels

        around = 2 * len(self.weights) * np.diff(chunk.starts[self.head :])
        most = np.minimum(np.arange(self.head, self.words) + 1, around + before.lengths)
        ends = np.concatenate(([0], np.cumsum(most)))
        rows = Rows.with_room(len(most), int(ends[-1]), self.dtype)

        def work(run: tuple[int, int]) -> None:
            row = np.zeros(self.words + 1, self.dtype)
            touched = np.zeros((self.words // 64 + 1) * 8, np.uint8)
            cells = (row, touched, touched.view(np.uint64))
            kernels.count_rows_below(
                *chunk, self.weights, self.head, *run, *cells, *before, *rows, ends[run[0]]
            )

        self._map(work, cut_evenly(ends, _TASKS * self.threads))
        bar.update(int(chunk.starts[-1] - chunk.starts[self.head]))
        return rows

    def _symmetrize(self, head: NDArray[Any]) -> None:
        """Turn the counts of what follows a word into counts of what stands around it: C + Cᵀ."""
        from qwem.cooccurrence import kernels

        size = len(head)
        self._map(
            lambda first: kernels.add_transpose(head, first, min(size, first + _TILE), _TILE),
            range(0, size, _TILE),
        )

    def _occurrences(self) -> NDArray[np.int64]:
        """Return how often each word occurs, over all draws, before any is dropped."""
        from qwem.cooccurrence import kernels

        tokens = self.corpus.tokens
        parts = list(pairwise(even_cuts(0, len(tokens), self.threads)))
        found = np.zeros((self.threads, self.words + 1), np.int64)
        self._map(lambda k: kernels.count_words(tokens, *parts[k], found[k]), range(self.threads))
        return self.draws * found[:, : self.words].sum(axis=0)

    def _map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return list(self.pool.map(work, items))


def expected_pairs(occurrences: NDArray[np.int64], reach: int) -> float:
    """Estimate how many different ordered pairs occur if words stand in random order.

    In real text words keep to their topics and fewer pairs occur, so this is an upper estimate.
    Words of similar frequency are taken together, eight classes per octave.
    """
    present = occurrences[occurrences > 0]
    if len(present) == 0:
        return 0.0
    _, classes = np.unique(np.round(8 * np.log2(present)), return_inverse=True)
    sizes = np.bincount(classes)
    means = np.bincount(classes, weights=present) / sizes
    meetings = reach * np.outer(means, means) / present.sum()
    return float(sizes @ -np.expm1(-meetings) @ sizes)
