"""Files of remote file systems, by URL."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any

from qwem._internal import require
from qwem._internal.files import without_secrets
from qwem._internal.results import one_line
from qwem.errors import CorpusError, MissingExtraError, QwemError

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNKNOWN_SIZE = 1
"""What a file counts for whose server does not say how large it is."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of a remote file system; printed, it has neither users, passwords nor signatures."""

    filesystem: Any = field(repr=False)
    path: str = field(repr=False)
    size: int
    version: str
    """What changes when the file is replaced, as far as the file system says."""

    def __str__(self) -> str:
        return without_secrets(self.filesystem.unstrip_protocol(self.path))

    @property
    def suffixes(self) -> list[str]:
        """The endings of its name, as those of `pathlib.Path`."""
        return PurePosixPath(self.path.partition("?")[0]).suffixes

    @property
    def suffix(self) -> str:
        """The last ending of its name."""
        return PurePosixPath(self.path.partition("?")[0]).suffix

    def open(self) -> IO[bytes]:
        """Open the file for reading, from any place on."""
        file: IO[bytes] = self.filesystem.open(self.path, "rb")
        return file


def find_remote(url: str) -> tuple[list[RemoteFile], bool]:
    """Return the files that a URL stands for, and whether it is the name of one.

    It may be a file, a directory, which is searched recursively, or a pattern. What is found is
    sorted; hidden files are passed over.
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
    """Turn whatever a file system raises into a `CorpusError` without secrets.

    Each has errors of its own, and their text may have the whole URL; so they are not chained.
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
