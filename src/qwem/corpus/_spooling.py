"""Spools: the words of batches as numbers, until the vocabulary is chosen.

Each thread numbers words by first occurrence.
"""

from __future__ import annotations

from dataclasses import dataclass
from queue import LifoQueue
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qwem._internal.arrays import in_order
from qwem._internal.resources import progress, require_disk
from qwem.corpus import kernels
from qwem.corpus._batches import DocumentBatch, TextBatch
from qwem.corpus._interner import Interner, packed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.vocabulary import Vocabulary


@dataclass(frozen=True)
class SpooledBatch:
    """The words of one batch: where they are spooled, and where its documents end in them."""

    spool: Spool
    first: int
    tokens: int
    token_ends: NDArray[np.int64]

    def read(self) -> NDArray[np.uint32]:
        """Return the numbers of the words."""
        return np.fromfile(self.spool.file, np.uint32, self.tokens, offset=4 * self.first)


class Spool:
    """One thread's numbering of words, and the file of these numbers."""

    def __init__(self, file: Path) -> None:
        self.interner = Interner()
        self.file = file
        self._tokens = 0
        file.touch()

    def append(self, batch: DocumentBatch, letters: NDArray[np.int32]) -> SpooledBatch:
        """Write the numbers of the words of a batch."""
        if isinstance(batch, TextBatch):
            ids, token_ends = self.interner.tokenize(batch.text, batch.ends, letters)
        else:
            ids = self.interner.intern(batch.text, batch.word_ends)
            token_ends = batch.ends
        with self.file.open("ab") as file:
            file.write(ids.data)
        spooled = SpooledBatch(self, self._tokens, ids.size, token_ends)
        self._tokens += ids.size
        return spooled


class Spooled(NamedTuple):
    """All batches in order, and how many bytes of text they had."""

    batches: list[SpooledBatch]
    text_bytes: int


class DiskForecast:
    """How much disk the results of all the input will take, from those of the input so far."""

    def __init__(
        self, directory: Path, total: int | None, work: str, remedy: str, copies: int = 1
    ) -> None:
        self.total = total
        self.needed = 0
        """Bytes in all: what is written, and as much again for each further copy."""
        self._directory = directory
        self._messages = work, remedy
        self._copies = copies
        self._written = self._read = 0

    def add(self, written: int, read: int) -> bool:
        """Note that `read` bytes of the input became `written`; return whether `needed` is known.

        Raises `DiskLimitError` if the rest will not fit.
        """
        self._written += written
        self._read += read
        if not self.total or 100 * self._read < self.total:
            return False
        self.needed = int(self._copies * self._written * max(1.0, self.total / max(1, self._read)))
        require_disk(self.needed - self._written, self._directory, *self._messages)
        return True


def spool_batches(
    batches: Iterable[DocumentBatch],
    letters: NDArray[np.int32],
    spools: list[Spool],
    forecast: DiskForecast,
) -> Spooled:
    """Spool all batches, with one thread per spool."""
    idle: LifoQueue[Spool] = LifoQueue()
    for spool in reversed(spools):
        idle.put(spool)

    def append(batch: DocumentBatch) -> tuple[SpooledBatch, int, int]:
        spool = idle.get()
        try:
            return spool.append(batch, letters), batch.text.size, batch.progress
        finally:
            idle.put(spool)

    spooled = []
    text_bytes = 0
    with progress("reading", forecast.total, "B") as bar:
        for batch, size, read in in_order(append, batches, len(spools)):
            spooled.append(batch)
            text_bytes += size
            bar.update(read)
            if forecast.add(4 * batch.tokens, read):
                bar.set_postfix_str(f"{forecast.needed / 1e9:.1f} GB of temporary disk")
    return Spooled(spooled, text_bytes)


def document_lengths(batches: list[SpooledBatch]) -> NDArray[np.int64]:
    """Return how many words each document has; one may be spread over several batches."""
    before = np.cumsum([0, *(batch.tokens for batch in batches)])
    ends = [batch.token_ends + start for batch, start in zip(batches, before, strict=False)]
    return np.diff(np.concatenate([np.zeros(1, dtype=np.int64), *ends]))


def split_by_batch(kept: NDArray[np.bool_], batches: list[SpooledBatch]) -> list[NDArray[np.bool_]]:
    """Return for each batch which of its documents are kept, the one that continues included."""
    padded = np.append(kept, True)
    ends = np.cumsum([batch.token_ends.size for batch in batches])
    return [
        padded[end - batch.token_ends.size : end + 1]
        for batch, end in zip(batches, ends, strict=True)
    ]


def count_kept(
    spools: list[Spool], batches: list[SpooledBatch], kept_of: list[NDArray[np.bool_]]
) -> list[NDArray[np.int64]]:
    """Return for each spool how often each of its words occurs in documents that are kept."""

    def count(spool: Spool) -> NDArray[np.int64]:
        counts = spool.interner.counts
        for batch, kept in zip(batches, kept_of, strict=True):
            if batch.spool is spool and not kept.all():
                kernels.subtract_documents(batch.read(), batch.token_ends, ~kept, counts)
        return counts

    return list(in_order(count, spools, len(spools)))


class FoundWords:
    """The words of all spools together, each with a number and a count."""

    def __init__(self, spools: list[Spool], counts: list[NDArray[np.int64]]) -> None:
        first, *others = spools
        self._interner = first.interner
        self._numbers = {first: np.arange(len(self._interner))}
        for other in others:
            spelled = other.interner.spellings, other.interner.ends
            self._numbers[other] = self._interner.intern(*spelled, amount=0).astype(np.int64)
        self.counts = np.zeros(len(self._interner), dtype=np.int64)
        """How often each word occurs in documents that are kept."""
        for numbers, found in zip(self._numbers.values(), counts, strict=True):
            self.counts[numbers] += found

    def spell(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the words with these numbers."""
        return self._interner.words(numbers)

    def numbers(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Return the number of each word of `vocabulary`, after all others where it is new."""
        return self._interner.intern(*packed(vocabulary.words), amount=0).astype(np.int64)

    def counts_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts of the words with these numbers, 0 for words that are new."""
        known = numbers < self.counts.size
        counts = np.zeros(numbers.size, dtype=np.int64)
        counts[known] = self.counts[numbers[known]]
        return counts

    def token_ids(
        self, chosen: NDArray[np.int64], *, mask: bool
    ) -> dict[Spool, NDArray[np.uint32]]:
        """Return for each spool the token id of each of its words, given the chosen words."""
        others = chosen.size if mask else kernels.DROPPED
        token_id = np.full(len(self._interner), others, dtype=np.uint32)
        token_id[chosen] = np.arange(chosen.size, dtype=np.uint32)
        return {spool: token_id[numbers] for spool, numbers in self._numbers.items()}
