"""Files on remote file systems, by URL."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from qwem._internal.files import without_secrets
from qwem._internal.resources import require
from qwem._internal.results import one_line
from qwem.errors import CorpusError, MissingExtraError, QwemError

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNKNOWN_SIZE = 1
"""The size assumed for a file if the server does not give it."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on a remote file system; printing it shows no user, password or signature."""

    filesystem: Any = field(repr=False)
    path: str = field(repr=False)
    size: int
    version: str
    """A tag or date that changes when the file is replaced; empty if the file system has none."""

    def __str__(self) -> str:
        return without_secrets(self.filesystem.unstrip_protocol(self.path))

    @property
    def suffixes(self) -> list[str]:
        """The suffixes of its name, as in `pathlib.Path`."""
        return PurePosixPath(self.path.partition("?")[0]).suffixes

    @property
    def suffix(self) -> str:
        """The last suffix of its name."""
        return PurePosixPath(self.path.partition("?")[0]).suffix

    def open(self) -> IO[bytes]:
        """Open the file for reading."""
        file: IO[bytes] = self.filesystem.open(self.path, "rb")
        return file


def find_remote(url: str) -> tuple[list[RemoteFile], bool]:
    """Return the files of a URL, sorted, and whether the URL names a single file.

    The URL may be a file, a directory, which is searched recursively, or a pattern. Hidden files
    are skipped.
    """
    fsspec = require("fsspec", "remote")
    with _readable_errors(url):
        filesystem, path = fsspec.core.url_to_fs(url)
        if filesystem.isfile(path):
            return [_described(filesystem, path)], True
        if filesystem.isdir(path):
            top = PurePosixPath(path)
            found = [
                name
                for name in sorted(filesystem.find(path))
                if not any(p.startswith(".") for p in PurePosixPath(name).relative_to(top).parts)
            ]
            if not found:
                raise CorpusError(f"The directory {without_secrets(url)} has no files in it.")
        elif any(letter in path for letter in "*?["):
            found = sorted(
                name
                for name in filesystem.glob(path)
                if not PurePosixPath(name).name.startswith(".") and filesystem.isfile(name)
            )
            if not found:
                raise CorpusError(f"No file matches the pattern {without_secrets(url)}.")
        else:
            raise CorpusError(f"There is no file or directory {without_secrets(url)}.")
        return [_described(filesystem, name) for name in found], False


def _described(filesystem: Any, path: str) -> RemoteFile:
    info = filesystem.info(path)
    marks = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")
    version = next((str(info[mark]) for mark in marks if info.get(mark)), "")
    size = info.get("size")
    return RemoteFile(filesystem, path, _UNKNOWN_SIZE if size is None else int(size), version)


@contextmanager
def _readable_errors(url: str) -> Iterator[None]:
    """Turn any error of a file system into a `CorpusError` without secrets.

    The original error is not chained, because its text may contain the whole URL.
    """
    try:
        yield
    except QwemError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            f"{without_secrets(url)} needs a package for its file system: "
            f"{without_secrets(one_line(str(error)))}."
        ) from None
    except Exception as error:
        reason = without_secrets(one_line(str(error) or type(error).__name__))
        raise CorpusError(f"{without_secrets(url)} can't be read: {reason}.") from None
