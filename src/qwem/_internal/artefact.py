"""Saved artefacts: a directory with a JSON description, written whole or not at all."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

METADATA_FILE = "metadata.json"


@contextmanager
def writing(path: str | os.PathLike[str], kind: str) -> Iterator[Path]:
    """Yield an empty directory that becomes `path` when the block ends without an error.

    The directory is built beside its destination and moved there by a rename, so a killed run
    leaves the old artefact or the new one, never half of one. An artefact of the same kind is
    replaced; anything else at `path` is left alone and refused.
    """
    final = Path(path)
    _refuse_unless_replaceable(final, kind)
    final.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
    try:
        partial.chmod(0o755)
        yield partial
        for file in partial.iterdir():
            _flush_to_disk(file)
        if not final.exists():
            partial.rename(final)
        elif not _exchange(partial, final):
            retired = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
            final.rename(retired / "old")
            partial.rename(final)
            shutil.rmtree(retired)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def writing_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a binary file that becomes `path` when the block ends without an error."""
    final = Path(path)
    if final.is_dir():
        raise ArtefactError(f"{final} is a directory; name a file to write.")
    final.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{final.name}.", dir=final.parent)
    partial = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.chmod(0o644)
        partial.replace(final)
    finally:
        partial.unlink(missing_ok=True)


def write_metadata(directory: Path, kind: str, fields: Mapping[str, Any]) -> None:
    """Write the JSON description of an artefact: its kind, the version that made it, `fields`."""
    from qwem import __version__

    text = json.dumps({"kind": kind, "qwem": __version__, **fields}, indent=2, ensure_ascii=False)
    (directory / METADATA_FILE).write_text(text + "\n", encoding="utf-8")


def read_metadata(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Read the JSON description of the artefact at `path`, which must be of this `kind`."""
    directory = Path(path)
    found = kind_of(directory)
    if found is None:
        raise ArtefactError(f"{directory} is not a saved {kind}: it has no {METADATA_FILE}.")
    if found != kind:
        raise ArtefactError(f"{directory} holds a {found}, not a {kind}.")
    metadata: dict[str, Any] = json.loads((directory / METADATA_FILE).read_text("utf-8"))
    return metadata


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of artefact saved at `path`, or None where there is none."""
    try:
        metadata = json.loads((Path(path) / METADATA_FILE).read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError as error:
        raise ArtefactError(f"{Path(path) / METADATA_FILE} is not valid JSON: {error}.") from error
    return str(metadata["kind"]) if isinstance(metadata, dict) and "kind" in metadata else None


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write named arrays to one safetensors file."""
    import numpy as np
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, file)


def read_arrays(file: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Read all named arrays of a safetensors file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        arrays: dict[str, np.ndarray[Any, Any]] = load_file(file)
    except FileNotFoundError as error:
        raise ArtefactError(f"{file} is missing; the artefact must be made again.") from error
    except SafetensorError as error:
        raise ArtefactError(f"{file} is damaged ({error}); make the artefact again.") from error
    return arrays


def write_words(file: Path, words: tuple[str, ...]) -> None:
    """Write words to UTF-8 text, one per line."""
    file.write_bytes("".join(f"{word}\n" for word in words).encode("utf-8"))


def read_words(file: Path) -> tuple[str, ...]:
    """Read words written by `write_words`."""
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError as error:
        raise ArtefactError(f"{file} is missing; the artefact must be made again.") from error
    except UnicodeDecodeError as error:
        raise ArtefactError(f"{file} is damaged ({error}); make the artefact again.") from error
    return tuple(text.split("\n")[:-1])


def _exchange(first: Path, second: Path) -> bool:
    """Swap two directories in one step, so that neither name is ever missing.

    Linux can do that; returns False where the system or the file system can't.
    """
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(swap(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)


def _refuse_unless_replaceable(path: Path, kind: str) -> None:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    found = kind_of(path)
    if found is None:
        raise ArtefactError(f"{path} exists and is not a saved {kind}; choose another path.")
    if found != kind:
        raise ArtefactError(f"{path} holds a {found}, not a {kind}; choose another path.")


def _flush_to_disk(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
