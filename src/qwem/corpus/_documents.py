"""Batches from documents in memory: texts, lists of words, mappings, frames, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from qwem._internal.results import one_line
from qwem.corpus import _batches
from qwem.corpus._batches import (
    DocumentBatch,
    TextBatch,
    checked_words,
    from_arrow,
    from_texts,
    from_words,
    kind_of_value,
    valid_array,
    without_nan,
)
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from qwem.corpus.reading import Errors

_BATCH_DOCUMENTS = 1 << 16
_DATASET_ROWS = 1000


def check_documents(documents: object) -> None:
    """Refuse things that are not documents, although some of them can be iterated over."""
    if isinstance(documents, str):
        raise SettingError(
            "from_documents was given one string, whose characters would each be a document; pass "
            "a list of texts, or a file's path to from_files."
        )
    if isinstance(documents, bytes | bytearray | memoryview):
        raise SettingError("from_documents was given bytes; decode them and pass a list of texts.")
    if isinstance(documents, Mapping):
        raise SettingError(
            "from_documents was given a mapping, which has no order of documents; pass its values, "
            f"or one split of a dataset: {', '.join(map(repr, list(documents)[:5]))}."
        )
    if hasattr(documents, "columns"):
        raise SettingError(
            "from_documents was given a table that Arrow can't read; pass its column of texts."
        )
    if not isinstance(documents, Iterable):
        raise SettingError(
            f"from_documents takes an iterable of documents, not {type(documents).__name__}; files "
            "are read by from_files."
        )


def is_dataset(documents: object) -> bool:
    """Return whether this is a dataset of the Hugging Face library `datasets`."""
    return type(documents).__module__.partition(".")[0] == "datasets" and hasattr(
        documents, "with_format"
    )


def is_frame(documents: object) -> bool:
    """Return whether this is a table in memory: of pandas, Polars, Arrow, or of their kind."""
    readable = hasattr(documents, "__arrow_c_stream__") or (
        type(documents).__module__.partition(".")[0] == "pandas"
    )
    return readable and (hasattr(documents, "columns") or hasattr(documents, "schema"))


def read_frame(frame: Any, text_column: str, errors: Errors) -> Iterator[TextBatch]:
    """Yield the documents of a table in memory, through Arrow's protocol for such."""
    import pyarrow as pa

    schema = getattr(frame, "schema", None)
    named = schema if isinstance(schema, pa.Schema) else None
    names = list(frame.columns) if named is None else named.names
    if text_column not in names:
        raise CorpusError(
            f"The table has no column {text_column!r}; it has {', '.join(map(repr, names))}; name "
            "the text by `text_column`."
        )
    if named is None:  # of pandas or Polars: other columns need not be converted
        frame = frame[[text_column]]
    try:
        if hasattr(frame, "__arrow_c_stream__"):
            batches = pa.RecordBatchReader.from_stream(frame)
        else:  # pandas before 2.2
            batches = pa.Table.from_pandas(frame, preserve_index=False).to_reader()
        row = 0
        for records in batches:
            array = records.column(text_column)
            batch = from_arrow(valid_array(array, errors, f"{text_column!r} of the table", row))
            yield TextBatch(batch.text, batch.ends, batch.text.size)
            row += len(array)
    except pa.ArrowException as error:
        raise CorpusError(
            f"The column {text_column!r} of the table is not text: {one_line(str(error))}."
        ) from error


def read_dataset(dataset: Any, text_column: str, errors: Errors) -> Iterator[TextBatch]:
    """Yield the documents of a dataset directly from its Arrow tables."""
    if dataset.column_names is not None and text_column not in dataset.column_names:
        raise CorpusError(
            f"The dataset has no column {text_column!r}; it has "
            f"{', '.join(map(repr, dataset.column_names))}; name the text by `text_column`."
        )
    row = 0
    columns = dataset.select_columns([text_column]).with_format("arrow")
    for table in columns.iter(batch_size=_DATASET_ROWS):
        for array in table.column(text_column).chunks:
            batch = from_arrow(valid_array(array, errors, f"{text_column!r} of the dataset", row))
            yield TextBatch(batch.text, batch.ends, batch.text.size)
            row += len(array)


def read_documents(
    documents: Iterable[object], text_column: str, errors: Errors
) -> tuple[bool, Iterator[DocumentBatch]]:
    """Return whether the documents are given as lists of words, and their batches.

    They are iterated over once, so a generator will do.
    """
    contents = (_content(item, i, text_column) for i, item in enumerate(documents))
    first = next(contents, None)
    if first is None or isinstance(first, str):
        return False, _text_batches(
            chain([first], contents) if first is not None else contents, errors
        )
    return True, _word_batches(chain([first], contents), errors)


def _content(item: Any, number: int, text_column: str) -> str | list[str]:
    """Return a document as text, or as a list of words; None counts as an empty document."""
    if isinstance(item, Mapping):
        if text_column not in item:
            raise CorpusError(
                f"Document {number} has no {text_column!r}; it has "
                f"{', '.join(map(repr, item)) or 'nothing'}; name the text by `text_column`."
            )
        item = item[text_column]
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
        f"Document {number} is {kind_of_value(item)}, neither a text nor a list of words."
    )


def _text_batches(documents: Iterable[str | list[str]], errors: Errors) -> Iterator[TextBatch]:
    texts: list[str] = []
    size = number = 0
    for number, document in enumerate(documents, 1):
        if not isinstance(document, str):
            raise CorpusError(
                f"Document {number - 1} is a list of words after documents that are texts; "
                "give all documents in one form."
            )
        texts.append(document)
        size += len(document)
        if size >= _batches.BATCH_BYTES or len(texts) >= _BATCH_DOCUMENTS:
            yield _text_batch(texts, errors, number - len(texts))
            texts, size = [], 0
    if texts:
        yield _text_batch(texts, errors, number - len(texts))


def _text_batch(texts: list[str], errors: Errors, first: int) -> TextBatch:
    batch = from_texts(texts, errors, lambda i: f"Document {first + i}")
    return TextBatch(batch.text, batch.ends, batch.text.size)


def _word_batches(documents: Iterable[str | list[str]], errors: Errors) -> Iterator[DocumentBatch]:
    lists: list[list[str]] = []
    size = number = 0
    for number, document in enumerate(documents, 1):
        if document and isinstance(document, str):
            raise CorpusError(
                f"Document {number - 1} is a text after documents that are lists of words; "
                "give all documents in one form."
            )
        lists.append(list(document))
        size += sum(map(len, document))
        if size >= _batches.BATCH_BYTES or len(lists) >= _BATCH_DOCUMENTS:
            yield from_words(lists, errors, number - len(lists))
            lists, size = [], 0
    if lists:
        yield from_words(lists, errors, number - len(lists))
