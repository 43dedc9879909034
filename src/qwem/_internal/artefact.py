"""Saved artefacts: directories of files, with a JSON description that has a digest of each file.

An artefact is written whole or not at all. It is replaced only if its directory has no other files.
Loading refuses it if a file is missing or was changed.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from qwem._internal.files import (
    is_being_written,
    locked,
    require_writable,
    writing_directory,
)
from qwem._internal.resources import is_encodable
from qwem._internal.results import one_line, with_article
from qwem.errors import ArtefactError, MemoryLimitError, QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np


METADATA_FILE = "metadata.json"
FILES, DIGEST = "files", "digest"

_CHUNK_BYTES = 1 << 22
_LARGEST_DESCRIPTION = 1 << 28
_ATTEMPTS, _PAUSE = 100, 0.005  # how often an artefact that is being replaced is read; seconds


class Description(NamedTuple):
    """The bytes of a description, and the identity of its file: inode and modification time."""

    text: bytes
    version: tuple[int, int]


def find_description(directory: Path, *, wait: bool = False) -> Description | None:
    """Return the description of an artefact, or None if there is none.

    It must be a regular file of a plausible size: reading a pipe might wait forever, and a device
    might never end. On systems that can't swap two directories in one step, an artefact is missing
    for a moment while it is replaced. With `wait`, that moment is waited out.
    """
    path = directory / METADATA_FILE
    for _ in range(_ATTEMPTS):
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                state = os.fstat(file.fileno())
                _require_regular(path, state)
                if state.st_size > _LARGEST_DESCRIPTION:
                    raise ArtefactError(
                        f"{path} has {state.st_size:,} bytes, more than any description of an "
                        "artefact; make the artefact again."
                    )
                return Description(file.read(), (state.st_ino, state.st_mtime_ns))
        except (FileNotFoundError, NotADirectoryError):
            if not wait or not (is_being_written(directory) or path.exists()):
                return None
            time.sleep(_PAUSE)
        except OSError as error:
            raise unreadable(path, error) from error
    return None


def read_description(directory: Path, kind: str, *, wait: bool = False) -> Description:
    """Return the description of an artefact, which must be there; see `find_description`."""
    if (found := find_description(directory, wait=wait)) is not None:
        return found
    if not directory.exists():
        raise ArtefactError(f"There is no saved {kind} at {directory}.")
    raise ArtefactError(
        f"{directory} is not a saved {kind}: it has no {METADATA_FILE}; name a directory that qwem "
        "wrote, or fit a model to the text first."
    )


def _require_regular(path: Path, state: os.stat_result) -> None:
    if not stat.S_ISREG(state.st_mode):
        raise ArtefactError(f"{path} is not a regular file; make the artefact again.")


def parse_json(directory: Path, description: bytes) -> dict[str, Any]:
    """Return the fields of a description, unchecked."""
    try:
        fields = json.loads(description.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArtefactError(
            f"{directory / METADATA_FILE} is not valid JSON: {error}; make the artefact again."
        ) from error
    return fields if isinstance(fields, dict) else {}


def parse(directory: Path, description: bytes, kind: str | None) -> dict[str, Any]:
    """Return the fields of a description, after checking its kind and its digest."""
    fields = parse_json(directory, description)
    found = fields.get("kind")
    if kind is not None and found != kind and isinstance(found, str):
        raise ArtefactError(f"{directory} holds {with_article(found)}, not {with_article(kind)}.")
    digest = fields.pop(DIGEST, None)
    if digest != digest_of_fields(fields) or FILES not in fields:
        raise ArtefactError(
            f"{directory / METADATA_FILE} is damaged: its contents are not those that were "
            "written; make the artefact again."
        )
    return fields


def seal(directory: Path) -> None:
    """Add the size and digest of every file to the description, and a digest of its own."""
    fields = parse_json(directory, (directory / METADATA_FILE).read_bytes())
    inside = [entry.parent for entry in directory.glob(f"*/**/{METADATA_FILE}")]
    files = [
        file
        for file in sorted(directory.rglob("*"))
        if file.is_file()
        and file != directory / METADATA_FILE
        # Artefacts inside this one have digests of their own files.
        and (file.parent not in inside or file.name == METADATA_FILE)
    ]
    fields[FILES] = {
        file.relative_to(directory).as_posix(): [file.stat().st_size, digest_of_file(file)]
        for file in files
    }
    # The fields as they will be read back: tuples become lists, for example.
    fields = json.loads(json.dumps(fields))
    write_json(directory, {**fields, DIGEST: digest_of_fields(fields)})


def write_json(directory: Path, fields: Mapping[str, Any]) -> None:
    """Write the fields of a description."""
    try:
        text = json.dumps(fields, indent=2, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, for example in a file name
        text = json.dumps(fields, indent=2).encode("utf-8")
    (directory / METADATA_FILE).write_bytes(text + b"\n")


def digest_of_file(file: Path) -> str:
    """Return a digest of the contents of a file."""
    import xxhash

    digest = xxhash.xxh3_128()
    try:
        with file.open("rb", buffering=0) as raw:
            while chunk := raw.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise unreadable(file, error) from error
    return str(digest.hexdigest())


def unreadable(file: Path, error: OSError) -> ArtefactError:
    """Return the error for a file of an artefact that can't be read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ArtefactError(f"{file} is missing; make the artefact again.")
    if isinstance(error, IsADirectoryError):
        return ArtefactError(f"{file} is a directory, not a file; make the artefact again.")
    return ArtefactError(f"{file} can't be read: {error.strerror or error}.")


