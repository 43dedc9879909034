"""Text as batches of documents, which the encoder takes; plain-text files read into batches."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import announce, require_memory
from qwem._internal.results import with_article
from qwem.corpus._files import documents_of, find_files, looks_like_table, open_text
from qwem.corpus.tokenizer import Tokenizer, resolve
from qwem.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus._files import InputFile, PathLike, TextStream
    from qwem.corpus._remote import RemoteFile
    from qwem.corpus.reading import Errors, Reading
    from qwem.corpus.tokenizer import Split

logger = logging.getLogger(__name__)

BATCH_BYTES = 1 << 22
"""Size of a batch of text: large enough for the compiled loops to be fast, small in memory."""
_SAMPLE_BYTES = 1 << 16
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]+"
)
"""Thai, Lao, Burmese, Khmer, kana and Chinese characters."""
_UNSPACED_CHARACTERS, _WORD_CHARACTERS = 100, 5
_TAG = re.compile(
    r"</?(a|b|br|div|em|font|h[1-6]|i|img|li|p|span|strong|table|td|tr|ul)(?:[\s/][^<>]{0,200})?>",
    re.IGNORECASE,
)
_FEW_TAGS = 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COPIES = 6  # copies of a long line in memory, from its bytes to the parsed text
_GAP = re.compile(rb"\n[ \t\r]*\n\s*")
"""The empty lines between two paragraphs."""
_LAST_GAP = re.compile(rb"(?s).*\n[ \t\r]*\n(?=\s*\S)")
_LAST_SPACE = re.compile(rb"(?s).*\s(?=\S)")
_NO_TEXT = np.empty(0, dtype=np.uint8)
_END_HERE = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True)
class TextBatch:
    """The UTF-8 of contiguous documents.

    ``ends[d]`` is where document d ends. Text after the last end is the beginning of a document
    that continues in the next batch; it ends with a character that is not a letter, so that no word
    is split. `progress` is how many bytes of the input were read for this batch.
    """

    text: NDArray[np.uint8]
    ends: NDArray[np.int64]
    progress: int = 0


@dataclass(frozen=True)
class WordBatch:
    """Documents as words: word i ends at ``word_ends[i]``, document d at word ``ends[d]``."""

    text: NDArray[np.uint8]
    word_ends: NDArray[np.int64]
    ends: NDArray[np.int64]
    progress: int = 0


DocumentBatch = TextBatch | WordBatch


@dataclass(frozen=True)
class Source:
    """Text, opened and ready to be encoded."""

    batches: Iterable[DocumentBatch]
    tokenizer: Tokenizer
    """Splits batches of text; batches of words don't use it."""
    description: dict[str, Any]
    """Where the text is from and how it is split. The corpus records it after reading all text."""
    size: int | None = None
    """The sum of the batches' `progress`, if it is known."""

    @classmethod
    def of_text(
        cls,
        batches: Iterable[TextBatch],
        reading: Reading,
        description: dict[str, Any],
        size: int | None = None,
    ) -> Source:
        """Return text that is split into words as `reading` says."""
        tokenizer = resolve(reading.tokenizer)
        words: Iterable[DocumentBatch]
        if tokenizer.split is None:
            words = _inspected(batches, tokenizer)
        else:
            words = split_words(batches, tokenizer.split, reading.errors)
        description["tokenizer"] = tokenizer.name
        return cls(words, tokenizer, description, size)


