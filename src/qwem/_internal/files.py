"""Files: outputs that are written whole or not at all, temporary files, disk space, and inputs."""

from __future__ import annotations

import ctypes
import errno
import glob
import hashlib
import mmap
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from qwem.errors import ArtefactError, DataError, DiskLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray


@contextmanager
def writing_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that becomes `path` when the block ends without an error.

    A regular file is replaced by a rename, so that a killed run leaves the old file or the new one.
    Symbolic links are followed. Pipes and devices are written to, and ``-`` is standard output.
    """
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    given, final = Path(path), Path(os.path.realpath(path))
    if given.is_dir():
        raise ArtefactError(f"{path} is a directory; name a file to write.")
    partial = temporary_name(final)
    with errors_naming(given, partial):
        if _is_stream(given):
            with given.open("wb") as file:
                yield file
            return
        final.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(final)
        try:
            with partial.open("xb") as file, locked(partial):
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(final)
            _flush_to_disk(final.parent)
        finally:
            partial.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise `ArtefactError` if it is clear in advance that `path` can't be written.

    Missing parent directories are no obstacle: they are made when the path is written.
    """
    if os.fspath(path) == "-":
        return
    parents = Path(os.path.realpath(path)).parents
    nearest = next(parent for parent in parents if parent.exists())
    if not nearest.is_dir():
        raise ArtefactError(f"{path} can't be written: {nearest} is a file; choose another path.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise ArtefactError(
            f"{path} can't be written: there is no permission to write to {nearest}; choose "
            "another path."
        )


def require_writable_file(path: str | os.PathLike[str]) -> None:
    """Raise `ArtefactError` if it is clear in advance that no file can be written to `path`."""
    if Path(path).is_dir():
        raise ArtefactError(f"{path} is a directory; name a file to write.")
    if not _is_stream(Path(path)):
        require_writable(path)