def digest_of_fields(fields: Mapping[str, Any]) -> str:
    """Return a digest of plain data."""
    import xxhash

    text = json.dumps(fields, sort_keys=True)
    return str(xxhash.xxh3_128_hexdigest(text.encode("utf-8")))


LARGE_BYTES = 1 << 30
"""Memory-mapped files larger than this are not checked on loading."""

_TYPES = {
    "U8": "u1",
    "U32": "<u4",
    "U64": "<u8",
    "I32": "<i4",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}
_WRONG_CONTENTS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)
_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")

Result = TypeVar("Result")


@contextmanager
def writing(path: str | os.PathLike[str], kind: str) -> Iterator[Path]:
    """Yield an empty directory that becomes the artefact at `path` if the block has no error.

    The block writes files (or other artefacts, as subdirectories) and calls `write_metadata`. A
    killed run leaves the old artefact or the new one. Only an artefact of the same kind, with
    nothing added to its directory, is replaced; anything else is refused, before any work.
    """
    given = Path(path)
    with writing_directory(path, lambda final: _check_replaceable(final, given, kind)) as directory:
        yield directory
        seal(directory)


@contextmanager
def updating(path: str | os.PathLike[str], *, wait: bool = False) -> Iterator[None]:
    """Lock an artefact against other updates while it is read, changed and written again.

    A second update is refused, or waits for the first: if both began from the same version, one
    would be lost. Reading and replacing are not locked out.
    """
    directory = Path(path)
    if not os.access(directory, os.R_OK):  # reading it gives a better error
        yield
        return
    with locked(directory, wait=wait) as free:
        if not free:
            raise ArtefactError(
                f"{directory} is being updated by another process; try again when that is done."
            )
        yield


def require_replaceable(path: str | os.PathLike[str], kind: str) -> None:
    """Raise `ArtefactError` unless an artefact of this kind may be written to `path`."""
    require_writable(path)
    _check_replaceable(Path(os.path.realpath(path)), Path(path), kind)


def write_metadata(directory: Path, kind: str, fields: Mapping[str, Any]) -> None:
    """Write the JSON description of an artefact: its kind, the version that made it, `fields`."""
    from qwem import __version__

    write_json(directory, {"kind": kind, "qwem": __version__, **fields})


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write named arrays to one safetensors file."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    file.touch()
    mode = file.stat().st_mode  # from the umask, which safetensors ignores
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, file)
    except SafetensorError as error:
        if (found := _SYSTEM_ERROR.search(str(error))) is None:
            raise
        number = int(found[1])
        raise OSError(number, os.strerror(number), str(file)) from error
    file.chmod(mode)


