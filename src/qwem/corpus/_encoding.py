"""The encoder: number the words of all batches, choose the vocabulary, renumber.

Text is split into words once. Each thread numbers the words of its batches by first occurrence and
writes the numbers to a spool. When all text has been read, the words of all spools are counted
together, the vocabulary is chosen, and the spooled numbers are replaced by its token ids, batch by
batch in the order of the text. So the result is the same for any number of threads and any size of
batches, and only the distinct words need to fit in memory.
"""

from __future__ import annotations

import hashlib
import unicodedata
from dataclasses import dataclass
from queue import LifoQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qwem._internal.arrays import id_dtype, in_order
from qwem._internal.files import DiskForecast
from qwem._internal.resources import progress, thread_count
from qwem.corpus import _word_table, kernels
from qwem.corpus._text import DocumentBatch, TextBatch, packed
from qwem.corpus.corpus import TOKENS_FILE, Corpus, map_tokens
from qwem.corpus.vocabulary import Vocabulary, choose_words
from qwem.errors import EmptyCorpusError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus._text import Source
    from qwem.corpus.reading import Reading
    from qwem.corpus.tokenizer import Tokenizer

Scalar = TypeVar("Scalar", bound=np.generic)

# Lower case needs at most half as many bytes again (Ⱥ has two, ⱥ three).
_GROWTH = 2
_SLACK = 64  # words are read and written eight bytes at a time
FIRST_WORDS = 1 << 15


def encode(
    source: Source,
    reading: Reading,
    vocabulary: Vocabulary | None,
    folder: Path,
    *,
    allow_empty: bool = False,
) -> Corpus:
    """Encode text into a folder, with the given vocabulary or one chosen from the text."""
    threads = thread_count()
    masked = reading.oov == "mask"
    spools = [Spool(folder / f"spool-{number}") for number in range(threads)]
    try:
        forecast = DiskForecast(
            folder.parent,
            source.size,
            "Encoding this text",
            copies=2,  # one in the spool and, at the end, one in the corpus
        )
        spooled, text_bytes = spool_batches(source, spools, forecast)
        lengths = document_lengths(spooled)
        kept = lengths >= reading.min_tokens
        if not allow_empty and vocabulary is None:
            _check_documents(lengths, kept, reading.min_tokens)
        kept_of = split_by_batch(kept, spooled)
        counts = count_kept(spools, spooled, kept_of)
        found = FoundWords(spools, counts, composed=source.tokenizer.composed)
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

        tasks = zip(spooled, kept_of, strict=True)
        written = write_tokens(folder, dtype, in_order(renumber, tasks, threads))
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
    return Corpus.of_tokens(*written, chosen, settings)


def write_tokens(
    folder: Path, dtype: np.dtype[Any], chunks: Iterable[tuple[NDArray[Any], NDArray[np.int64]]]
) -> tuple[NDArray[Any], NDArray[np.int64], Any]:
    """Write chunks of token ids to a folder, each with the ends of its documents.

    Returns the memory map of the token ids, the offsets of all documents, and the SHA-256 of the
    token ids.
    """
    offsets, digest, written = [np.zeros(1, dtype=np.int64)], hashlib.sha256(), 0
    with (folder / TOKENS_FILE).open("wb") as file:
        for tokens, ends in chunks:
            file.write(tokens.data)
            digest.update(tokens.data)
            offsets.append(ends + written)
            written += tokens.size
    return map_tokens(folder / TOKENS_FILE, dtype, written), np.concatenate(offsets), digest


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


@dataclass(frozen=True)
class SpooledBatch:
    """The words of one batch: their place in a spool, and where each document ends in them."""

    spool: Spool
    first: int
    tokens: int
    token_ends: NDArray[np.int64]

    def read(self) -> NDArray[np.uint32]:
        """Return the numbers of the words."""
        return np.fromfile(self.spool.file, np.uint32, self.tokens, offset=4 * self.first)


class Spool:
    """The words that one thread has numbered, and the file it writes their numbers to."""

    def __init__(self, file: Path) -> None:
        self.interner = Interner()
        self.file = file
        self._tokens = 0
        file.touch()

    def append(self, batch: DocumentBatch, tokenizer: Tokenizer) -> SpooledBatch:
        """Write the numbers of a batch's words to the file."""
        if isinstance(batch, TextBatch):
            ids, token_ends = self.interner.tokenize(batch.text, batch.ends, tokenizer.letters)
        else:
            ids = self.interner.intern(batch.text, batch.word_ends)
            token_ends = batch.ends
        with self.file.open("ab") as file:
            file.write(ids.data)
        spooled = SpooledBatch(self, self._tokens, ids.size, token_ends)
        self._tokens += ids.size
        return spooled