def packed(texts: Sequence[str | None]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the UTF-8 of all texts in one array, and where each text ends; None is empty."""
    encoded = [text.encode("utf-8") if text else b"" for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), ends


def from_texts(
    texts: Sequence[str | None], errors: Errors, name: Callable[[int], str]
) -> TextBatch:
    """Return texts as a batch; ``name(i)`` is what an error message calls text i."""
    try:
        text, ends = packed(texts)
        return TextBatch(text, ends, text.size)
    except UnicodeEncodeError:
        if errors == "replace":
            return from_texts([text and valid_text(text) for text in texts], errors, name)
        bad = next(i for i, text in enumerate(texts) if text and valid_text(text) != text)
        raise CorpusError(
            f"{name(bad)} has half a surrogate pair in it, which is not a character; "
            "pass `errors='replace'` to put ? in its place."
        ) from None


def from_words(documents: list[list[str]], errors: Errors, first: int) -> WordBatch:
    """Return documents that are lists of words as a batch, without empty words.

    `first` is the number of the first document, for error messages.
    """
    words = [word for document in documents for word in document if word]
    ends = np.cumsum([sum(map(bool, document)) for document in documents], dtype=np.int64)

    def name(word: int) -> str:
        document = first + int(np.searchsorted(ends, word, side="right"))
        return f"The word {words[word]!r} of document {document}"

    batch = from_texts(words, errors, name)
    if np.isin(batch.text, [ord("\n"), ord("\r")]).any():
        broken = next(i for i, word in enumerate(words) if "\n" in word or "\r" in word)
        raise CorpusError(f"{name(broken)} has a line break in it; a word must fit on one line.")
    return WordBatch(batch.text, batch.ends, ends, batch.progress)


def split_words(batches: Iterable[TextBatch], split: Split, errors: Errors) -> Iterator[WordBatch]:
    """Split the documents of `batches` into words, one document at a time."""
    first_document = 0
    rest = b""
    for batch in batches:
        text = rest + batch.text.tobytes()
        ends = (batch.ends + len(rest)).tolist()
        starts = [0, *ends]
        documents = [
            checked_words(split(_line(text[start:end])), number)
            for number, (start, end) in enumerate(zip(starts, ends, strict=False), first_document)
        ]
        rest = text[starts[-1] :]
        words = from_words(documents, errors, first_document)
        yield replace(words, progress=batch.progress)
        first_document += len(documents)


def checked_words(words: Iterable[object], document: int) -> list[str]:
    """Return the words of a document as a list, after checking that they are text."""
    checked = list(words)
    for word in checked:
        if not isinstance(word, str):
            raise CorpusError(
                f"Document {document} has {word!r} among its words, which is "
                f"{with_article(type(word).__name__)}, not text."
            )
    return checked  # type: ignore[return-value]


def _inspected(batches: Iterable[TextBatch], tokenizer: Tokenizer) -> Iterator[TextBatch]:
    """Yield the batches; raise if the first text has no spaces, and warn if it has HTML tags."""
    checked = False
    for batch in batches:
        if not checked and batch.text.size:
            checked = True
            text = _beginning(batch)
            if tokenizer.name == "words" and _lacks_spaces(text):
                raise CorpusError(
                    "The text has no spaces between words, as in Chinese, Japanese or Thai; pass "
                    "`tokenizer` 'jieba' or 'icu' or a function that splits a text into words, or "
                    "'letters' to take each run of letters as a word."
                )
            tags = _TAG.findall(text)
            if len(tags) > max(_FEW_TAGS, len(text) // 4000):
                logger.warning(
                    "The text has HTML tags in it, such as <%s>, whose names are read as words; "
                    "remove them first, for example with BeautifulSoup.",
                    tags[0],
                )
        yield batch


def _beginning(batch: TextBatch) -> str:
    """Return the first documents of a batch, one per line."""
    cuts = [0, *batch.ends[batch.ends < _SAMPLE_BYTES].tolist(), _SAMPLE_BYTES]
    text = batch.text[:_SAMPLE_BYTES].tobytes()
    documents = [text[start:end] for start, end in pairwise(cuts)]
    return b"\n".join(documents).decode("utf-8", "ignore")


def _lacks_spaces(text: str) -> bool:
    """Return whether most letters are of unspaced scripts, in runs that are longer than words."""
    runs = _UNSPACED.findall(text)
    characters = sum(map(len, runs))
    mostly = 2 * characters > sum(map(str.isalpha, text))
    return mostly and characters > max(_UNSPACED_CHARACTERS, _WORD_CHARACTERS * len(runs))


def gather(batches: Iterable[TextBatch]) -> Iterator[TextBatch]:
    """Join small batches, so that many small files cost no more than one large file."""
    waiting: list[TextBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.text.size + 8 * batch.ends.size
        if size >= BATCH_BYTES // 2:
            yield _joined(waiting)
            waiting, size = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[TextBatch]) -> TextBatch:
    if len(batches) == 1:
        return batches[0]
    before = np.cumsum([0, *(batch.text.size for batch in batches[:-1])])
    return TextBatch(
        np.concatenate([batch.text for batch in batches]),
        np.concatenate([batch.ends + start for batch, start in zip(batches, before, strict=True)]),
        sum(batch.progress for batch in batches),
    )


def _line(text: bytes) -> str:
    return text.decode("utf-8").removesuffix("\n").removesuffix("\r")


def valid_bytes(data: bytes, errors: Errors, path: Path | RemoteFile, position: int) -> bytes:
    """Return `data`, read at `position` in a file, as valid UTF-8 without a byte order mark.

    ``errors="replace"`` puts U+FFFD where `bytes.decode` would.
    """
    if not is_valid(data):
        if errors == "strict":
            start = first_error(data)
            raise CorpusError(
                f"{path} is not valid UTF-8 at byte {position + start} (0x{data[start]:02x}); "
                "pass the `encoding` in which it was written, such as 'cp1252', or "
                "`errors='replace'` to put U+FFFD there."
            )
        data = data.decode("utf-8", "replace").encode("utf-8")
    return data.removeprefix(_BYTE_ORDER_MARK) if position == 0 else data


def valid_text(text: str) -> str:
    """Return `text` with "?" for each half of a surrogate pair, which UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def is_valid(data: bytes) -> bool:
    """Return whether bytes are valid UTF-8; Arrow is faster than decoding and releases the GIL."""
    import pyarrow as pa

    offsets = np.array([0, len(data)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def first_error(data: bytes) -> int:
    """Return the position of the first byte that is not valid UTF-8."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    raise AssertionError("valid UTF-8 has no error")


def open_files(files: Sequence[InputFile], reading: Reading) -> Source:
    """Return files as a source of text; see `Corpus.from_files`.

    Its description says what the documents of plain text are once all files have been read.
    """
    description: dict[str, Any] = {"input": "files", "files": len(files)}
    formats = {file.format for file in files}
    if "text" in formats:
        description["documents"] = reading.documents
    if formats - {"text"}:
        description["text"] = reading.text
    if reading.encoding != "utf-8":
        description["encoding"] = reading.encoding
    if reading.query is not None:
        description["query"] = reading.query
    size = sum(file.size for file in files)
    batches = gather(_read_files(files, reading, description))
    return Source.of_text(batches, reading, description, size)


def read_texts(paths: PathLike | Iterable[PathLike], reading: Reading) -> Iterator[str]:
    """Yield the documents of files as text, not split into words."""
    rest = b""
    for batch in _read_files(find_files(paths), reading, {}):
        data, start = batch.text.tobytes(), 0
        for end in batch.ends.tolist():
            yield (rest + data[start:end]).decode("utf-8")
            rest, start = b"", end
        rest += data[start:]


def _read_files(
    files: Sequence[InputFile], reading: Reading, description: dict[str, Any]
) -> Iterator[TextBatch]:
    """Yield the documents of all files in order; describe what documents of plain text were."""
    from qwem.corpus._tables import read_table

    units: set[str] = set()
    for file in files:
        plain = file.format == "text"
        read = _read_text(file, reading, units) if plain else read_table(file, reading)
        empty = True
        before = 0
        for batch in read:
            empty = empty and not batch.text.size and not batch.ends.size
            yield TextBatch(batch.text, batch.ends, batch.progress - before)
            before = batch.progress
        if empty and file.named:
            raise CorpusError(f"{file.path} is empty: there is no text to read.")
    if len(units) == 1:
        description["documents"] = units.pop()


def _read_text(file: InputFile, reading: Reading, units: set[str]) -> Iterator[TextBatch]:
    """Yield lines, paragraphs or the whole file, and add to `units` which of these it was.

    A long document is split over several batches if the tokenizer is compiled.
    """
    path = file.path
    may_cut = resolve(reading.tokenizer).split is None
    with open_text(file, reading) as stream:
        unit = documents_of(stream.head, file, reading)
        if unit == "paragraph" and reading.documents == "auto" and unit not in units:
            announce(
                f"{path} has lines that are wrapped at some width, so each of its paragraphs is a "
                "document; documents='line' or 'file' (--documents) changes that."
            )
        units.add(unit)
        if unit == "line" and looks_like_table(stream.head):
            logger.warning(
                "%s looks like a table, all of whose columns are read as text; end its name in "
                ".csv, .tsv or .jsonl to read one of them.",
                path,
            )
        is_open = False
        for position, data in byte_batches(path, stream, unit, spaces=may_cut):
            data = valid_bytes(data, reading.errors, path, position)
            text = np.frombuffer(data, np.uint8)
            ends = _document_ends(text, unit)
            if position == 0 and unit == "paragraph":  # empty lines at the start are no document
                ends = ends[ends > len(data) - len(data.lstrip())]
            yield TextBatch(text, ends, stream.bytes_read())
            is_open = not (ends.size and ends[-1] == text.size)
        if is_open:
            yield TextBatch(_NO_TEXT, _END_HERE, stream.bytes_read())


def _document_ends(text: NDArray[np.uint8], unit: str) -> NDArray[np.int64]:
    if unit == "line":
        return np.flatnonzero(text == ord("\n")) + 1
    if unit == "file":
        return _END_HERE[:0]
    return np.array([gap.end() for gap in _GAP.finditer(text.tobytes())], dtype=np.int64)


def byte_batches(
    path: Path | RemoteFile, stream: TextStream, unit: str, *, spaces: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file in batches, with their positions, cut after a document.

    A batch in which no document ends is cut after a space if `spaces` allows it, and otherwise
    grows until one ends. It is an error if memory would not suffice: a few kilobytes of a
    compressed file may be a line of many gigabytes.
    """
    position = 0
    rest = b""
    while block := stream.read(max(BATCH_BYTES, len(rest))):
        data = rest + block
        cut = data.rfind(b"\n") + 1 if unit == "line" else 0
        if unit == "paragraph" and (found := _LAST_GAP.match(data)):
            cut = found.end()
        if not cut and spaces and (found := _LAST_SPACE.match(data)):
            cut = found.end()
        if cut:
            yield position, data[:cut]
        position += cut
        rest = data[cut:]
        if len(rest) > BATCH_BYTES:
            require_memory(
                _COPIES * 2 * len(rest),
                f"A {unit if unit == 'line' else 'document'} of {path}, more than "
                f"{len(rest) / 1e6:,.0f} MB long,",
                "split it",
            )
    if rest:
        yield position, rest
