"""Documents in memory: texts, lists of words and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from qwem._internal.results import with_article
from qwem.corpus import _text
from qwem.corpus._tables import kind_of_table, names_of, read_frame, require_columns, without_nan
from qwem.corpus._text import (
    DocumentBatch,
    Source,
    checked_words,
    from_texts,
    from_words,
    gather,
)
from qwem.corpus.tokenizer import WORDS_GIVEN, Tokenizer
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from qwem.corpus.reading import Errors, Reading

_BATCH_DOCUMENTS = 1 << 16


def open_documents(documents: Any, reading: Reading) -> Source:
    """Return documents in memory as a source of text; see `Corpus.from_documents`.

    They are iterated over once, so they may be a generator.
    """
    if (kind := kind_of_table(documents)) is not None:
        batches = gather(read_frame(documents, kind, reading))
        return Source.of_text(batches, reading, {"input": kind, "text": reading.text})
    _require_documents(documents)
    contents: Iterator[Any] = (_content(item, i, reading.text) for i, item in enumerate(documents))
    first = next(contents, None)
    if first is not None:
        contents = chain([first], contents)
    if first is None or isinstance(first, str):
        texts = _batched(contents, str, reading.errors)
        return Source.of_text(texts, reading, {"input": "documents"})  # type: ignore[arg-type]
    words = _batched(contents, list, reading.errors)
    return Source(words, Tokenizer(WORDS_GIVEN), {"input": "documents", "tokenizer": WORDS_GIVEN})


def _require_documents(documents: object) -> None:
    """Refuse objects that are not documents, even if they can be iterated over."""
    if isinstance(documents, str):
        raise SettingError(
            "from_documents was given one string, whose characters would each be a document; pass "
            "a list of texts, or a file's path to from_files."
        )
    if isinstance(documents, bytes | bytearray | memoryview):
        raise SettingError("from_documents was given bytes; decode them and pass a list of texts.")
    if isinstance(documents, Mapping):
        raise SettingError(
            "from_documents was given a mapping, which has no order of documents; pass one of its "
            "values, such as a list of texts or a split of a dataset: "
            f"{names_of(list(documents)[:5])}."
        )
    if type(documents).__name__ == "LazyFrame":
        raise SettingError("from_documents was given a LazyFrame; pass its `collect()`.")
    if hasattr(documents, "columns"):
        raise SettingError(
            "from_documents was given a table that Arrow can't read; pass its column of texts."
        )
    if not isinstance(documents, Iterable):
        raise SettingError(
            f"from_documents takes an iterable of documents, not {type(documents).__name__}; files "
            "are read by from_files."
        )


def _content(item: Any, number: int, column: str) -> str | list[str]:
    """Return a document as text or as a list of words; None is an empty document."""
    if isinstance(item, Mapping):
        require_columns(f"Document {number}", list(item), [column])
        item = item[column]
    if hasattr(item, "as_py"):  # an element of an Arrow array
        item = item.as_py()
    item = without_nan(item)
    if item is None:
        return ""
    if isinstance(item, str):
        return item
    if isinstance(item, bytes | bytearray | memoryview):
        raise CorpusError(f"Document {number} is bytes; decode it to text first.")
    if isinstance(item, Iterable):
        return checked_words(item, number)
    raise CorpusError(
        f"Document {number} is {with_article(type(item).__name__)}, neither a text nor a list of "
        "words."
    )


def _batched(
    documents: Iterable[str | list[str]], form: type, errors: Errors
) -> Iterator[DocumentBatch]:
    """Yield batches of documents that are all texts, or all lists of words."""
    waiting: list[Any] = []
    size = number = 0
    for number, document in enumerate(documents, 1):
        if document and not isinstance(document, form):
            forms = ("a list of words", "texts") if form is str else ("a text", "lists of words")
            raise CorpusError(
                f"Document {number - 1} is {forms[0]} after documents that are {forms[1]}; give "
                "all documents in one form."
            )
        waiting.append(document)
        size += len(document) if form is str else sum(map(len, document))
        if size >= _text.BATCH_BYTES or len(waiting) >= _BATCH_DOCUMENTS:
            yield _batch(waiting, form, errors, number - len(waiting))
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting, form, errors, number - len(waiting))


def _batch(documents: list[Any], form: type, errors: Errors, first: int) -> DocumentBatch:
    if form is list:
        return from_words(documents, errors, first)
    return from_texts(documents, errors, lambda i: f"Document {first + i}")
