"""Reader for the lines of a benchmark file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) for every line that is neither blank nor a ``#`` comment."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{file} can't be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        broken = error.object[: error.start].count(b"\n") + 1
        raise DataError(f"{file}, line {broken}: the text is not UTF-8.") from error
    for place, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.startswith("#"):
            yield place, line.strip("\r\n ")
