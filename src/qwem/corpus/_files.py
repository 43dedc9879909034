"""Input files, on disk or by URL: finding and opening them."""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
import os
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, cast

from qwem._internal import require
from qwem._internal.artefact import kind_of
from qwem._internal.files import file_states, is_url, without_secrets
from qwem._internal.results import one_line
from qwem.errors import ArtefactError, CorpusError, MissingExtraError, QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

PathLike = str | os.PathLike[str]

_FORMATS = {
    ".jsonl": "json", ".ndjson": "json", ".json": "json",
    ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet",
}  # fmt: skip
_COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}
_LONGEST_NAME = 4096
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


@dataclass(frozen=True)
class InputFile:
    """A file to read; `named` where it was asked for by its own name, not found in a directory."""

    path: Path | RemoteFile
    named: bool
    part: tuple[int, int] | None = None
    """What of it to read: row groups of Parquet, bytes of plain text; None for all. A line belongs
    to the part in which it begins."""

    @property
    def compressed(self) -> bool:
        """Whether it is compressed as a whole, by its name."""
        return self.path.suffix.lower() in _COMPRESSED

    @property
    def size(self) -> int:
        """The bytes to read."""
        if self.part is None or self.format == "parquet":
            if isinstance(self.path, RemoteFile):
                return self.path.size
            return self.path.stat().st_size
        return self.part[1] - self.part[0]

    @property
    def state(self) -> list[Any]:
        """The name, size and version of the file: they change if it does."""
        if isinstance(self.path, RemoteFile):
            return [str(self.path), self.path.size, self.path.version]
        return file_states([self.path])

    @property
    def format(self) -> str:
        """The format, by the file's name: "text", "json", "csv", "tsv" or "parquet"."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] in _COMPRESSED:
            suffixes.pop()
        return _FORMATS.get(suffixes[-1], "text") if suffixes else "text"


def find_files(paths: PathLike | Iterable[PathLike]) -> list[InputFile]:
    """Return the files that paths, directories, patterns and URLs stand for.

    Directories are searched recursively, and what is found is sorted. Hidden files and what qwem
    itself saved there are passed over.
    """
    several = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    for path in several:
        _require_name(os.fspath(path))
    if any(os.fspath(path) == "" for path in several):
        raise CorpusError("One of the paths is empty; give the name of a file or directory.")
    files = [
        file
        for path in several
        for file in (_expand_url(os.fspath(path)) if is_url(path) else _expand(Path(path)))
    ]
    if not files:
        raise CorpusError("There is no file to read: the list of paths is empty.")
    return files


def _require_name(path: str) -> None:
    """Refuse a text that was given instead of the name of a file."""
    if len(path) > _LONGEST_NAME or any(letter in path for letter in "\n\r\0"):
        raise CorpusError(
            f"A string of {len(path):,} characters can't be the name of a file; give text as a "
            "list of documents, such as text.splitlines()."
        )


@contextmanager
def open_stream(
    path: Path | RemoteFile, part: tuple[int, int] | None = None
) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Yield a file's decompressed stream, and a function that returns how many bytes were read.

    Of a `part`, the stream has the lines that begin in it. Bad compression, including a file that
    was cut short, is a `CorpusError`.
    """
    try:
        with path.open() if isinstance(path, RemoteFile) else path.open("rb") as raw:
            if part is not None:
                first, last = (_start_of_line(raw, place) for place in part)
                raw.seek(first)
                yield cast("IO[bytes]", _Section(raw, last - first)), lambda: raw.tell() - first
                return
            stream = _decompressed(raw, path.suffix.lower())
            with stream:
                yield stream, raw.tell if raw.seekable() else lambda: 0
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise CorpusError(f"{path} is damaged or cut short: {error}.") from error
    except OSError as error:
        raise _unreadable(path, "", error.strerror or error) from _cause(path, error)


@contextmanager
def open_parquet(path: Path | RemoteFile) -> Iterator[Any]:
    """Yield a Parquet file, wherever it is; what is wrong with it is a `CorpusError`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if isinstance(path, RemoteFile):
            with path.open() as raw, pq.ParquetFile(raw, pre_buffer=True) as table:
                yield table
        else:
            with pq.ParquetFile(path, memory_map=True) as table:
                yield table
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, " as Parquet", error) from _cause(path, error)


def _unreadable(path: Path | RemoteFile, how: str, error: object) -> CorpusError:
    reason = one_line(without_secrets(str(error)))
    return CorpusError(f"{path} can't be read{how}: {reason}.")


def _cause(path: Path | RemoteFile, error: Exception) -> Exception | None:
    """Return an error to be chained, unless it may have a URL with secrets in it."""
    return None if isinstance(path, RemoteFile) else error


class _Section:
    """The next bytes of a file, and then its end."""

    def __init__(self, raw: IO[bytes], size: int) -> None:
        self._raw = raw
        self._left = size

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, and none at the end."""
        data = self._raw.read(min(size, self._left))
        self._left -= len(data)
        return data


def _start_of_line(raw: IO[bytes], place: int) -> int:
    """Return where the first line begins at `place` or after."""
    if not place:
        return 0
    raw.seek(place - 1)
    raw.readline()
    return raw.tell()


def _decompressed(raw: IO[bytes], suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".bz2":
        return bz2.BZ2File(raw)
    if suffix == ".xz":
        return lzma.LZMAFile(raw)
    if suffix == ".zst":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
    return raw


def _is_saved(directory: Path) -> bool:
    """Return whether qwem saved this directory, so that it is a result and not text."""
    try:
        return kind_of(directory) is not None
    except ArtefactError:  # some other program's metadata
        return False


def _expand_url(url: str) -> Iterator[InputFile]:
    files, named = _find_remote(url)
    yield from (InputFile(file, named=named) for file in files)


def _expand(path: Path) -> Iterator[InputFile]:
    if path.is_dir():
        found = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not any(p.startswith(".") for p in file.relative_to(path).parts)
        )
        saved = {file.parent for file in found if _is_saved(file.parent)}
        found = [file for file in found if saved.isdisjoint(file.parents)]
        if not found:
            raise CorpusError(f"The directory {path} has no files in it.")
        yield from (InputFile(file, named=False) for file in found)
    elif path.exists():
        yield InputFile(path, named=True)
    elif glob.has_magic(str(path)):
        matches = sorted(glob.glob(str(path), recursive=True))
        if not matches:
            raise CorpusError(f"No file matches the pattern {path}.")
        for match in matches:
            if Path(match).is_file():
                yield InputFile(Path(match), named=False)
    else:
        raise CorpusError(f"There is no file or directory {path}.")


def _find_remote(url: str) -> tuple[list[RemoteFile], bool]:
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