def spool_batches(
    source: Source, spools: list[Spool], forecast: DiskForecast
) -> tuple[list[SpooledBatch], int]:
    """Spool all batches, with one thread per spool; return them, and the bytes of their text."""
    idle: LifoQueue[Spool] = LifoQueue()
    for spool in reversed(spools):
        idle.put(spool)

    def append(batch: DocumentBatch) -> tuple[SpooledBatch, int, int]:
        spool = idle.get()
        try:
            return spool.append(batch, source.tokenizer), batch.text.size, batch.progress
        finally:
            idle.put(spool)

    spooled = []
    text_bytes = 0
    if source.tokenizer.split is None:  # compile now: the bar would stand still meanwhile
        nothing = np.empty(0, np.uint8), np.empty(0, np.int64)
        spools[0].interner.tokenize(*nothing, source.tokenizer.letters)
    with progress("reading", forecast.total, "B") as bar:
        for batch, size, read in in_order(append, source.batches, len(spools)):
            spooled.append(batch)
            text_bytes += size
            bar.update(read)
            if forecast.add(4 * batch.tokens, read):
                bar.set_postfix_str(f"{forecast.needed / 1e9:.1f} GB of temporary disk")
    return spooled, text_bytes


def document_lengths(batches: list[SpooledBatch]) -> NDArray[np.int64]:
    """Return how many words each document has; one may be spread over several batches."""
    before = np.cumsum([0, *(batch.tokens for batch in batches)])
    ends = [batch.token_ends + start for batch, start in zip(batches, before, strict=False)]
    return np.diff(np.concatenate([np.zeros(1, dtype=np.int64), *ends]))


def split_by_batch(kept: NDArray[np.bool_], batches: list[SpooledBatch]) -> list[NDArray[np.bool_]]:
    """Return which documents of each batch are kept, including one that continues after it."""
    padded = np.append(kept, True)
    ends = np.cumsum([batch.token_ends.size for batch in batches])
    return [
        padded[end - batch.token_ends.size : end + 1]
        for batch, end in zip(batches, ends, strict=True)
    ]


def count_kept(
    spools: list[Spool], batches: list[SpooledBatch], kept_of: list[NDArray[np.bool_]]
) -> list[NDArray[np.int64]]:
    """Return how often each word of each spool occurs in documents that are kept."""

    def count(spool: Spool) -> NDArray[np.int64]:
        counts = spool.interner.counts
        for batch, kept in zip(batches, kept_of, strict=True):
            if batch.spool is spool and not kept.all():
                kernels.subtract_documents(batch.read(), batch.token_ends, ~kept, counts)
        return counts

    return list(in_order(count, spools, len(spools)))


