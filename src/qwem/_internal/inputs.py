"""Files that are read: their lines, states and URLs, and the memory of mapped ones."""

from __future__ import annotations

import glob
import mmap
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem.errors import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


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


def file_states(paths: Iterable[str | os.PathLike[str]]) -> list[list[Any]]:
    """Return the name, size and modification time of every file that `paths` name.

    A path is a file, a directory (searched recursively) or a pattern. A path that doesn't exist has
    no state; reading it later reports the error.
    """
    given = [
        Path(name)
        for path in paths
        for name in ([path] if Path(path).exists() else glob.glob(str(path)))
    ]
    files = {file for path in given for file in (path.rglob("*") if path.is_dir() else [path])}
    stats = [(str(file.resolve()), file.stat()) for file in sorted(files)]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]


# More than one letter before the colon: C:// is a drive.
_URL = re.compile(r"([a-z][a-z0-9+.-]+::)*[a-z][a-z0-9+.-]+://", re.IGNORECASE)
# After :// a user, with a password or not; elsewhere a user with a password.
_USER = re.compile(r"((?<=://)[^/?#\s]*|[^\s/:@]+:[^\s/:@]+)@")
_QUERY = re.compile(r"(https?://[^\s?#]*\?)[^\s)\"']+", re.IGNORECASE)


def is_url(item: object) -> bool:
    """Return whether `item` is a string that names something by a URL, such as ``s3://…``.

    >>> is_url("s3://bucket/wiki.parquet"), is_url("wiki.parquet"), is_url("c://wiki.parquet")
    (True, False, False)
    """
    return isinstance(item, str) and _URL.match(item) is not None


def without_secrets(text: str) -> str:
    """Return text in which no URL has a user, a password or a query, which may be signed.

    >>> without_secrets("ftp://me:secret@host/file and https://host/file?token=secret are missing")
    'ftp://…@host/file and https://host/file?… are missing'
    """
    return _QUERY.sub(r"\1…", _USER.sub("…@", text))


def release(array: NDArray[Any]) -> None:
    """Give back the memory of a mapped array, or of a part of one; the file is read when needed.

    Otherwise pages that were read stay in this process's memory until the system runs short of it.
    Does nothing for arrays that are not mapped, or that may have been changed.
    """
    import numpy as np

    mapped: Any = getattr(array, "_mmap", None)
    if mapped is None or getattr(array, "mode", None) != "r" or not hasattr(mapped, "madvise"):
        return
    first, stop = np.lib.array_utils.byte_bounds(array)
    start = np.frombuffer(mapped, np.uint8).ctypes.data
    first = (first - start) // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, stop - start - first)
