"""Formats of files: plain text, JSON lines, CSV and Parquet to documents, and their columns."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import textwrap
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import require_memory
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
    valid_array,
    valid_bytes,
    without_nan,
)
from qwem.corpus._files import find_files, open_parquet, open_text
from qwem.corpus.tokenizer import resolve
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from qwem.corpus._files import InputFile, PathLike, TextStream
    from qwem.corpus._remote import RemoteFile
    from qwem.corpus.reading import Reading

_COPIES = 6  # of a long line: its bytes twice, checked, parsed, and as text and its bytes
_BLOCK_BATCHES = 8  # Arrow refuses a row of CSV that is longer than a block
_NO_NUMBER = {"", "NA", "NaN", "nan", "null"}
"""What a table of numbers has where there is none."""
_WHOLE_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)")  # 007 is a name
_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_TEXT = np.empty(0, dtype=np.uint8)
_END_HERE = np.zeros(1, dtype=np.int64)


def open_files(files: Sequence[InputFile], reading: Reading) -> Source:
    """Return the text of files, opened; see `Corpus.from_files`."""
    description: dict[str, Any] = {"input": "files", "files": len(files)}
    formats = {file.format for file in files}
    if "text" in formats:
        description["documents"] = reading.documents
    if formats - {"text"}:
        description["text_column"] = reading.text_column
    if reading.encoding != "utf-8":
        description["encoding"] = reading.encoding
    size = sum(file.size for file in files)
    return Source.of_text(gather(_read_files(files, reading)), reading, description, size)


def _read_files(files: Sequence[InputFile], reading: Reading) -> Iterator[TextBatch]:
    """Yield the documents of all files, in order."""
    for file in files:
        empty = True
        before = 0
        for batch in _READERS[file.format](file, reading):
            empty = empty and not batch.text.size and not batch.ends.size
            yield TextBatch(batch.text, batch.ends, batch.progress - before)
            before = batch.progress
        if empty and file.named:
            raise CorpusError(f"{file.path} is empty: there is no text to read.")


def _read_text(file: InputFile, reading: Reading) -> Iterator[TextBatch]:
    """Yield lines, or a document that comes in several batches if the tokenizer is compiled."""
    path, by_line = file.path, reading.documents == "line"
    may_cut = resolve(reading.tokenizer).split is None
    with open_text(path, reading.encoding, reading.errors, file.part) as stream:
        open_document = False
        for position, data in _byte_batches(path, stream, lines=by_line, spaces=may_cut):
            text = np.frombuffer(valid_bytes(data, reading.errors, path, position), np.uint8)
            ends = np.flatnonzero(text == ord("\n")) + 1 if by_line else _END_HERE[:0]
            yield TextBatch(text, ends, stream.bytes_read())
            open_document = not (by_line and data.endswith(b"\n"))
        if open_document:
            yield TextBatch(_NO_TEXT, _END_HERE, stream.bytes_read())


def _read_json_lines(file: InputFile, reading: Reading) -> Iterator[TextBatch]:
    path, column, errors = file.path, reading.text_column, reading.errors
    line_number = 0
    documents = 0
    with open_text(path, reading.encoding, errors) as stream:
        for position, data in _byte_batches(path, stream, lines=True, spaces=False):
            texts: list[str | None] = []
            for line in valid_bytes(data, errors, path, position).split(b"\n"):
                line_number += 1
                if line.strip():
                    text = _json_text(line, column, path, line_number)
                    texts.append(text)
            line_number -= data.endswith(b"\n")
            batch = from_texts(texts, errors, partial(_document_name, path, documents))
            documents += len(texts)
            yield TextBatch(batch.text, batch.ends, stream.bytes_read())


def _document_name(path: Path | RemoteFile, first: int, index: int) -> str:
    return f"Document {first + index} of {path}"


def _json_text(line: bytes, column: str, path: Path | RemoteFile, number: int) -> str | None:
    fields = _json_object(line, path, number)
    if column not in fields:
        raise CorpusError(
            f"Line {number} of {path} has no {column!r}; it has {names_of(fields)}: "
            "name the one with the text by `text_column`."
        )
    text = fields[column]
    if not isinstance(text, str | None) and (text := without_nan(text)) is not None:
        raise CorpusError(
            f"The {column!r} in line {number} of {path} is {kind_of_value(text)}, not text."
        )
    return text


def _json_object(line: bytes, path: Path | RemoteFile, number: int) -> dict[str, Any]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"Line {number} of {path} is not valid JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise CorpusError(
            f"Line {number} of {path} is not a JSON object; each line must be one, "
            'as {"text": "…"}.'
        )
    return fields


def _read_parquet(file: InputFile, reading: Reading) -> Iterator[TextBatch]:
    path, column = file.path, reading.text_column
    with open_parquet(path) as table:
        _require_columns(path, table.schema_arrow.names, [column])
        groups = range(*(file.part or (0, table.num_row_groups)))
        rows = sum(table.metadata.row_group(group).num_rows for group in groups)
        bytes_per_row = file.size / max(rows, 1)
        row = 0
        for records in table.iter_batches(
            _batch_rows(table, column), row_groups=list(groups), columns=[column]
        ):
            array = valid_array(records.column(0), reading.errors, f"{column!r} of {path}", row)
            row += len(array)
            yield from_arrow(array, int(row * bytes_per_row))


def _read_csv(file: InputFile, reading: Reading) -> Iterator[TextBatch]:
    column, path = reading.text_column, file.path
    row = 0
    with open_text(path, reading.encoding, reading.errors) as stream:
        for records in _csv_records(file, stream, [column]):
            texts = valid_array(records.column(0), reading.errors, f"{column!r} of {path}", row)
            row += len(texts)
            rows = max(1, len(texts) * _batches.BATCH_BYTES // max(1, texts.nbytes))
            for first in range(0, len(texts), rows):
                yield from_arrow(texts.slice(first, rows), stream.bytes_read())


_READERS = {
    "text": _read_text,
    "json": _read_json_lines,
    "csv": _read_csv,
    "tsv": _read_csv,
    "parquet": _read_parquet,
}


def _csv_records(file: InputFile, stream: TextStream, names: list[str]) -> Iterator[Any]:
    """Yield columns of a table as text that is not checked, in Arrow's batches of records."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    if not stream.head:
        return
    delimiter, known = _csv_header(stream.head, file.format)
    _require_columns(file.path, known, names)
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
        reason = textwrap.shorten(one_line(str(error)), 200)
        raise CorpusError(f"{file.path} can't be read as a table: {reason}.") from error


