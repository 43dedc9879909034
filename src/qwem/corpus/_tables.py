"""Tables of documents: JSON lines, CSV, Parquet, SQLite, data frames and datasets."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import json
import logging
import re
import sqlite3
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.results import one_line, with_article
from qwem.corpus import _text
from qwem.corpus._files import are_paths, find_files, open_parquet, open_text
from qwem.corpus._text import (
    TextBatch,
    byte_batches,
    first_error,
    from_texts,
    is_valid,
    valid_bytes,
)
from qwem.corpus.reading import Reading
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qwem.corpus._files import InputFile, PathLike, TextStream
    from qwem.corpus._remote import RemoteFile
    from qwem.corpus.reading import Errors

logger = logging.getLogger(__name__)

_BLOCK_BATCHES = 8  # Arrow refuses a row of CSV that is longer than a block
_NO_NUMBER = {"", "NA", "NaN", "nan", "null"}
"""How a table writes a missing value."""
_WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")  # 007 is a name, not a number
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RAGGED = re.compile(r"CSV parse error: (?:Row #\d+: )?Expected (\d+) columns, got (\d+): (.*)")
_LONGEST_COLUMN = 50  # characters of a column's name in a message
_SQLITE_ROWS = _DATASET_ROWS = 1_000


def read_table(file: InputFile, reading: Reading) -> Iterator[TextBatch]:
    """Yield the text column of a table."""
    path, column, errors, first = file.path, reading.text, reading.errors, 0

    def name(index: int) -> str:
        return f"Document {first + index} of {path}"

    for (texts,), progress in _READERS[file.format](file, [column], reading, required=True):
        if isinstance(texts, list):
            for index, text in enumerate(texts):
                if not isinstance(text, str | None) and without_nan(text) is not None:
                    kind = with_article(type(text).__name__)
                    raise CorpusError(f"{name(index)} has {kind} as its {column!r}, not text.")
            plain = [text if isinstance(text, str) else None for text in texts]
            yield replace(from_texts(plain, errors, name), progress=progress)
        else:
            array = valid_array(texts, errors, f"{column!r} of {path}", first)
            if file.format in ("csv", "tsv"):
                array = _csv_texts(array, file)
            rows = max(1, len(array) * _text.BATCH_BYTES // max(1, array.nbytes))
            for start in range(0, len(array), rows):
                yield from_arrow(array.slice(start, rows), progress)
        first += len(texts)


def _csv_texts(array: Any, file: InputFile) -> Any:
    """Return texts of a table without those that stand for a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if file.format == "tsv" and pc.any(pc.match_substring_regex(array, "\n[^\n]*\t")).as_py():
        logger.warning(
            "%s has a text with line breaks and tabs in it, as if a quotation mark were never "
            "closed, so that several rows were read as one; if so, double the quotation marks of "
            "the text, or write the table as Parquet.",
            file.path,
        )
    missing = pc.is_in(array, pa.array(sorted(_NO_NUMBER), array.type))
    return pc.if_else(missing, "", array)


Columns = Iterator[tuple[list[Any], int]]
"""Some rows of columns, as lists or Arrow arrays, and how many bytes were read so far."""


def _json_columns(
    file: InputFile, names: list[str], reading: Reading, *, required: bool
) -> Columns:
    path, number = file.path, 0
    with open_text(file, reading) as stream:
        for position, data in byte_batches(path, stream, "line", spaces=False):
            rows = []
            for line in valid_bytes(data, reading.errors, path, position).split(b"\n"):
                number += 1
                if line.strip():
                    rows.append(_json_object(line, path, number))
                    if required:
                        require_columns(f"Line {number} of {path}", list(rows[-1]), names)
            number -= data.endswith(b"\n")
            yield [[row.get(name) for row in rows] for name in names], stream.bytes_read()


def _json_object(line: bytes, path: Path | RemoteFile, number: int) -> dict[str, Any]:
    if number == 1 and line.lstrip().startswith(b"["):
        raise CorpusError(
            f"Line 1 of {path} begins a JSON array and is not a JSON object; write each object of "
            "the array on a line of its own, as jq -c '.[]' does."
        )
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(
            f"Line {number} of {path} is not valid JSON: {error}; each line must be a whole object."
        ) from error
    if not isinstance(fields, dict):
        raise CorpusError(
            f"Line {number} of {path} is not a JSON object; each line must be one, "
            'as {"text": "…"}.'
        )
    return fields


