"""The encoder: number the words of batches, choose some, renumber.

Text is split into words once. Each worker numbers the words of its batches in its own way and
writes the numbers to a spool file. When all text has been read, the words of all workers are
counted together, some are chosen, and the spooled numbers are replaced by those of the chosen
words, batch by batch in the order of the text. So the result is the same for any number of
workers and any size of batches, and only the distinct words need to fit in memory.

Where words are chosen later, from other text as well, the numbers of one worker are the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from qwem._internal.arrays import id_dtype
from qwem._internal.blocks import in_order
from qwem.corpus import kernels
from qwem.corpus.spooling import (
    DiskForecast,
    FoundWords,
    Run,
    Spooler,
    count_kept,
    document_lengths,
    split_by_run,
    spool,
)
from qwem.errors import EmptyCorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.batches import DocumentBatch
    from qwem.corpus.reading import Reading

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
    workers = [Spooler(directory / f"spool-{number}") for number in range(threads)]
    try:
        forecast = DiskForecast(directory, total)
        runs, text_bytes = spool(batches, letters, workers, threads, forecast)
        lengths = document_lengths(runs)
        kept = lengths >= reading.min_tokens
        if not may_be_empty:
            _check_documents(lengths, kept, reading.min_tokens)
        kept_of = split_by_run(kept, runs)
        found = FoundWords(workers, count_kept(workers, runs, kept_of, threads))
        places, words = choose(found)
        numbers = found.numbers(places, mask=reading.oov == "mask")
        dtype = id_dtype(places.size + (reading.oov == "mask"))

        def renumber(
            task: tuple[Run, NDArray[np.bool_]],
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
    worker = Spooler(tokens_file)
    forecast = DiskForecast(tokens_file.parent, total, copies=1)
    runs, text_bytes = spool(batches, letters, [worker], 1, forecast)
    lengths = document_lengths(runs)
    kept = lengths >= min_tokens
    found = FoundWords([worker], count_kept([worker], runs, split_by_run(kept, runs), 1))
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
            f"{lengths.max():,} words, and `min_tokens` is {min_tokens:,}."
        )


def _renumber(
    run: Run,
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
