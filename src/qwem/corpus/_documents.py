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
    require_columns,
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


def _kind_of_table(documents: Any) -> str | None:
    """Return "dataset" (Hugging Face), "table" (pandas, Polars, Arrow and similar), or None."""
    library = type(documents).__module__.partition(".")[0]
    if isinstance(documents, Mapping):  # such as the splits of a dataset
        return None
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


def _read_table(table: Any, kind: str, reading: Reading) -> Iterator[TextBatch]:
    """Yield the documents of a table in memory or a dataset, through Arrow."""
    import pyarrow as pa

    column, row = reading.text, 0
    try:
        for records in _records(table, kind, [column]):
            array = records.column(0)
            place = f"{column!r} of the {kind}"
            batch = from_arrow(valid_array(array, reading.errors, place, row))
            yield TextBatch(batch.text, batch.ends, batch.text.size)
            row += len(array)
    except pa.ArrowException as error:
        reason = one_line(str(error))
        raise CorpusError(f"The column {column!r} of the {kind} is not text: {reason}.") from error


def _records(table: Any, kind: str, names: list[str]) -> Iterator[Any]:
    """Yield columns of a table in memory or a dataset as Arrow record batches."""
    import pyarrow as pa

    if kind == "dataset":
        if table.column_names is not None:
            require_columns("The dataset", table.column_names, names)
        columns = table.select_columns(names).with_format("arrow")
        for part in columns.iter(batch_size=_DATASET_ROWS):
            yield from part.select(names).to_batches()
        return
    schema = getattr(table, "schema", None)
    known = schema.names if isinstance(schema, pa.Schema) else list(table.columns)
    require_columns("The table", known, names)
    if not isinstance(schema, pa.Schema):  # pandas or Polars: convert these columns only
        table = table[names]
    if hasattr(table, "__arrow_c_stream__"):
        batches = pa.RecordBatchReader.from_stream(table)
    else:  # pandas before 2.2
        batches = pa.Table.from_pandas(table, preserve_index=False).to_reader()
    yield from (records.select(names) for records in batches)


def document_columns(documents: Any, names: list[str]) -> dict[str, list[Any]]:
    """Return columns of a data frame, a dataset or a list of mappings; see `read_columns`."""
    import pyarrow as pa

    if (kind := _kind_of_table(documents)) is not None:
        found: dict[str, list[Any]] = {name: [] for name in names}
        try:
            for records in _records(documents, kind, names):
                for name in names:
                    found[name] += records.column(name).to_pylist()
        except pa.ArrowException as error:
            reason = one_line(str(error))
            raise CorpusError(f"Columns of the {kind} can't be read: {reason}.") from error
        return found
    if not isinstance(documents, list | tuple) or not all(
        isinstance(item, Mapping) for item in documents
    ):
        raise SettingError(
            f"{names_of(names)} can't be read, since only tables, mappings and files of these have "
            "columns; give a value for each document instead."
        )
    return {name: [without_nan(item.get(name)) for item in documents] for name in names}


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