def _csv_header(head: bytes, table_format: str) -> tuple[str, list[str]]:
    """Return the delimiter of a table and the names of its columns."""
    text = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
    headers = {}
    for delimiter in "\t" if table_format == "tsv" else ",;\t":
        text.seek(0)
        headers[delimiter] = next(csv.reader(text, delimiter=delimiter), [])
    delimiter = max(headers, key=lambda each: len(headers[each]))
    return delimiter, headers[delimiter]


def _batch_rows(table: Any, column: str) -> int:
    """Return how many rows make a batch, from the sizes in the file's metadata."""
    metadata = table.metadata
    if column not in metadata.schema.names:  # a column of lists or structs has other names inside
        return 1
    index = metadata.schema.names.index(column)
    size = sum(
        metadata.row_group(group).column(index).total_uncompressed_size
        for group in range(metadata.num_row_groups)
    )
    return int(np.clip(_batches.BATCH_BYTES * metadata.num_rows // max(size, 1), 1, 1 << 16))


def _byte_batches(
    path: Path | RemoteFile, stream: TextStream, *, lines: bool, spaces: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file in batches, with their positions, cut after a line or a space.

    Where neither is allowed or found, a batch grows until one is, or to the end of the file, as
    far as memory allows: a few kilobytes of a compressed file may be a line of many gigabytes.
    """
    position = 0
    rest = b""
    while block := stream.read(max(_batches.BATCH_BYTES, len(rest))):
        data = rest + block
        cut = data.rfind(b"\n") + 1 if lines else 0
        if not cut and spaces:
            cut = max(data.rfind(space) for space in (b" ", b"\n", b"\t")) + 1
        if cut:
            yield position, data[:cut]
        position += cut
        rest = data[cut:]
        if len(rest) > _batches.BATCH_BYTES:
            require_memory(
                _COPIES * 2 * len(rest),
                f"A {'line' if lines else 'document'} of {path}, more than "
                f"{len(rest) / 1e6:,.0f} MB long,",
                "split it",
            )
    if rest:
        yield position, rest


def _require_columns(path: Path | RemoteFile, known: list[str], names: list[str]) -> None:
    absent = [name for name in names if name not in known]
    if absent:
        raise CorpusError(
            f"{path} has no column {absent[0]!r}; it has {names_of(known)}: name one of these, the "
            "one with the text by `text_column`."
        )


def read_columns(
    paths: PathLike | Iterable[PathLike], columns: Iterable[str], *, encoding: str = "utf-8"
) -> dict[str, list[Any]]:
    r"""Return columns of Parquet, JSON or CSV files, with one value for each document.

    A value that is absent is None. A column of CSV has numbers if all its values are.

    Parameters
    ----------
    paths
        What `Corpus.from_files` read. Plain text has no columns.
    columns
        Their names.
    encoding
        As in `Reading`.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "speeches.csv")
    >>> size = file.write_text('text,year\nthe king,1990\n"the queen, too",\n')
    >>> read_columns(file, ["year"])
    {'year': [1990, None]}
    """
    names = list(dict.fromkeys(columns))
    if not names:
        raise SettingError("read_columns needs the name of at least one column.")
    found: dict[str, list[Any]] = {name: [] for name in names}
    spelled: list[slice] = []  # values of CSV, which has no types
    for file in find_files(paths):
        if file.format == "text":
            raise CorpusError(
                f"{file.path} is plain text, which has no columns beside it; give Parquet, JSON "
                "lines or CSV."
            )
        before = len(found[names[0]])
        for row in _rows(file, names, encoding):
            for name, value in zip(names, row, strict=True):
                found[name].append(value)
        if file.format in ("csv", "tsv"):
            spelled.append(slice(before, len(found[names[0]])))
    for name, values in found.items():
        read = iter(_values_of_csv([value for part in spelled for value in values[part]]))
        for part in spelled:
            values[part] = itertools.islice(read, part.stop - part.start)
        if all(value is None for value in values):
            raise CorpusError(f"No document has a value for {name!r}; check the column's name.")
    return found


def _rows(file: InputFile, names: list[str], encoding: str) -> Iterator[tuple[Any, ...]]:
    if file.format == "parquet":
        with open_parquet(file.path) as table:
            _require_columns(file.path, table.schema_arrow.names, names)
            for records in table.iter_batches(columns=names):
                yield from zip(*(records.column(name).to_pylist() for name in names), strict=True)
        return
    with open_text(file.path, encoding) as stream:
        if file.format == "json":
            yield from _json_rows(file.path, stream, names)
            return
        for records in _csv_records(file, stream, names):
            columns = [
                valid_array(column, "replace", str(file.path), 0).to_pylist()
                for column in records.columns
            ]
            yield from zip(*columns, strict=True)


def _json_rows(
    path: Path | RemoteFile, stream: TextStream, names: list[str]
) -> Iterator[tuple[Any, ...]]:
    batches = _byte_batches(path, stream, lines=True, spaces=False)
    lines = (line for _, data in batches for line in data.removesuffix(b"\n").split(b"\n"))
    for number, line in enumerate(lines, 1):
        if line.strip():
            fields = _json_object(line, path, number)
            yield tuple(fields.get(name) for name in names)


def _values_of_csv(cells: list[str]) -> list[Any]:
    """Return the values of a column of text: whole numbers or numbers if all are, None if empty."""
    filled = [cell for cell in cells if cell not in _NO_NUMBER]
    for kind, pattern in ((int, _WHOLE_NUMBER), (float, _NUMBER)):
        if filled and all(map(pattern.fullmatch, filled)):
            return [None if cell in _NO_NUMBER else kind(cell) for cell in cells]
    return [cell or None for cell in cells]