def _parquet_columns(
    file: InputFile, names: list[str], reading: Reading, *, required: bool
) -> Columns:
    with open_parquet(file.path) as table:
        require_columns(str(file.path), table.schema_arrow.names, names)
        groups = range(*(file.shard or (0, table.num_row_groups)))
        rows = sum(table.metadata.row_group(group).num_rows for group in groups)
        row = 0
        for records in table.iter_batches(
            _batch_rows(table, names[0]), row_groups=list(groups), columns=names
        ):
            row += len(records)
            yield [records.column(name) for name in names], file.size * row // max(rows, 1)


def _csv_columns(file: InputFile, names: list[str], reading: Reading, *, required: bool) -> Columns:
    with open_text(file, reading) as stream:
        for records in _csv_records(file, stream, names):
            yield records.columns, stream.bytes_read()


def _sqlite_columns(
    file: InputFile, names: list[str], reading: Reading, *, required: bool
) -> Columns:
    if not isinstance(file.path, Path):
        raise CorpusError(f"{file.path} is a remote SQLite database; download it first.")
    try:
        with closing(sqlite3.connect(f"{file.path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            if reading.query is None:
                raise CorpusError(_ask_for_query(file.path, base))
            cursor = base.execute(reading.query)
            known = [column[0] for column in cursor.description or ()]
            require_columns(str(file.path), known, names)
            places = [known.index(name) for name in names]
            while rows := cursor.fetchmany(_SQLITE_ROWS):
                yield [[row[place] for row in rows] for place in places], 0
    except sqlite3.Error as error:
        reason = one_line(str(error))
        raise CorpusError(f"The query of {file.path} can't be answered: {reason}.") from error


_READERS: dict[str, Callable[..., Columns]] = {
    "json": _json_columns,
    "csv": _csv_columns,
    "tsv": _csv_columns,
    "parquet": _parquet_columns,
    "sqlite": _sqlite_columns,
}


def _ask_for_query(path: Path, database: sqlite3.Connection) -> str:
    tables = [
        name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
    ]
    first = tables[0] if tables else "posts"
    return (
        f"{path} is an SQLite database with the tables {names_of(tables)}; give `query`, such as "
        f"'SELECT body AS text FROM {first}'."
    )


def _csv_records(file: InputFile, stream: TextStream, names: list[str]) -> Iterator[Any]:
    """Yield the named columns of a table as Arrow record batches; their UTF-8 is not checked."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if not stream.head:
        return
    delimiter, known = _csv_header(stream.head, file.format)
    require_columns(str(file.path), known, names)
    block_bytes = _BLOCK_BATCHES * _text.BATCH_BYTES
    try:
        with arrow_csv.open_csv(
            pa.PythonFile(stream, mode="r"),
            arrow_csv.ReadOptions(block_size=block_bytes),
            arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                include_columns=names,
                column_types=dict.fromkeys(names, pa.large_string()),
                check_utf8=False,
            ),
        ) as reader:
            yield from reader
    except pa.ArrowException as error:
        if "straddling" in str(error):
            raise CorpusError(
                f"{file.path} has a row of more than {block_bytes / 1e6:,.0f} MB, or a quotation "
                "mark that is never closed; split it, or write the table as Parquet."
            ) from error
        reason = one_line(str(error))
        if found := _RAGGED.fullmatch(reason):
            row = textwrap.shorten(found[3], 80)
            reason = (
                f"its header has {found[1]} columns, but this row has {found[2]} cells: {row!r}; "
                "correct it, or put quotation marks around cells that have a separator in them"
            )
        reason = textwrap.shorten(reason, 250)
        raise CorpusError(f"{file.path} can't be read as a table: {reason}.") from error


def _csv_header(head: bytes, table_format: str) -> tuple[str, list[str]]:
    """Return the delimiter of a table and the names of its columns."""
    text = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    headers = {}
    for delimiter in "\t" if table_format == "tsv" else ",;\t|":
        text.seek(0)
        headers[delimiter] = next(csv.reader(text, delimiter=delimiter), [])
    delimiter = max(headers, key=lambda each: len(headers[each]))
    return delimiter, headers[delimiter]


def _batch_rows(table: Any, column: str) -> int:
    """Return how many rows make a batch, from the sizes in the file's metadata."""
    metadata = table.metadata
    if column not in metadata.schema.names:  # lists and structs are stored under other names
        return 1
    index = metadata.schema.names.index(column)
    size = sum(
        metadata.row_group(group).column(index).total_uncompressed_size
        for group in range(metadata.num_row_groups)
    )
    return int(np.clip(_text.BATCH_BYTES * metadata.num_rows // max(size, 1), 1, 1 << 16))


def read_columns(
    source: Any,
    columns: str | Iterable[str],
    *,
    encoding: str = "utf-8",
    query: str | None = None,
) -> dict[str, list[Any]]:
    r"""Return columns of a table that has the text, with one value per document.

    A missing value is None. The values of a CSV column are numbers if all of them can be.

    Parameters
    ----------
    source
        What `qwem.fit` takes: Parquet, JSON or CSV files, databases, a data frame, a dataset or
        mappings. Plain text has no columns.
    columns
        Names of the columns.
    encoding, query
        As in `Reading`.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "speeches.csv")
    >>> size = file.write_text('text,year\nthe king,1990\n"the queen, too",\n')
    >>> read_columns(file, ["year"])
    {'year': [1990, None]}
    """
    names = [columns] if isinstance(columns, str) else list(dict.fromkeys(columns))
    if not names:
        raise SettingError("read_columns needs the name of at least one column.")
    if are_paths(source):
        reading = Reading(encoding=encoding, query=query, errors="replace")
        found = _file_columns(source, names, reading)
    else:
        found = document_columns(source, names)
    for name, values in found.items():
        if all(value is None for value in values):
            raise CorpusError(f"No document has a value for {name!r}; check the column's name.")
    return found


def _file_columns(
    paths: PathLike | Iterable[PathLike], names: list[str], reading: Reading
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in names}
    untyped: list[slice] = []  # values of CSV, which has no types
    for file in find_files(paths):
        if file.format == "text":
            raise CorpusError(
                f"{file.path} is plain text, which has no columns; give Parquet, JSON lines or CSV."
            )
        of_text, before = file.format in ("csv", "tsv"), len(found[names[0]])
        for columns, _ in _READERS[file.format](file, names, reading, required=False):
            for name, values in zip(names, columns, strict=True):
                if of_text:
                    values = valid_array(values, "replace", str(file.path), 0)
                found[name] += values if isinstance(values, list) else values.to_pylist()
        if of_text:
            untyped.append(slice(before, len(found[names[0]])))
    for values in found.values():
        read = iter(_values_of_csv([value for rows in untyped for value in values[rows]]))
        for rows in untyped:
            values[rows] = itertools.islice(read, rows.stop - rows.start)
    return found


def _values_of_csv(cells: list[str]) -> list[Any]:
    """Return the cells of a column as whole numbers, numbers or text; an empty cell is None."""
    filled = [cell for cell in cells if cell not in _NO_NUMBER]
    for kind, pattern in ((int, _WHOLE_NUMBER), (float, _NUMBER)):
        if filled and all(map(pattern.fullmatch, filled)):
            return [None if cell in _NO_NUMBER else kind(cell) for cell in cells]
    return [cell or None for cell in cells]


def kind_of_table(documents: Any) -> str | None:
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


def read_frame(table: Any, kind: str, reading: Reading) -> Iterator[TextBatch]:
    """Yield the documents of a table in memory or a dataset, through Arrow."""
    import pyarrow as pa

    column, row = reading.text, 0
    try:
        for records in _records(table, kind, [column]):
            array = records.column(0)
            place = f"{column!r} of the {kind}"
            batch = from_arrow(valid_array(array, reading.errors, place, row))
            yield replace(batch, progress=batch.text.size)
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
        for batch in columns.iter(batch_size=_DATASET_ROWS):
            yield from batch.select(names).to_batches()
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

    if (kind := kind_of_table(documents)) is not None:
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
        words = kinds.is_list(kind) or kinds.is_large_list(kind)
        advice = "; if these are words, give the column alone to Python's qwem.fit" if words else ""
        raise CorpusError(f"The column {place} holds {kind}, not text{advice}.")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        rows = [value.as_py() or b"" for value in array.cast(pa.large_binary())]
        if errors == "replace":
            return pa.array([text.decode("utf-8", "replace") for text in rows], pa.large_string())
        bad = next(i for i, text in enumerate(rows) if not is_valid(text))
        raise CorpusError(
            f"Row {row + bad} of {place} is not valid UTF-8 at its byte "
            f"{first_error(rows[bad])}; pass `errors='replace'` to put U+FFFD there, or for CSV "
            "the `encoding` in which it was written."
        ) from None
    return array


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


def without_nan(value: Any) -> Any:
    """Return a value, or None for NaN (Python, NumPy) and NA (pandas)."""
    missing = isinstance(value, float) and value != value
    return None if missing or type(value).__name__ == "NAType" else value
