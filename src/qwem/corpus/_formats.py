"""File formats: read documents and columns from text, JSON lines, CSV, Parquet and SQLite."""

from __future__ import annotations

import csv
import io
import itertools
import json
import logging
import re
import sqlite3
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import announce, require_memory
from qwem._internal.results import one_line
from qwem.corpus import _batches
from qwem.corpus._batches import (
    Source,
    TextBatch,
    from_arrow,
    from_texts,
    gather,
    kind_of_value,
    names_of,
    require_columns,
    valid_array,
    valid_bytes,
    without_nan,
)
from qwem.corpus._documents import document_columns
from qwem.corpus._files import (
    are_paths,
    documents_of,
    find_files,
    looks_like_table,
    open_parquet,
    open_text,
)
from qwem.corpus.reading import Reading
from qwem.corpus.tokenizer import resolve
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from qwem.corpus._files import InputFile, PathLike, TextStream
    from qwem.corpus._remote import RemoteFile

logger = logging.getLogger(__name__)

_COPIES = 6  # copies of a long line in memory, from its bytes to the parsed text
_BLOCK_BATCHES = 8  # Arrow refuses a row of CSV that is longer than a block
_NO_NUMBER = {"", "NA", "NaN", "nan", "null"}
"""How a table writes a missing value."""
_WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")  # 007 is a name, not a number
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RAGGED = re.compile(r"CSV parse error: (?:Row #\d+: )?Expected (\d+) columns, got (\d+): (.*)")
_SQLITE_ROWS = 1_000
_GAP = re.compile(rb"\n[ \t\r]*\n\s*")
"""The empty lines between two paragraphs."""
_LAST_GAP = re.compile(rb"(?s).*\n[ \t\r]*\n(?=\s*\S)")
_LAST_SPACE = re.compile(rb"(?s).*\s(?=\S)")
_NO_TEXT = np.empty(0, dtype=np.uint8)
_END_HERE = np.zeros(1, dtype=np.int64)


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
    units: set[str] = set()
    for file in files:
        plain = file.format == "text"
        read = _read_text(file, reading, units) if plain else _read_table(file, reading)
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
    with open_text(path, reading.encoding, reading.errors, file.part) as stream:
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
        for position, data in _byte_batches(path, stream, unit, spaces=may_cut):
            text = np.frombuffer(valid_bytes(data, reading.errors, path, position), np.uint8)
            ends = _document_ends(text, unit)
            if position == 0 and unit == "paragraph" and not text[: ends[0]].tobytes().strip():
                ends = ends[1:]  # empty lines at the start are not a document
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


def _read_table(file: InputFile, reading: Reading) -> Iterator[TextBatch]:
    """Yield the text column of a table."""
    path, column, errors, first = file.path, reading.text, reading.errors, 0

    def name(index: int) -> str:
        return f"Document {first + index} of {path}"

    for (texts,), progress in _READERS[file.format](file, [column], reading, required=True):
        if isinstance(texts, list):
            for index, text in enumerate(texts):
                if not isinstance(text, str | None) and without_nan(text) is not None:
                    kind = kind_of_value(text)
                    raise CorpusError(f"{name(index)} has {kind} as its {column!r}, not text.")
            plain = [text if isinstance(text, str) else None for text in texts]
            yield replace(from_texts(plain, errors, name), progress=progress)
        else:
            array = valid_array(texts, errors, f"{column!r} of {path}", first)
            if file.format in ("csv", "tsv"):
                array = _csv_texts(array, file)
            rows = max(1, len(array) * _batches.BATCH_BYTES // max(1, array.nbytes))
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
    with open_text(path, reading.encoding, reading.errors) as stream:
        for position, data in _byte_batches(path, stream, "line", spaces=False):
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
        groups = range(*(file.part or (0, table.num_row_groups)))
        rows = sum(table.metadata.row_group(group).num_rows for group in groups)
        row = 0
        for records in table.iter_batches(
            _batch_rows(table, names[0]), row_groups=list(groups), columns=names
        ):
            row += len(records)
            yield [records.column(name) for name in names], file.size * row // max(rows, 1)


def _csv_columns(file: InputFile, names: list[str], reading: Reading, *, required: bool) -> Columns:
    with open_text(file.path, reading.encoding, reading.errors) as stream:
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
    block_bytes = _BLOCK_BATCHES * _batches.BATCH_BYTES
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
    return int(np.clip(_batches.BATCH_BYTES * metadata.num_rows // max(size, 1), 1, 1 << 16))


def _byte_batches(
    path: Path | RemoteFile, stream: TextStream, unit: str, *, spaces: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file in batches, with their positions, cut after a document.

    A batch in which no document ends is cut after a space if `spaces` allows it, and otherwise
    grows until one ends. It is an error if memory would not suffice: a few kilobytes of a
    compressed file may be a line of many gigabytes.
    """
    position = 0
    rest = b""
    while block := stream.read(max(_batches.BATCH_BYTES, len(rest))):
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
        if len(rest) > _batches.BATCH_BYTES:
            require_memory(
                _COPIES * 2 * len(rest),
                f"A {unit if unit == 'line' else 'document'} of {path}, more than "
                f"{len(rest) / 1e6:,.0f} MB long,",
                "split it",
            )
    if rest:
        yield position, rest


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
        read = iter(_values_of_csv([value for part in untyped for value in values[part]]))
        for part in untyped:
            values[part] = itertools.islice(read, part.stop - part.start)
    return found


def _values_of_csv(cells: list[str]) -> list[Any]:
    """Return the cells of a column as whole numbers, numbers or text; an empty cell is None."""
    filled = [cell for cell in cells if cell not in _NO_NUMBER]
    for kind, pattern in ((int, _WHOLE_NUMBER), (float, _NUMBER)):
        if filled and all(map(pattern.fullmatch, filled)):
            return [None if cell in _NO_NUMBER else kind(cell) for cell in cells]
    return [cell or None for cell in cells]
