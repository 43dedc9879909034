"""The encoder: number the words of batches, choose some, renumber.

Text is split into words once. Each worker numbers the words of its batches in its own way and
writes the numbers to a spool file. When all text has been read, the words of all workers are
counted together, some are chosen, and the spooled numbers are replaced by those of the chosen
words, batch by batch in the order of the text. So the result is the same for any number of
workers and any size of batches, and only the distinct words need to fit in memory.

Where words are chosen later, from other text as well, the numbers of one worker are the result.
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from qwem._internal.progress import progress
from qwem._internal.resources import require_disk
from qwem.corpus import kernels
from qwem.corpus.batches import DocumentBatch, TextBatch
from qwem.corpus.interner import Interner, packed
from qwem.errors import EmptyCorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.reading import Reading
    from qwem.corpus.vocabulary import Vocabulary

Item = TypeVar("Item")
Result = TypeVar("Result")
Words = TypeVar("Words")


@dataclass(frozen=True)
class Encoded(Generic[Words]):
    """The result of encoding, apart from the token ids, which are in a file."""

    dtype: np.dtype[Any]
    offsets: NDArray[np.int64]
    words: Words
    """What was chosen."""
    digest: Any
    """The SHA-256 of the token ids so far, where that was asked for."""
    statistics: dict[str, int]


@dataclass(frozen=True)
class EncodedAsMet:
    """All text as numbers of words in the order in which these were met; they are in a file."""

    offsets: NDArray[np.int64]
    """Where documents begin and end, those that are not kept too."""
    kept: NDArray[np.bool_]
    """Which documents are kept."""
    found: FoundWords
    statistics: dict[str, int]


@dataclass(frozen=True)
class _Run:
    """The words of one batch: where they are spooled, and where its documents end in them."""

    worker: _Worker
    first: int
    tokens: int
    token_ends: NDArray[np.int64]


class _Worker:
    """One thread's numbering of words, and the file where it spools the numbers."""

    def __init__(self, spool: Path) -> None:
        self.interner = Interner()
        self._spool = spool
        self._spooled = 0
        spool.touch()

    def take(self, batch: DocumentBatch, letters: NDArray[np.int32]) -> _Run:
        """Spool the numbers of the words of a batch."""
        if isinstance(batch, TextBatch):
            ids, token_ends = self.interner.tokenize(batch.text, batch.ends, letters)
        else:
            ids = self.interner.intern(batch.text, batch.word_ends)
            token_ends = batch.ends
        with self._spool.open("ab") as file:
            file.write(ids.data)
        run = _Run(self, self._spooled, ids.size, token_ends)
        self._spooled += ids.size
        return run

    def give(self, run: _Run) -> NDArray[np.uint32]:
        """Return the numbers that were spooled for a batch."""
        return np.fromfile(self._spool, np.uint32, run.tokens, offset=4 * run.first)

    def remove(self) -> None:
        """Remove the spool."""
        self._spool.unlink()


class _DiskForecast:
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


def encode(
    batches: Iterable[DocumentBatch],
    letters: NDArray[np.int32],
    reading: Reading,
    choose: Callable[[FoundWords], tuple[NDArray[np.int64], Words]],
    *,
    threads: int,
    total: int | None,
    directory: Path,
    tokens_file: Path,
    may_be_empty: bool = False,
    digest: Any = None,
) -> Encoded[Words]:
    """Encode text into `tokens_file`, with spools in `directory` that are removed at the end.

    Parameters
    ----------
    batches
        The text.
    letters
        The table of a compiled tokenizer; batches of words don't use it.
    reading
        Its `min_tokens` and `oov` are used.
    choose
        What returns the words that are kept, given all: the place of each, and what is to be known
        of them.
    threads
        How many to use.
    total
        The sum of the batches' `progress`, for the progress bar.
    directory
        Where the spools are.
    tokens_file
        Where token ids go.
    may_be_empty
        Whether text without words is no error.
    digest
        A hash that is to be updated with the token ids.
    """
    workers = [_Worker(directory / f"spool-{number}") for number in range(threads)]
    try:
        forecast = _DiskForecast(directory, total)
        runs, text_bytes = _spool(batches, letters, workers, threads, forecast)
        lengths = _document_lengths(runs)
        kept = lengths >= reading.min_tokens
        if not may_be_empty:
            _check_documents(lengths, kept, reading.min_tokens)
        kept_of = _split_by_run(kept, runs)
        found = FoundWords(workers, _counts(workers, runs, kept_of, threads))
        places, words = choose(found)
        numbers = found.numbers(places, mask=reading.oov == "mask")
        dtype = id_dtype(places.size + (reading.oov == "mask"))

        def renumber(
            task: tuple[_Run, NDArray[np.bool_]],
        ) -> tuple[NDArray[Any], NDArray[np.int64]]:
            run, kept_documents = task
            return _renumber(run, kept_documents, numbers[run.worker], dtype)

        offsets = [np.zeros(1, dtype=np.int64)]
        written = 0
        tasks = zip(runs, kept_of, strict=True)
        with tokens_file.open("wb") as file:
            for out, out_ends in in_order(renumber, tasks, threads):
                file.write(out.data)
                if digest is not None:
                    digest.update(out.data)
                offsets.append(out_ends + written)
                written += out.size
    finally:
        for worker in workers:
            worker.remove()
    words_kept = int(found.counts_of(places).sum())
    statistics = _statistics(text_bytes, lengths, kept, words_kept)
    return Encoded(dtype, np.concatenate(offsets), words, digest, statistics)


