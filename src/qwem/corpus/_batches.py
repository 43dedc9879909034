"""Batches of documents: valid UTF-8 or lists of words, as readers hand them to the encoder."""

from __future__ import annotations

import difflib
import logging
import re
import textwrap
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.corpus.tokenizer import Tokenizer, resolve
from qwem.errors import CorpusError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

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
_LONGEST_COLUMN = 50  # characters of a column's name in a message
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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


def from_arrow(array: Any, progress: int = 0) -> TextBatch:
    """Return an Arrow array of text as a batch, without copying it; null is an empty document."""
    import pyarrow as pa

    if array.null_count:
        array = array.fill_null("")
    array = array.cast(pa.large_string())
    _, offsets_buffer, text_buffer = array.buffers()
    if not len(array):
        return TextBatch(np.empty(0, np.uint8), np.empty(0, np.int64), progress)
    offsets = np.frombuffer(offsets_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    text = np.frombuffer(text_buffer or b"", np.uint8)[offsets[0] : offsets[-1]]
    return TextBatch(text, offsets[1:] - offsets[0], progress)


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
        return TextBatch(*packed(texts))
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
    return WordBatch(batch.text, batch.ends, ends, batch.text.size)


def split_words(batches: Iterable[TextBatch], split: Split, errors: Errors) -> Iterator[WordBatch]:
    """Split the documents of `batches` into words, one document at a time."""
    first_document = 0
    rest = b""
    for batch in batches:
        text = rest + batch.text.tobytes()
        ends = (batch.ends + len(rest)).tolist()
        starts = [0, *ends]
        documents = [
            checked_words(split(_without_line_end(text[start:end].decode("utf-8"))), number)
            for number, (start, end) in enumerate(zip(starts, ends, strict=False), first_document)
        ]
        rest = text[starts[-1] :]
        words = from_words(documents, errors, first_document)
        yield WordBatch(words.text, words.word_ends, words.ends, batch.progress)
        first_document += len(documents)


def checked_words(words: Iterable[object], document: int) -> list[str]:
    """Return the words of a document as a list, after checking that they are text."""
    checked = list(words)
    for word in checked:
        if not isinstance(word, str):
            raise CorpusError(
                f"Document {document} has {word!r} among its words, which is "
                f"{kind_of_value(word)}, not text."
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


def names_of(names: Iterable[object]) -> str:
    """Return names in quotation marks, for a message."""
    return ", ".join(map(repr, names)) or "none"


def require_columns(place: str, known: Sequence[str], names: Iterable[str]) -> None:
    """Raise `CorpusError` for the first name that is not one column of `place`."""
    for name in names:
        if name not in known:
            found = names_of(
                textwrap.shorten(each, _LONGEST_COLUMN) if isinstance(each, str) else each
                for each in known
            )
            advice = "name one of these."
            if name == "text":
                advice = "name the one with the text by `text`."
            elif similar := difflib.get_close_matches(str(name), list(map(str, known)), n=1):
                advice = f"did you mean {similar[0]!r}?"
            raise CorpusError(f"{place} has no column {name!r}; it has {found}: {advice}")
        if list(known).count(name) > 1:
            raise CorpusError(f"{place} has more than one column {name!r}; rename one of them.")


def kind_of_value(value: object) -> str:
    """Return the name of a value's type with its article: an int, a list."""
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def without_nan(value: Any) -> Any:
    """Return a value, or None for NaN (Python, NumPy) and NA (pandas)."""
    missing = isinstance(value, float) and value != value
    return None if missing or type(value).__name__ == "NAType" else value


def _without_line_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def valid_bytes(data: bytes, errors: Errors, path: Path | RemoteFile, position: int) -> bytes:
    """Return `data`, read at `position` in a file, as valid UTF-8 without a byte order mark.

    ``errors="replace"`` puts U+FFFD where `bytes.decode` would.
    """
    if not _is_valid(data):
        if errors == "strict":
            start = _first_error(data)
            raise CorpusError(
                f"{path} is not valid UTF-8 at byte {position + start} (0x{data[start]:02x}); "
                "pass the `encoding` in which it was written, such as 'cp1252', or "
                "`errors='replace'` to put U+FFFD there."
            )
        data = data.decode("utf-8", "replace").encode("utf-8")
    return data.removeprefix(_BYTE_ORDER_MARK) if position == 0 else data


def valid_array(array: Any, errors: Errors, place: str, row: int) -> Any:
    """Return an Arrow array as valid text; its first entry is `row` of the column `place`."""
    import pyarrow as pa
    import pyarrow.types as kinds

    kind = array.type.value_type if kinds.is_dictionary(array.type) else array.type
    if kinds.is_null(kind) or str(kind) == "string_view":  # Polars has views of text
        kind = pa.large_string()
        if kinds.is_dictionary(array.type):
            array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(kind))
        else:
            array = array.cast(kind)
    if not (kinds.is_string(kind) or kinds.is_large_string(kind)):
        raise CorpusError(f"The column {place} holds {kind}, not text.")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        rows = [value.as_py() or b"" for value in array.cast(pa.large_binary())]
        if errors == "replace":
            return pa.array([text.decode("utf-8", "replace") for text in rows], pa.large_string())
        bad = next(i for i, text in enumerate(rows) if not _is_valid(text))
        raise CorpusError(
            f"Row {row + bad} of {place} is not valid UTF-8 at its byte "
            f"{_first_error(rows[bad])}; pass `errors='replace'` to put U+FFFD there, or for CSV "
            "the `encoding` in which it was written."
        ) from None
    return array


def valid_text(text: str) -> str:
    """Return `text` with "?" for each half of a surrogate pair, which UTF-8 can't hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _is_valid(data: bytes) -> bool:
    """Return whether bytes are valid UTF-8; Arrow is faster than decoding and releases the GIL."""
    import pyarrow as pa

    offsets = np.array([0, len(data)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    try:
        pa.Array.from_buffers(pa.large_string(), 1, buffers).validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _first_error(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    raise AssertionError("valid UTF-8 has no error")
