"""The encoder: number the words of batches, choose some, renumber.

Text is split into words once. Each thread numbers the words of its batches in its own way and
writes the numbers to a spool. When all text has been read, the words of all spools are counted
together, some are chosen, and the spooled numbers are replaced by those of the chosen words, batch
by batch in the order of the text. So the result is the same for any number of threads and any size
of batches, and only the distinct words need to fit in memory.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks, id_dtype, in_order
from qwem._internal.files import release
from qwem._internal.resources import require_temporary_disk, thread_count
from qwem.corpus import kernels
from qwem.corpus._interner import Interner, packed
from qwem.corpus._spooling import (
    DiskForecast,
    FoundWords,
    Spool,
    count_kept,
    document_lengths,
    split_by_batch,
    spool_batches,
)
from qwem.corpus._token_stream import write_renumbered
from qwem.corpus.vocabulary import Vocabulary, choose_words
from qwem.errors import EmptyCorpusError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus._sources import Source
    from qwem.corpus._spooling import SpooledBatch
    from qwem.corpus.corpus import Corpus
    from qwem.corpus.phrases import Phrases
    from qwem.corpus.reading import Reading

TOKENS_FILE = "tokens.bin"
_CHUNK_TOKENS = 1 << 24


@dataclass(frozen=True)
class Encoded:
    """A corpus apart from its token ids, which are in the `TOKENS_FILE` of a folder."""

    dtype: np.dtype[Any]
    offsets: NDArray[np.int64]
    vocabulary: Vocabulary
    settings: dict[str, Any]
    digest: Any
    """The SHA-256 of the token ids so far."""
    first_document: int = 0
    phrases: Phrases | None = None


def encode(
    source: Source,
    reading: Reading,
    vocabulary: Vocabulary | None,
    folder: Path,
    *,
    allow_empty: bool = False,
) -> Encoded:
    """Encode text into a folder, with a given vocabulary or one that is chosen from the text."""
    threads = thread_count()
    masked = reading.oov == "mask"
    spools = [Spool(folder / f"spool-{number}") for number in range(threads)]
    try:
        forecast = DiskForecast(
            folder.parent,
            source.size,
            "Encoding this text",
            "free some space, or choose another disk (TMPDIR, for temporary files)",
            copies=2,  # one in the spool and, at the end, one in the corpus
        )
        spooled, text_bytes = spool_batches(source.batches, source.letters, spools, forecast)
        lengths = document_lengths(spooled)
        kept = lengths >= reading.min_tokens
        if not allow_empty and vocabulary is None:
            _check_documents(lengths, kept, reading.min_tokens)
        kept_of = split_by_batch(kept, spooled)
        found = FoundWords(spools, count_kept(spools, spooled, kept_of))
        if vocabulary is None:
            chosen, min_count = choose_words(
                found.counts, found.spell, reading, allow_empty=allow_empty
            )
            numbers, how = found.numbers(chosen), {"vocabulary": "chosen", "min_count": min_count}
        else:
            numbers, how = found.numbers(vocabulary), {"vocabulary": "given"}
            chosen = Vocabulary(vocabulary.words, found.counts_of(numbers))
        token_ids = found.token_ids(numbers, mask=masked)
        dtype = id_dtype(numbers.size + masked)

        def renumber(
            task: tuple[SpooledBatch, NDArray[np.bool_]],
        ) -> tuple[NDArray[Any], NDArray[np.int64]]:
            batch, kept_documents = task
            return _renumber(batch, kept_documents, token_ids[batch.spool], dtype)

        offsets = [np.zeros(1, dtype=np.int64)]
        written, digest = 0, hashlib.sha256()
        with (folder / TOKENS_FILE).open("wb") as file:
            for out, out_ends in in_order(renumber, zip(spooled, kept_of, strict=True), threads):
                file.write(out.data)
                digest.update(out.data)
                offsets.append(out_ends + written)
                written += out.size
    finally:
        for spool in spools:
            spool.file.unlink()
    settings = {
        **source.description,
        "vocab_size": len(chosen),
        **how,
        "min_tokens": reading.min_tokens,
        "oov": reading.oov,
        "errors": reading.errors,
        "text_bytes": text_bytes,
        "documents_read": lengths.size,
        "documents_kept": int(kept.sum()),
        "words_read": int(lengths.sum()),
        "words_counted": int(lengths[kept].sum()),
        "words_kept": int(chosen.counts.sum()),
    }
    return Encoded(dtype, np.concatenate(offsets), chosen, settings, digest)


def recode(corpora: Sequence[Corpus], vocabulary: Vocabulary, oov: str, folder: Path) -> Encoded:
    """Encode corpora that follow each other in other words, into a folder; no text is read."""
    masked = oov == "mask"
    dtype = id_dtype(len(vocabulary) + masked)
    other = len(vocabulary) if masked else kernels.DROPPED
    known = Interner()
    known.intern(*packed(vocabulary.words), amount=0)
    digest, offsets, written = hashlib.sha256(), [np.zeros(1, np.int64)], 0
    most = sum(corpus.tokens.size for corpus in corpora)
    require_temporary_disk(dtype.itemsize * most, "Encoding this text in other words")
    tokens_file = folder / TOKENS_FILE
    with tokens_file.open("wb") as file:
        for corpus in corpora:
            numbers = known.look_up(*packed(corpus.vocabulary.words), other)
            numbers = np.append(numbers, np.uint32(other))  # what was masked stays so
            ends = write_renumbered(
                file, corpus.tokens, corpus.offsets, numbers, dtype, digest=digest
            )
            offsets.append(ends + written)
            written += int(ends[-1]) if ends.size else 0
    settings = {
        **corpora[0].settings,
        "vocab_size": len(vocabulary),
        "oov": oov,
        "words_kept": _count_below(tokens_file, dtype, len(vocabulary)) if masked else written,
    }
    return Encoded(
        dtype,
        np.concatenate(offsets),
        vocabulary,
        settings,
        digest,
        corpora[0].first_document,
        corpora[0].phrases,
    )


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
    batch: SpooledBatch,
    kept: NDArray[np.bool_],
    token_ids: NDArray[np.uint32],
    dtype: np.dtype[Any],
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the token ids of a batch, and where in them the kept documents end."""
    out = np.empty(batch.tokens + 1, dtype=dtype)
    out_ends = np.empty(batch.token_ends.size, dtype=np.int64)
    written = kernels.renumber(batch.read(), batch.token_ends, kept, token_ids, out, out_ends)
    return out[:written], out_ends[kept[:-1]]


def _count_below(file: Path, dtype: np.dtype[Any], limit: int) -> int:
    """Return how many tokens of a file are below a limit."""
    if not file.stat().st_size:
        return 0
    tokens, found = np.memmap(file, dtype, "r"), 0
    for chunk in blocks(tokens.size, most=_CHUNK_TOKENS):
        found += int(np.count_nonzero(tokens[chunk] < limit))
        release(tokens[chunk])
    return found