@contextmanager
def writing_directory(
    path: str | os.PathLike[str], check_replaceable: Callable[[Path], None]
) -> Iterator[Path]:
    """Yield an empty directory that becomes `path` when the block ends without an error.

    The directory is built beside its destination and moved there by a rename. `check_replaceable`
    raises an error if a directory must not be replaced. It is called before the block, and again
    before and after the old directory is moved away.
    """
    final = Path(os.path.realpath(path))
    check_replaceable(final)
    partial = temporary_name(final)
    with errors_naming(Path(path), partial):
        final.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(final)
        partial.mkdir()
        try:
            with locked(partial):
                yield partial
                for entry in [*partial.rglob("*"), partial]:
                    _flush_to_disk(entry)
                _put_in_place(partial, final, check_replaceable)
            _flush_to_disk(final.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _put_in_place(partial: Path, final: Path, check_replaceable: Callable[[Path], None]) -> None:
    """Move a finished directory to its destination; of two at once, the last one wins."""
    retire = False
    while True:
        check_replaceable(final)
        if _exchange(partial, final):
            try:
                check_replaceable(partial)
            except BaseException:
                # Something was added to the old directory at the last moment: put it back.
                _exchange(partial, final)
                raise
            return
        try:
            partial.rename(final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES):
                raise
        else:
            return
        if not retire:
            # Another process was first; now there is something to swap with.
            retire = True
            continue
        # This system can't swap two names in one step.
        retired = temporary_name(final)
        try:
            final.rename(retired)
        except FileNotFoundError:
            continue
        try:
            check_replaceable(retired)
        except BaseException:
            retired.rename(final)
            raise
        shutil.rmtree(retired, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two directories in one step, so that neither name is ever missing.

    Returns False if the system (all but Linux) or the file system can't, or if one of them does not
    exist.
    """
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(swap(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a pipe or device, to be written to rather than replaced."""
    if path.exists() and not path.is_file():
        return True
    # /dev/stdout is one even if it is redirected to a regular file.
    return path.is_relative_to("/dev") and not path.is_relative_to("/dev/shm")


def _flush_to_disk(path: Path) -> None:
    if not (path.is_dir() or path.is_file()):
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a directory without permission to list it, or any on Windows
        return
    try:
        os.fsync(descriptor)
    except OSError:
        if not path.is_dir():  # some file systems can't flush directories
            raise
    finally:
        os.close(descriptor)


_ABOUT_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_LONGEST = 200  # bytes of a name; file systems allow 255, and host and process are added
_CLOCK_ERROR = 2.0  # seconds by which the times of files and processes may differ


@contextmanager
def temporary_directory(name: str) -> Iterator[Path]:
    """Yield an empty temporary directory, which is removed at the end.

    Directories of this name that killed processes left behind are removed first.
    """
    place = Path(tempfile.gettempdir(), name)
    remove_abandoned(place)
    directory = temporary_name(place)
    with errors_naming(place.parent, directory):
        directory.mkdir(mode=0o700)
        try:
            with locked(directory):
                yield directory
        finally:
            # Windows can't remove a memory-mapped file.
            shutil.rmtree(directory, ignore_errors=os.name == "nt")


def temporary_name(final: Path) -> Path:
    """Return a new hidden name beside `final`, with the number of this process."""
    return final.with_name(f"{_stem(final)}{os.getpid()}-{secrets.token_hex(4)}")


@contextmanager
def locked(path: Path, *, wait: bool = False) -> Iterator[bool]:
    """Lock a file or directory in the block; yield False if another process has locked it.

    With `wait` the other process is waited for. If the path is replaced meanwhile, the new one is
    locked. The system releases the lock however a process ends. Systems and file systems without
    locks yield True.
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    while True:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                free = True
            except BlockingIOError:
                free = False
            except OSError:
                free = True  # a file system without locks
            if not free or os.path.samestat(os.fstat(descriptor), path.stat()):
                yield free
                return
        finally:
            os.close(descriptor)


@contextmanager
def errors_naming(given: Path, temporary: Path) -> Iterator[None]:
    """Make errors about a temporary file, or without a file, name the path the user gave."""
    try:
        yield
    except OSError as error:
        nameless = error.filename is None and error.errno in _ABOUT_THE_DISK
        if nameless or str(error.filename).startswith(str(temporary)):
            error.filename, error.filename2 = str(given), None
        raise


def remove_abandoned(final: Path) -> None:
    """Remove what killed processes of this machine left beside `final`."""
    for entry, owner in _temporaries(final):
        with suppress(OSError):  # it belongs to another user, or was removed meanwhile
            if _is_used(entry, owner):
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink()


def remove_directory(path: Path) -> None:
    """Remove a directory in one step, so that a killed process leaves all of it or nothing."""
    remove_abandoned(path)
    retired = temporary_name(path)
    path.rename(retired)
    shutil.rmtree(retired)


def is_being_written(final: Path) -> bool:
    """Return whether a process is about to replace `final`."""
    return any(True for _ in _temporaries(final))


def _temporaries(final: Path) -> Iterator[tuple[Path, int]]:
    """Yield the temporary paths beside `final`, and the numbers of the processes that made them."""
    pattern = re.compile(rf"{re.escape(_stem(final))}(\d+)-[0-9a-f]{{8}}")
    try:
        entries = list(final.parent.iterdir())
    except OSError:
        return
    for entry in entries:
        if match := pattern.fullmatch(entry.name):
            yield entry, int(match[1])


def _stem(final: Path) -> str:
    name = final.name
    if len(os.fsencode(name)) > _LONGEST:
        name = hashlib.sha256(os.fsencode(name)).hexdigest()[:32]
    host = re.sub(r"[^A-Za-z0-9]+", "", socket.gethostname())[:20]
    return f".{name}.{host}-"


def _is_used(path: Path, owner: int) -> bool:
    """Return whether the process that made a temporary path still uses it."""
    import psutil

    with locked(path) as free:
        if not free:
            return True
    try:
        born = psutil.Process(owner).create_time()
    except psutil.Error:
        return False
    # A process younger than the file is another one that was given the same number.
    return bool(born < path.stat().st_mtime + _CLOCK_ERROR)


OTHER_DISK = "free some space, or choose another disk (TMPDIR, for temporary files)"


def require_disk(
    needed: int, what: str, directory: Path | None = None, remedy: str = OTHER_DISK
) -> None:
    """Raise `DiskLimitError` unless `needed` more bytes fit on a disk.

    It is the disk of `directory`, by default the one of temporary files.
    """
    directory = directory or Path(tempfile.gettempdir())
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise DiskLimitError(
            f"{what} would need {needed / 1e9:.1f} GB more disk space in {directory} and "
            f"{free / 1e9:.1f} GB are free; {remedy}."
        )


class DiskForecast:
    """Forecast of the disk space needed, from what the input so far has taken."""

    def __init__(
        self,
        directory: Path,
        total: int | None,
        work: str,
        remedy: str = OTHER_DISK,
        copies: int = 1,
    ) -> None:
        self.total = total
        self.needed = 0
        """Bytes in total, for all `copies` of what is written."""
        self._terms = work, directory, remedy
        self._copies = copies
        self._written = self._read = 0

    def add(self, written: int, read: int) -> bool:
        """Record that `read` bytes of input became `written`; return whether `needed` is known.

        Raises `DiskLimitError` if the rest will not fit.
        """
        self._written += written
        self._read += read
        if not self.total or 100 * self._read < self.total:
            return False
        self.needed = int(self._copies * self._written * max(1.0, self.total / max(1, self._read)))
        require_disk(self.needed - self._written, *self._terms)
        return True


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

    A path is a file, a directory (searched recursively) or a pattern. A path that doesn't exist is
    skipped; reading it later raises the error.
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
# After :// a user, with or without a password; elsewhere a user with a password.
_USER = re.compile(r"((?<=://)[^/?#\s]*|[^\s/:@]+:[^\s/:@]+)@")
_QUERY = re.compile(r"(https?://[^\s?#]*\?)[^\s)\"']+", re.IGNORECASE)


def is_url(item: object) -> bool:
    """Return whether `item` is a URL, such as ``s3://…``.

    >>> is_url("s3://bucket/wiki.parquet"), is_url("wiki.parquet"), is_url("c://wiki.parquet")
    (True, False, False)
    """
    return isinstance(item, str) and _URL.match(item) is not None


def without_secrets(text: str) -> str:
    """Remove users, passwords and queries (which may be signatures) from all URLs in a text.

    >>> without_secrets("ftp://me:secret@host/file and https://host/file?token=secret are missing")
    'ftp://…@host/file and https://host/file?… are missing'
    """
    return _QUERY.sub(r"\1…", _USER.sub("…@", text))


def release(array: NDArray[Any]) -> None:
    """Release the memory of a memory-mapped array or of a part of one; it is read again on use.

    Otherwise pages that were read stay in this process's memory until the system runs short of it.
    Does nothing for arrays that are not mapped, or that are not read-only.
    """
    import numpy as np

    mapped: Any = getattr(array, "_mmap", None)
    if mapped is None or getattr(array, "mode", None) != "r" or not hasattr(mapped, "madvise"):
        return
    first, stop = np.lib.array_utils.byte_bounds(array)
    start = np.frombuffer(mapped, np.uint8).ctypes.data
    first = (first - start) // mmap.PAGESIZE * mmap.PAGESIZE
    mapped.madvise(mmap.MADV_DONTNEED, first, stop - start - first)
