"""Spools: the words of batches as numbers, in the order in which each thread met the words."""

from __future__ import annotations

from dataclasses import dataclass
from queue import LifoQueue
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.blocks import in_order
from qwem._internal.progress import progress
from qwem._internal.resources import require_disk
from qwem.corpus import kernels
from qwem.corpus.batches import DocumentBatch, TextBatch
from qwem.corpus.interner import Interner, packed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.vocabulary import Vocabulary


@dataclass(frozen=True)
class Run:
    """The words of one batch: where they are spooled, and where its documents end in them."""

    worker: Spooler
    first: int
    tokens: int
    token_ends: NDArray[np.int64]


class Spooler:
    """One thread's numbering of words, and the file where it spools the numbers."""

    def __init__(self, spool: Path) -> None:
        self.interner = Interner()
        self._spool = spool
        self._spooled = 0
        spool.touch()

    def take(self, batch: DocumentBatch, letters: NDArray[np.int32]) -> Run:
        """Spool the numbers of the words of a batch."""
        if isinstance(batch, TextBatch):
            ids, token_ends = self.interner.tokenize(batch.text, batch.ends, letters)
        else:
            ids = self.interner.intern(batch.text, batch.word_ends)
            token_ends = batch.ends
        with self._spool.open("ab") as file:
            file.write(ids.data)
        run = Run(self, self._spooled, ids.size, token_ends)
        self._spooled += ids.size
        return run

    def give(self, run: Run) -> NDArray[np.uint32]:
        """Return the numbers that were spooled for a batch."""
        return np.fromfile(self._spool, np.uint32, run.tokens, offset=4 * run.first)

    def remove(self) -> None:
        """Remove the spool."""
        self._spool.unlink()


class DiskForecast:
    """How much disk the words of all the text will take, from those read so far.

    A word takes a number in each of `copies`: in a spool and, at the end, another in the corpus.
    """

    def __init__(self, directory: Path, total: int | None, copies: int = 2) -> None:
        self.total = total
        self.needed = 0
        """Bytes in all."""
        self._directory = directory
        self._copies = copies
        self._spooled = self._read = 0
        self._due = max(1, (total or 0) // 100)

    def take(self, tokens: int, read: int) -> bool:
        """Note that `read` bytes of the input had `tokens` words; return whether `needed` is new.

        Raises `DiskLimitError` where the rest will not fit, as early as that can be told.
        """
        self._spooled += 4 * tokens
        self._read += read
        if not self.total or self._read < self._due:
            return False
        self._due = 2 * self._read
        self.needed = int(self._copies * self._spooled * max(1.0, self.total / self._read))
        require_disk(
            self.needed - self._spooled,
            self._directory.parent,
            "Encoding this text",
            "free some space, or choose another disk (TMPDIR, for temporary files)",
        )
        return True


def spool(
    batches: Iterable[DocumentBatch],
    letters: NDArray[np.int32],
    workers: list[Spooler],
    threads: int,
    forecast: DiskForecast,
) -> tuple[list[Run], int]:
    """Spool all words; return the batches in order and the bytes of text they had."""
    idle: LifoQueue[Spooler] = LifoQueue()
    for worker in reversed(workers):
        idle.put(worker)

    def take(batch: DocumentBatch) -> tuple[Run, int, int]:
        worker = idle.get()
        try:
            return worker.take(batch, letters), batch.text.size, batch.progress
        finally:
            idle.put(worker)

    runs = []
    text_bytes = 0
    with progress("reading", forecast.total, "B") as bar:
        for run, size, used in in_order(take, batches, threads):
            runs.append(run)
            text_bytes += size
            bar.update(used)
            if forecast.take(run.tokens, used):
                bar.set_postfix_str(f"{forecast.needed / 1e9:.1f} GB of temporary disk")
    return runs, text_bytes


def document_lengths(runs: list[Run]) -> NDArray[np.int64]:
    """Return how many words each document has; one may be spread over several batches."""
    before = np.cumsum([0, *(run.tokens for run in runs)])
    ends = [run.token_ends + start for run, start in zip(runs, before, strict=False)]
    return np.diff(np.concatenate([np.zeros(1, dtype=np.int64), *ends]))


def split_by_run(kept: NDArray[np.bool_], runs: list[Run]) -> list[NDArray[np.bool_]]:
    """Return for each batch which of its documents are kept, the one that continues included."""
    padded = np.append(kept, True)
    ends = np.cumsum([run.token_ends.size for run in runs])
    return [
        padded[end - run.token_ends.size : end + 1] for run, end in zip(runs, ends, strict=True)
    ]


def count_kept(
    workers: list[Spooler], runs: list[Run], kept_of: list[NDArray[np.bool_]], threads: int
) -> dict[Spooler, NDArray[np.int64]]:
    """Return how often each worker met each word in documents that are kept."""

    def count(worker: Spooler) -> NDArray[np.int64]:
        counts = worker.interner.counts
        for run, kept in zip(runs, kept_of, strict=True):
            if run.worker is worker and not kept.all():
                kernels.subtract_documents(worker.give(run), run.token_ends, ~kept, counts)
        return counts

    return dict(zip(workers, in_order(count, workers, threads), strict=True))


class FoundWords:
    """The words of all workers together, each at a place, with their counts."""

    def __init__(self, workers: list[Spooler], counts: dict[Spooler, NDArray[np.int64]]) -> None:
        first, *others = workers
        self._interner = first.interner
        self._places = {first: np.arange(len(self._interner))}
        for other in others:
            spelled = other.interner.spellings, other.interner.ends
            self._places[other] = self._interner.intern(*spelled, amount=0).astype(np.int64)
        self.counts = np.zeros(len(self._interner), dtype=np.int64)
        """How often the word at each place occurs in documents that are kept."""
        for worker, place in self._places.items():
            self.counts[place] += counts[worker]

    def spell(self, places: NDArray[np.int64]) -> list[str]:
        """Return the words at some places."""
        return self._interner.words(places)

    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the contiguous UTF-8 of all words, and where each ends."""
        return self._interner.spellings, self._interner.ends

    def places(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Return the place of each word of `vocabulary`, after all others where it is new."""
        return self._interner.intern(*packed(vocabulary.words), amount=0).astype(np.int64)

    def counts_of(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts of the words at some places, 0 for words that are new."""
        known = places < self.counts.size
        counts = np.zeros(places.size, dtype=np.int64)
        counts[known] = self.counts[places[known]]
        return counts

    def numbers(
        self, places: NDArray[np.int64], *, mask: bool
    ) -> dict[Spooler, NDArray[np.uint32]]:
        """Return for each worker the number among `places` of each word that it met."""
        others = places.size if mask else kernels.DROPPED
        number = np.full(len(self._interner), others, dtype=np.uint32)
        number[places] = np.arange(places.size, dtype=np.uint32)
        return {worker: number[place] for worker, place in self._places.items()}
