"""Files to documents: plain text, JSON lines and Parquet, compressed or not, and their columns."""

from __future__ import annotations

import json
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import require_memory
from qwem.corpus import _batches
from qwem.corpus._batches import (
    TextBatch,
    from_arrow,
    from_texts,
    kind_of_value,
    valid_array,
    valid_bytes,
)
from qwem.corpus._files import find_files, open_parquet, open_stream
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from qwem.corpus._files import InputFile, PathLike, RemoteFile
    from qwem.corpus.reading import Documents, Errors

_COPIES = 6  # of a long line: its bytes twice, checked, parsed, and as text and its bytes
_NO_TEXT = np.empty(0, dtype=np.uint8)
_END_HERE = np.zeros(1, dtype=np.int64)


def read_files(
    files: Sequence[InputFile],
    *,
    documents: Documents,
    text_column: str,
    errors: Errors,
    whole: bool,
) -> Iterator[TextBatch]:
    """Yield the documents of all files, in order.

    Unless documents must be `whole`, one that is larger than a batch comes in pieces.
    """
    for file in files:
        if file.format == "parquet":
            read = _read_parquet(file, text_column, errors)
        elif file.format == "json":
            read = _read_json_lines(file.path, text_column, errors)
        else:
            read = _read_text(file, documents, errors, whole)
        empty = True
        before = 0
        for batch in read:
            empty = empty and not batch.text.size and not batch.ends.size
            yield TextBatch(batch.text, batch.ends, batch.progress - before)
            before = batch.progress
        if empty and file.named:
            raise CorpusError(f"{file.path} is empty: there is no text to read.")


def _read_text(
    file: InputFile, documents: Documents, errors: Errors, whole: bool
) -> Iterator[TextBatch]:
    path, by_line = file.path, documents == "line"
    with open_stream(path, file.part) as (stream, bytes_read):
        open_document = False
        for position, chunk in _chunks(path, stream, lines=by_line, spaces=not whole):
            text = np.frombuffer(valid_bytes(chunk, errors, path, position), np.uint8)
            ends = np.flatnonzero(text == ord("\n")) + 1 if by_line else _END_HERE[:0]
            yield TextBatch(text, ends, bytes_read())
            open_document = not (by_line and chunk.endswith(b"\n"))
        if open_document:
            yield TextBatch(_NO_TEXT, _END_HERE, bytes_read())


def _read_json_lines(path: Path | RemoteFile, column: str, errors: Errors) -> Iterator[TextBatch]:
    line_number = 0
    documents = 0
    with open_stream(path) as (stream, bytes_read):
        for position, chunk in _chunks(path, stream, lines=True, spaces=False):
            texts: list[str | None] = []
            for line in valid_bytes(chunk, errors, path, position).split(b"\n"):
                line_number += 1
                if line.strip():
                    text = _json_text(line, column, path, line_number)
                    texts.append(text)
            line_number -= chunk.endswith(b"\n")
            batch = from_texts(texts, errors, partial(_document_name, path, documents))
            documents += len(texts)
            yield TextBatch(batch.text, batch.ends, bytes_read())


def _document_name(path: Path | RemoteFile, first: int, index: int) -> str:
    return f"Document {first + index} of {path}"


def _json_text(line: bytes, column: str, path: Path | RemoteFile, number: int) -> str | None:
    fields = _json_object(line, path, number)
    if column not in fields:
        raise CorpusError(
            f"Line {number} of {path} has no {column!r}; it has {_names(fields)}: "
            "name the one with the text by `text_column`."
        )
    text = fields[column]
    if not isinstance(text, str | None):
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


def _read_parquet(file: InputFile, column: str, errors: Errors) -> Iterator[TextBatch]:
    path = file.path
    with open_parquet(path) as table:
        if column not in table.schema_arrow.names:
            raise CorpusError(
                f"{path} has no column {column!r}; it has {_names(table.schema_arrow.names)}: "
                "name the one with the text by `text_column`."
            )
        groups = range(*(file.part or (0, table.num_row_groups)))
        rows = sum(table.metadata.row_group(group).num_rows for group in groups)
        bytes_per_row = file.size / max(rows, 1)
        row = 0
        for records in table.iter_batches(
            _batch_rows(table, column), row_groups=list(groups), columns=[column]
        ):
            array = valid_array(records.column(0), errors, f"{column!r} of {path}", row)
            row += len(array)
            yield from_arrow(array, int(row * bytes_per_row))


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


def _chunks(
    path: Path | RemoteFile, stream: IO[bytes], *, lines: bool, spaces: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes of a file in pieces, with their positions, cut after a line or a space.

    Where neither is allowed or found, a piece grows until one is, or to the end of the file, as
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


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def read_columns(
    paths: PathLike | Iterable[PathLike], columns: Iterable[str]
) -> dict[str, list[Any]]:
    r"""Return columns of Parquet or JSON files, with one value for each document of `from_files`.

    A value that is absent is None.

    Parameters
    ----------
    paths
        What `Corpus.from_files` read. Plain text has no columns.
    columns
        Their names.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "speeches.jsonl")
    >>> size = file.write_text('{"text": "the king", "year": 1990}\n{"text": "the queen"}\n')
    >>> read_columns(file, ["year"])
    {'year': [1990, None]}
    """
    names = list(dict.fromkeys(columns))
    if not names:
        raise SettingError("read_columns needs the name of at least one column.")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for file in find_files(paths):
        if file.format == "text":
            raise CorpusError(
                f"{file.path} is plain text, which has no columns beside it; give Parquet or JSON "
                "lines."
            )
        read = _parquet_rows if file.format == "parquet" else _json_rows
        for row in read(file.path, names):
            for name, value in zip(names, row, strict=True):
                found[name].append(value)
    for name, values in found.items():
        if all(value is None for value in values):
            raise CorpusError(f"No document has a value for {name!r}; check the column's name.")
    return found


def _parquet_rows(path: Path | RemoteFile, names: list[str]) -> Iterator[tuple[Any, ...]]:
    with open_parquet(path) as table:
        known = table.schema_arrow.names
        absent = [name for name in names if name not in known]
        if absent:
            raise CorpusError(
                f"{path} has no column {absent[0]!r}; it has {', '.join(map(repr, known))}."
            )
        for records in table.iter_batches(columns=names):
            yield from zip(*(records.column(name).to_pylist() for name in names), strict=True)


def _json_rows(path: Path | RemoteFile, names: list[str]) -> Iterator[tuple[Any, ...]]:
    with open_stream(path) as (stream, _):
        for number, line in enumerate(stream, 1):
            if line.strip():
                fields = _json_object(line, path, number)
                yield tuple(fields.get(name) for name in names)