def write_words(file: Path, words: tuple[str, ...]) -> None:
    """Write words to UTF-8 text, one per line."""
    text = "\n".join((*words, ""))
    if text.count("\n") > len(words):
        word = next(word for word in words if "\n" in word)
        raise ArtefactError(
            f"The word {word!r} can't be saved: it has a line break, and words are saved one per "
            "line; leave it out of the vocabulary."
        )
    try:
        file.write_bytes(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        word = next(word for word in words if not is_encodable(word, "utf-8"))
        raise ArtefactError(
            f"The word {word!r} can't be saved: it has half of a surrogate pair, which is not "
            "Unicode text; leave it out of the vocabulary."
        ) from error


class Saved:
    """A saved artefact, opened for reading; its files are checked against its metadata."""

    def __init__(self, directory: Path, metadata: dict[str, Any]) -> None:
        self.directory = directory
        self.metadata = metadata
        for name, (size, _) in self._files.items():
            try:
                state = (directory / name).stat()
            except OSError as error:
                raise unreadable(directory / name, error) from error
            _require_regular(directory / name, state)
            if (found := state.st_size) != size:
                raise ArtefactError(
                    f"{directory / name} is damaged: it has {found:,} bytes where {size:,} were "
                    "written; make the artefact again."
                )

    @property
    def _files(self) -> dict[str, list[Any]]:
        files: dict[str, list[Any]] = self.metadata[FILES]
        return files

    @property
    def fingerprint(self) -> str:
        """A digest of all files, including those of artefacts inside this one."""
        return digest_of_fields(self._files)

    def has(self, name: str) -> bool:
        """Return whether the artefact was saved with this file, or with this artefact inside it."""
        return name in self._files or f"{name}/{METADATA_FILE}" in self._files

    def path(self, name: str) -> Path:
        """Return the path of a file of the artefact, after checking its digest."""
        file = self.directory / name
        if name not in self._files:
            raise ArtefactError(f"{self.directory} has no {name}; make the artefact again.")
        if digest_of_file(file) != self._files[name][1]:
            raise ArtefactError(
                f"{file} is damaged: its contents are not those that were written; make the "
                "artefact again."
            )
        return file

    def mapped_path(self, name: str) -> Path:
        """Return the path of a file to be memory-mapped, checked unless it is very large."""
        if self.has(name) and self._files[name][0] > LARGE_BYTES:
            return self.directory / name
        return self.path(name)

    def arrays(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return all named arrays of a safetensors file."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        file = self.path(name)
        try:
            arrays: dict[str, np.ndarray[Any, Any]] = load_file(file)
        except OSError as error:
            raise unreadable(file, error) from error
        except SafetensorError as error:
            raise ArtefactError(f"{file} is damaged ({error}); make the artefact again.") from error
        return arrays

    def mapped_arrays(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return all named arrays of a safetensors file, read-only and mapped from it."""
        import numpy as np

        file = self.mapped_path(name)
        with file.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(size))
        header.pop("__metadata__", None)
        arrays: dict[str, np.ndarray[Any, Any]] = {}
        for key, about in header.items():
            dtype, shape = np.dtype(_TYPES[about["dtype"]]), tuple(about["shape"])
            if 0 in shape:
                arrays[key] = np.zeros(shape, dtype)
            else:
                start = 8 + size + about["data_offsets"][0]
                arrays[key] = np.memmap(file, dtype, "r", start, shape)
        return arrays

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a file written by `write_words`."""
        file = self.path(name)
        try:
            return tuple(file.read_bytes().decode("utf-8").split("\n")[:-1])
        except OSError as error:
            raise unreadable(file, error) from error

    def child(self, name: str) -> Path:
        """Return the directory of an artefact inside this one, which `load` can read."""
        self.path(f"{name}/{METADATA_FILE}")
        return self.directory / name

    def check(self) -> int:
        """Check every file, including those of artefacts inside; return their size in bytes."""
        total = 0
        for name, (size, _) in self._files.items():
            self.path(name)
            total += size
            if name.endswith(f"/{METADATA_FILE}"):
                total += opened(self.directory / name.removesuffix(f"/{METADATA_FILE}")).check()
        return total


def require_shapes(arrays: Mapping[str, np.ndarray[Any, Any]], **shapes: str) -> None:
    """Raise `ValueError` unless arrays have these shapes, a letter or digit for each axis.

    Axes with the same letter must have the same length; a digit is a length. Missing arrays are
    skipped.
    """
    lengths = {str(digit): digit for digit in range(10)}
    for name, axes in shapes.items():
        if (array := arrays.get(name)) is None:
            continue
        fits = len(axes) == array.ndim and all(
            lengths.setdefault(axis, length) == length
            for axis, length in zip(axes, array.shape, strict=True)
        )
        if not fits:
            raise ValueError(f"{name} has the shape {array.shape}, which does not fit the others")


def load(path: str | os.PathLike[str], kind: str, build: Callable[[Saved], Result]) -> Result:
    """Return what `build` makes of the artefact of this kind at `path`.

    If another process replaces the artefact meanwhile, it is read again, so that the result comes
    from a single version. Any fault of the files is raised as an `ArtefactError`.
    """
    directory = Path(path)
    for _ in range(_ATTEMPTS):
        before = read_description(directory, kind, wait=True)
        failure: QwemError | None = None
        try:
            saved = Saved(directory, parse(directory, before.text, kind))
            result = build(saved)
        except (ArtefactError, MemoryLimitError) as error:
            failure = error
        except (*_WRONG_CONTENTS, OSError, QwemError) as error:
            reason = one_line(f"{type(error).__name__}: {error}")
            failure = ArtefactError(
                f"The {kind} at {directory} is damaged ({reason}); make it again."
            )
            failure.__cause__ = error
        if read_description(directory, kind, wait=True) == before:
            if failure is not None:
                raise failure
            return result
    raise ArtefactError(f"{directory} is being replaced over and over; load it again later.")


def opened(path: str | os.PathLike[str]) -> Saved:
    """Open the artefact at `path`, of whatever kind."""
    directory = Path(path)
    description = read_description(directory, "artefact of qwem")
    return Saved(directory, parse(directory, description.text, None))


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of artefact saved at `path`, or None if there is none."""
    directory = Path(path)
    if (description := find_description(directory)) is None:
        return None
    fields = parse_json(directory, description.text)
    return str(fields["kind"]) if "kind" in fields else None


def _check_replaceable(path: Path, given: Path, kind: str) -> None:
    """Raise unless `path` is free, empty, or an artefact of this kind and nothing else.

    `given` is the path as the user gave it. If another process replaces the artefact meanwhile, it
    is examined again.
    """
    for _ in range(_ATTEMPTS):
        before = find_description(path)
        try:
            obstacle = _obstacle(path, given, kind)
        except FileNotFoundError:
            continue
        if obstacle is None:
            return
        if find_description(path) == before:
            raise ArtefactError(obstacle)
    raise ArtefactError(f"{given} is being replaced over and over; choose another path.")


def _obstacle(path: Path, given: Path, kind: str) -> str | None:
    """Return the reason why a path must not be replaced, or None."""
    if not path.exists():
        return None
    if not path.is_dir():
        return f"{given} is a file, not a directory; choose another path."
    if not any(path.iterdir()):
        return None
    found = kind_of(path)
    if found is None:
        return f"{given} exists and is not a saved {kind}; choose another path."
    if found != kind:
        return (
            f"{given} holds {with_article(found)}, not {with_article(kind)}; choose another path."
        )
    own = _own_files(path)
    own |= {parent.as_posix() for name in own for parent in PurePosixPath(name).parents}
    strange = sorted({entry.relative_to(path).as_posix() for entry in path.rglob("*")} - own)
    if strange:
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        return (
            f"{given} has files beside the saved {kind} ({strange[0]}{more}), which would be lost; "
            "move them, or choose another path."
        )
    return None


def _own_files(directory: Path, prefix: str = "") -> set[str]:
    """Return the names of all files of an artefact and of those inside it."""
    fields = parse_json(directory, (directory / METADATA_FILE).read_bytes())
    names = {METADATA_FILE, *fields.get(FILES, {})}
    own = {prefix + name for name in names}
    for name in names:
        inside, _, last = name.rpartition("/")
        if inside and last == METADATA_FILE and (directory / name).is_file():
            own |= _own_files(directory / inside, f"{prefix}{inside}/")
    return own
