"""Outputs that are written whole or not at all: files and directories."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import socket
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    if given.is_relative_to("/dev") or (given.exists() and not given.is_file()):
        with given.open("wb") as file:
            yield file
        return
    final.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(final)
    partial = temporary_name(final)
    try:
        with partial.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def writing_directory(
    path: str | os.PathLike[str], check_replaceable: Callable[[Path], None]
) -> Iterator[Path]:
    """Yield an empty directory that becomes `path` when the block ends without an error.

    The directory is built beside its destination and moved there by a rename. `check_replaceable`
    is called before the work and again before the old directory goes; it raises an error where
    that must not be replaced.
    """
    final = Path(os.path.realpath(path))
    check_replaceable(final)
    final.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(final)
    partial = temporary_name(final)
    partial.mkdir()
    try:
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                _flush_to_disk(file)
        _put_in_place(partial, final, check_replaceable)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def temporary_name(final: Path) -> Path:
    """Return a new hidden name beside `final` that tells which process uses it."""
    owner = f"{_host()}-{os.getpid()}"
    return final.with_name(f".{final.name}.{owner}-{secrets.token_hex(4)}")


def remove_abandoned(final: Path) -> None:
    """Remove what killed processes of this machine left beside `final`."""
    pattern = re.compile(rf"\.{re.escape(final.name)}\.{re.escape(_host())}-(\d+)-[0-9a-f]{{8}}")
    for entry in final.parent.iterdir():
        match = pattern.fullmatch(entry.name)
        if match is None or _is_alive(int(match[1])):
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def _put_in_place(partial: Path, final: Path, check_replaceable: Callable[[Path], None]) -> None:
    """Move a finished directory to its destination; of two at once, one comes last and wins."""
    while True:
        check_replaceable(final)
        if _exchange(partial, final):
            return
        try:
            partial.rename(final)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES):
                raise
        else:
            return
        # Something is there, and this system can't swap two names in one step.
        retired = temporary_name(final)
        try:
            final.rename(retired)
        except FileNotFoundError:
            continue
        shutil.rmtree(retired, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two directories in one step, so that neither name is ever missing.

    Linux can do that. Returns False where the system or the file system can't, and where there is
    nothing to swap with.
    """
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(swap(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]+", "", socket.gethostname())[:20]


def _is_alive(process: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(process))


def _flush_to_disk(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
