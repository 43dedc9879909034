"""Temporary names that tell which process uses them, so that those of killed ones are removed."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ABOUT_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_LONGEST = 200  # bytes of a name; file systems end at 255, and the owner has to be added
_CLOCK_ERROR = 2.0  # seconds by which the time of a file and that of a process may differ


@contextmanager
def temporary_directory(name: str) -> Iterator[Path]:
    """Yield an empty directory among the system's temporary files, which is removed at the end.

    Directories of this name that killed processes left there are removed first.
    """
    place = Path(tempfile.gettempdir(), name)
    remove_abandoned(place)
    directory = temporary_name(place)
    with naming(place.parent, directory):
        directory.mkdir(mode=0o700)
        try:
            with claimed(directory):
                yield directory
        finally:
            # Windows can't remove a file that is mapped.
            shutil.rmtree(directory, ignore_errors=os.name == "nt")


def temporary_name(final: Path) -> Path:
    """Return a new hidden name beside `final` that tells which process uses it."""
    return final.with_name(f"{_stem(final)}{os.getpid()}-{secrets.token_hex(4)}")


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Lock a temporary file or directory in the block, as a sign that a living process uses it.

    The system drops the lock when the process ends, in whatever way. Where it has no such locks,
    the process number in the name has to do.
    """
    with _lock(path):
        yield


@contextmanager
def naming(given: Path, temporary: Path) -> Iterator[None]:
    """Make errors about a temporary name, or about no file at all, name the path of the user."""
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
        with suppress(OSError):  # of another user, or removed by another process meanwhile
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
    """Return whether a process is about to put something new in the place of `final`."""
    return any(True for _ in _temporaries(final))


def _temporaries(final: Path) -> Iterator[tuple[Path, int]]:
    """Yield the temporary names beside `final`, and the processes that made them."""
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
    """Return whether the process that made a temporary name is still at work on it."""
    import psutil

    with _lock(path) as free:
        if not free:
            return True
    try:
        born = psutil.Process(owner).create_time()
    except psutil.Error:
        return False
    # A process that is younger than the file has been given the number of one that is gone.
    return bool(born < path.stat().st_mtime + _CLOCK_ERROR)


@contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Lock a file or directory; yield False if another process has locked it."""
    try:
        import fcntl
    except ImportError:
        yield True
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        except OSError:
            free = True  # a file system without locks
        yield free
    finally:
        os.close(descriptor)