def encode_as_met(
    batches: Iterable[DocumentBatch],
    letters: NDArray[np.int32],
    min_tokens: int,
    *,
    total: int | None,
    tokens_file: Path,
) -> EncodedAsMet:
    """Encode text into `tokens_file`, each word as the number in whose order it was met.

    Other parameters are those of `encode`. Documents shorter than `min_tokens` stay in the file,
    and all may be.
    """
    worker = _Worker(tokens_file)
    forecast = _DiskForecast(tokens_file.parent, total, copies=1)
    runs, text_bytes = _spool(batches, letters, [worker], 1, forecast)
    lengths = _document_lengths(runs)
    kept = lengths >= min_tokens
    found = FoundWords([worker], _counts([worker], runs, _split_by_run(kept, runs), 1))
    words_kept = int(found.counts.sum())
    statistics = _statistics(text_bytes, lengths, kept, words_kept)
    return EncodedAsMet(np.concatenate(([0], np.cumsum(lengths))), kept, found, statistics)


def _statistics(
    text_bytes: int, lengths: NDArray[np.int64], kept: NDArray[np.bool_], words_kept: int
) -> dict[str, int]:
    """Return how much text was read, how much of it is kept, and how many of its words are."""
    return {
        "text_bytes": text_bytes,
        "documents_read": lengths.size,
        "documents_kept": int(kept.sum()),
        "words_read": int(lengths.sum()),
        "words_counted": int(lengths[kept].sum()),
        "words_kept": words_kept,
    }


def id_dtype(ids: int) -> np.dtype[Any]:
    """Return the type of token ids below `ids`."""
    return np.dtype("<u2" if ids <= 1 << 16 else "<u4")


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Apply `function` to each of `items` in several threads, and yield the results in order.

    Items are taken only a few ahead of the results.
    """
    if threads == 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _spool(
    batches: Iterable[DocumentBatch],
    letters: NDArray[np.int32],
    workers: list[_Worker],
    threads: int,
    forecast: _DiskForecast,
) -> tuple[list[_Run], int]:
    """Spool all words; return the batches in order and the bytes of text they had."""
    idle: LifoQueue[_Worker] = LifoQueue()
    for worker in reversed(workers):
        idle.put(worker)

    def take(batch: DocumentBatch) -> tuple[_Run, int, int]:
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


def _document_lengths(runs: list[_Run]) -> NDArray[np.int64]:
    before = np.cumsum([0, *(run.tokens for run in runs)])
    ends = [run.token_ends + start for run, start in zip(runs, before, strict=False)]
    return np.diff(np.concatenate([np.zeros(1, dtype=np.int64), *ends]))


def _split_by_run(kept: NDArray[np.bool_], runs: list[_Run]) -> list[NDArray[np.bool_]]:
    """Return for each batch which of its documents are kept, the one that continues included."""
    padded = np.append(kept, True)
    ends = np.cumsum([run.token_ends.size for run in runs])
    return [
        padded[end - run.token_ends.size : end + 1] for run, end in zip(runs, ends, strict=True)
    ]


def _check_documents(lengths: NDArray[np.int64], kept: NDArray[np.bool_], min_tokens: int) -> None:
    if not lengths.size:
        raise EmptyCorpusError("There are no documents in the input.")
    if not lengths.any():
        raise EmptyCorpusError(
            f"There are no words in the {lengths.size:,} documents of the input."
        )
    if not kept.any():
        raise EmptyCorpusError(
            f"No document is left: of {lengths.size:,} documents the longest has "
            f"{lengths.max():,} words, and min_tokens is {min_tokens:,}."
        )


def _counts(
    workers: list[_Worker], runs: list[_Run], kept_of: list[NDArray[np.bool_]], threads: int
) -> dict[_Worker, NDArray[np.int64]]:
    """Return how often each worker met each word in documents that are kept."""

    def count(worker: _Worker) -> NDArray[np.int64]:
        counts = worker.interner.counts
        for run, kept in zip(runs, kept_of, strict=True):
            if run.worker is worker and not kept.all():
                kernels.subtract_documents(worker.give(run), run.token_ends, ~kept, counts)
        return counts

    return dict(zip(workers, in_order(count, workers, threads), strict=True))


class FoundWords:
    """The words of all workers together, each at a place, with their counts."""

    def __init__(self, workers: list[_Worker], counts: dict[_Worker, NDArray[np.int64]]) -> None:
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
    ) -> dict[_Worker, NDArray[np.uint32]]:
        """Return for each worker the number among `places` of each word that it met."""
        others = places.size if mask else kernels.DROPPED
        number = np.full(len(self._interner), others, dtype=np.uint32)
        number[places] = np.arange(places.size, dtype=np.uint32)
        return {worker: number[place] for worker, place in self._places.items()}


def _renumber(
    run: _Run,
    kept: NDArray[np.bool_],
    numbers: NDArray[np.uint32],
    dtype: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the token ids of a batch, and where in them the kept documents end."""
    out = np.empty(run.tokens + 1, dtype=dtype)
    out_ends = np.empty(run.token_ends.size, dtype=np.int64)
    ids = run.worker.give(run)
    written = kernels.renumber(ids, run.token_ends, kept, numbers, out, out_ends)
    return out[:written], out_ends[kept[:-1]]
