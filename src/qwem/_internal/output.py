"""Outputs that are written whole or not at all: files and directories."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from qwem._internal.leftovers import claimed, naming, remove_abandoned, temporary_name
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
    partial = temporary_name(final)
    with naming(given, partial):
        if _is_stream(given):
            with given.open("wb") as file:
                yield file
            return
        final.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(final)
        try:
            with partial.open("xb") as file, claimed(partial):
                yield file
                file.flush()
                os.fsync(file.fileno())
            partial.replace(final)
            _flush_to_disk(final.parent)
        finally:
            partial.unlink(missing_ok=True)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise `ArtefactError` if nothing can be written to `path`, as far as can be told beforehand.

    Parent directories that do not exist yet are made when it is written.
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
    """Raise `ArtefactError` if no file can be written to `path`, as far as can be told."""
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
    raises an error if the directory that it is given must not be replaced. It is called before the
    work, and again before and after the old directory is moved out of the way.
    """
    final = Path(os.path.realpath(path))
    check_replaceable(final)
    partial = temporary_name(final)
    with naming(Path(path), partial):
        final.parent.mkdir(parents=True, exist_ok=True)
        remove_abandoned(final)
        partial.mkdir()
        try:
            with claimed(partial):
                yield partial
                for entry in [*partial.rglob("*"), partial]:
                    _flush_to_disk(entry)
                _put_in_place(partial, final, check_replaceable)
            _flush_to_disk(final.parent)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _put_in_place(partial: Path, final: Path, check_replaceable: Callable[[Path], None]) -> None:
    """Move a finished directory to its destination; of two at once, one comes last and wins."""
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

    Linux can do that. Returns False where the system or the file system can't, and where there is
    nothing to swap with.
    """
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(swap(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)


def _is_stream(path: Path) -> bool:
    """Return whether a path is to be written to as it is, and not to be replaced."""
    if path.exists() and not path.is_file():
        return True
    # /dev/stdout is such a path even where it is redirected to a regular file.
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
