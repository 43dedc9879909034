"""Columns beside the text: what Parquet and JSON files say about each document."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from qwem.corpus.files import find_files, open_parquet, open_stream
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from qwem.corpus.files import PathLike
    from qwem.corpus.remote import RemoteFile


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
            if not line.strip():
                continue
            try:
                fields = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise CorpusError(f"Line {number} of {path} is not valid JSON: {error}.") from error
            if not isinstance(fields, dict):
                raise CorpusError(f"Line {number} of {path} is not a JSON object.")
            yield tuple(fields.get(name) for name in names)
