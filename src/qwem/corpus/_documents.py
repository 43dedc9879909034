"""Documents in memory: texts, lists of words, mappings, data frames and datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from qwem._internal.results import one_line
from qwem.corpus import _batches
from qwem.corpus._batches import (
    DocumentBatch,
    Source,
    TextBatch,
    checked_words,
    from_arrow,
    from_texts,
    from_words,
    gather,
    kind_of_value,
    names_of,
    valid_array,
    without_nan,
)
from qwem.corpus.tokenizer import WORDS_GIVEN, Tokenizer
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from qwem.corpus.reading import Errors, Reading

_BATCH_DOCUMENTS = 1 << 16
_DATASET_ROWS = 1000


def open_documents(documents: Any, reading: Reading) -> Source:
    """Return documents in memory as a source of text; see `Corpus.from_documents`.

    They are iterated over once, so they may be a generator.
    """
    if (kind := _kind_of_table(documents)) is not None:
        batches = gather(_read_table(documents, kind, reading))
        description = {"input": kind, "text_column": reading.text_column}
        return Source.of_text(batches, reading, description)
    _require_documents(documents)
    contents: Iterator[Any] = (
        _content(item, i, reading.text_column) for i, item in enumerate(documents)
    )
    first = next(contents, None)
    if first is not None:
        contents = chain([first], contents)
    if first is None or isinstance(first, str):
        texts = _batched(contents, str, reading.errors)
        return Source.of_text(texts, reading, {"input": "documents"})  # type: ignore[arg-type]
    words = _batched(contents, list, reading.errors)
    return Source(words, Tokenizer(WORDS_GIVEN), {"input": "documents", "tokenizer": WORDS_GIVEN})


def _kind_of_table(documents: Any) -> str | None:
    """Return "dataset" (Hugging Face), "table" (pandas, Polars, Arrow and similar), or None."""
    library = type(documents).__module__.partition(".")[0]
    if library == "datasets" and hasattr(documents, "with_format"):
        return "dataset"
    readable = hasattr(documents, "__arrow_c_stream__") or library == "pandas"
    if readable and (hasattr(documents, "columns") or hasattr(documents, "schema")):
        return "table"
    return None


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
            "from_documents was given a mapping, which has no order of documents; pass its values, "
            f"or one split of a dataset: {names_of(list(documents)[:5])}."
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


def _read_table(table: Any, kind: str, reading: Reading) -> Iterator[TextBatch]:
    """Yield the documents of a table in memory or a dataset, through Arrow."""
    import pyarrow as pa

    column, row = reading.text_column, 0
    arrays = _frame_arrays if kind == "table" else _dataset_arrays
    try:
        for array in arrays(table, column):
            place = f"{column!r} of the {kind}"
            batch = from_arrow(valid_array(array, reading.errors, place, row))
            yield TextBatch(batch.text, batch.ends, batch.text.size)
            row += len(array)
    except pa.ArrowException as error:
        reason = one_line(str(error))
        raise CorpusError(f"The column {column!r} of the {kind} is not text: {reason}.") from error


def _frame_arrays(frame: Any, column: str) -> Iterator[Any]:
    import pyarrow as pa

    schema = getattr(frame, "schema", None)
    if isinstance(schema, pa.Schema):
        _require_column("table", column, schema.names)
    else:  # pandas or Polars: convert this column only
        _require_column("table", column, list(frame.columns))
        frame = frame[[column]]
    if hasattr(frame, "__arrow_c_stream__"):
        batches = pa.RecordBatchReader.from_stream(frame)
    else:  # pandas before 2.2
        batches = pa.Table.from_pandas(frame, preserve_index=False).to_reader()
    return (records.column(column) for records in batches)


def _dataset_arrays(dataset: Any, column: str) -> Iterator[Any]:
    if dataset.column_names is not None:
        _require_column("dataset", column, dataset.column_names)
    tables = dataset.select_columns([column]).with_format("arrow").iter(batch_size=_DATASET_ROWS)
    return (array for table in tables for array in table.column(column).chunks)


def _require_column(kind: str, column: str, known: list[str]) -> None:
    if column not in known:
        raise CorpusError(
            f"The {kind} has no column {column!r}; it has {names_of(known)}; name the text by "
            "`text_column`."
        )


def _content(item: Any, number: int, text_column: str) -> str | list[str]:
    """Return a document as text or as a list of words; None is an empty document."""
    if isinstance(item, Mapping):
        if text_column not in item:
            raise CorpusError(
                f"Document {number} has no {text_column!r}; it has {names_of(item)}; name the text "
                "by `text_column`."
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
        if size >= _batches.BATCH_BYTES or len(waiting) >= _BATCH_DOCUMENTS:
            yield _batch(waiting, form, errors, number - len(waiting))
            waiting, size = [], 0
    if waiting:
        yield _batch(waiting, form, errors, number - len(waiting))


def _batch(documents: list[Any], form: type, errors: Errors, first: int) -> DocumentBatch:
    if form is list:
        return from_words(documents, errors, first)
    batch = from_texts(documents, errors, lambda i: f"Document {first + i}")
    return TextBatch(batch.text, batch.ends, batch.text.size)