class FoundWords:
    """The words of all spools together, each with a number and a count."""

    def __init__(
        self, spools: list[Spool], counts: list[NDArray[np.int64]], *, composed: bool
    ) -> None:
        self._interner = spools[0].interner
        self._numbers = {}
        for spool in spools:
            spelled = spool.interner.spellings, spool.interner.ends
            if composed and not _is_composed(spelled[0]):
                words = "\n".join(spool.interner.words(np.arange(len(spool.interner))))
                spelled = packed(unicodedata.normalize("NFC", words).split("\n"))
            elif spool is spools[0]:
                self._numbers[spool] = np.arange(len(self._interner))
                continue
            self._numbers[spool] = self._interner.intern(*spelled, amount=0).astype(np.int64)
        self.counts = np.zeros(len(self._interner), dtype=np.int64)
        """How often each word occurs in documents that are kept."""
        for numbers, found in zip(self._numbers.values(), counts, strict=True):
            np.add.at(self.counts, numbers, found)

    def spell(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the words with these numbers."""
        return self._interner.words(numbers)

    def numbers(self, vocabulary: Vocabulary) -> NDArray[np.int64]:
        """Return the number of each word of `vocabulary`; new words get the next numbers."""
        return self._interner.intern(*packed(vocabulary.words), amount=0).astype(np.int64)

    def counts_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts of the words with these numbers, 0 for new words."""
        known = numbers < self.counts.size
        counts = np.zeros(numbers.size, dtype=np.int64)
        counts[known] = self.counts[numbers[known]]
        return counts

    def token_ids(
        self, chosen: NDArray[np.int64], *, mask: bool
    ) -> dict[Spool, NDArray[np.uint32]]:
        """Return the token id of each word of each spool, given the chosen words."""
        others = chosen.size if mask else kernels.DROPPED
        token_id = np.full(len(self._interner), others, dtype=np.uint32)
        token_id[chosen] = np.arange(chosen.size, dtype=np.uint32)
        return {spool: token_id[numbers] for spool, numbers in self._numbers.items()}


class Interner:
    """A table that numbers distinct words and counts them; not thread-safe."""

    def __init__(self) -> None:
        self._table = np.zeros(2 * FIRST_WORDS, dtype=np.uint64)
        self._entries = np.empty((FIRST_WORDS, 4), dtype=np.uint64)
        self._arena = np.empty(_SLACK, dtype=np.uint8)
        self._ids = np.empty(0, dtype=np.uint32)
        self._words = 0

    def __len__(self) -> int:
        return self._words

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each word occurred."""
        return self._entries[: self._words, _word_table.COUNT].astype(np.int64)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each word ends in `spellings`."""
        return self._entries[: self._words, _word_table.END].astype(np.int64)

    @property
    def spellings(self) -> NDArray[np.uint8]:
        """The UTF-8 of all words, contiguous."""
        return self._arena[: self._bytes]

    def words(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the words with these numbers."""
        ends = self.ends
        starts = np.concatenate([[0], ends[:-1]])
        text = self.spellings.tobytes()
        bounds = zip(starts[numbers].tolist(), ends[numbers].tolist(), strict=True)
        if text.isascii():  # one byte per letter
            letters = text.decode("ascii")
            return [letters[start:end] for start, end in bounds]
        return [text[start:end].decode("utf-8") for start, end in bounds]

    def tokenize(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], letters: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the numbers of the words in `text`, and how many there are up to each of `ends`.

        The numbers are overwritten by the next call.
        """
        # At most one word per two bytes: there is a byte between any two words of a document.
        self._make_room(text.size, (text.size + ends.size) // 2 + 1)
        text, ends, letters = _frozen(text), _frozen(ends), _frozen(letters)
        token_ends = np.empty(ends.size, dtype=np.int64)
        state = np.array([self._words, 0, 0, 0], dtype=np.int64)
        while not kernels.tokenize(
            text,
            ends,
            letters,
            self._table,
            self._entries,
            self._arena,
            self._ids,
            token_ends,
            state,
        ):
            self._grow(int(state[_word_table.WORDS]))
        self._words = int(state[_word_table.WORDS])
        return self._ids[: state[_word_table.TOKENS]], token_ends

    def intern(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], amount: int = 1
    ) -> NDArray[np.uint32]:
        """Return the numbers of given words, each counted `amount` times.

        The numbers are overwritten by the next call.
        """
        self._make_room(text.size, ends.size)
        text, ends = _frozen(text), _frozen(ends)
        state = np.array([self._words, 0, 0, 0], dtype=np.int64)
        while not _word_table.intern(
            text, ends, amount, self._table, self._entries, self._arena, self._ids, state
        ):
            self._grow(int(state[_word_table.WORDS]))
        self._words = int(state[_word_table.WORDS])
        return self._ids[: ends.size]

    def look_up(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], unknown: int
    ) -> NDArray[np.uint32]:
        """Return the numbers of given words, and `unknown` for words not in the table."""
        longest = int(np.diff(ends, prepend=0).max(initial=0))
        self._make_room(longest, 0)
        numbers = np.empty(ends.size, dtype=np.uint32)
        _word_table.look_up(
            _frozen(text),
            _frozen(ends),
            unknown,
            self._table,
            self._entries,
            self._arena,
            self._words,
            numbers,
        )
        return numbers

    @property
    def _bytes(self) -> int:
        return int(self._entries[self._words - 1, _word_table.END]) if self._words else 0

    def _make_room(self, text_bytes: int, tokens: int) -> None:
        """Reserve space for any batch of this size; untouched space costs no memory."""
        if self._ids.size < tokens:
            self._ids = np.empty(tokens, dtype=np.uint32)
        needed = self._bytes + _GROWTH * text_bytes + _SLACK
        if self._arena.size < needed:
            arena = np.empty(max(needed, 2 * self._arena.size), dtype=np.uint8)
            arena[: self._bytes] = self.spellings
            self._arena = arena

    def _grow(self, words: int) -> None:
        entries = np.empty((4 * len(self._entries), 4), dtype=np.uint64)
        entries[:words] = self._entries[:words]
        self._entries = entries
        self._table = np.zeros(2 * len(entries), dtype=np.uint64)
        _word_table.rehash(entries, words, self._table)


def _is_composed(text: NDArray[np.uint8]) -> bool:
    """Return whether UTF-8 is in normal form C; then so is each word in it."""
    return bool((text < 0x80).all()) or unicodedata.is_normalized("NFC", text.tobytes().decode())


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view, as kernels would be compiled again for writable arrays."""
    view = array.view()
    view.setflags(write=False)
    return view
