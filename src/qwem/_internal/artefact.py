"""Saved artefacts: a directory of files with a JSON description that knows a digest of each.

An artefact is written whole or not at all, replaced only if nothing else lies in its directory, and
refused when it is loaded if a file is missing or was changed.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar

from qwem._internal.output import writing_directory
from qwem.errors import ArtefactError, MemoryLimitError, QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np

METADATA_FILE = "metadata.json"
LARGE_BYTES = 1 << 30
"""Files that are memory-mapped are checked when they are loaded only up to this size."""

_CHUNK_BYTES = 1 << 22
_ATTEMPTS = 100
_FILES, _DIGEST = "files", "digest"

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
        _seal(directory)


def require_replaceable(path: str | os.PathLike[str], kind: str) -> None:
    """Raise `ArtefactError` unless an artefact of this kind may be written to `path`."""
    _check_replaceable(Path(os.path.realpath(path)), Path(path), kind)


def write_metadata(directory: Path, kind: str, fields: Mapping[str, Any]) -> None:
    """Write the JSON description of an artefact: its kind, the version that made it, `fields`."""
    from qwem import __version__

    _write_json(directory, {"kind": kind, "qwem": __version__, **fields})


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write named arrays to one safetensors file."""
    import numpy as np
    from safetensors.numpy import save_file

    file.touch()
    mode = file.stat().st_mode  # as the umask would have it, which safetensors ignores
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, file)
    file.chmod(mode)


def write_words(file: Path, words: tuple[str, ...]) -> None:
    """Write words to UTF-8 text, one per line."""
    for word in words:
        if "\n" in word:
            raise ArtefactError(
                f"The word {word!r} can't be saved: it has a line break, and words are saved one "
                "per line; leave it out of the vocabulary."
            )
    try:
        file.write_bytes("".join(f"{word}\n" for word in words).encode("utf-8"))
    except UnicodeEncodeError as error:
        word = next(word for word in words if not _is_utf8(word))
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
                found = (directory / name).stat().st_size
            except OSError as error:
                raise _unreadable(directory / name, error) from error
            if (directory / name).is_dir():
                raise _unreadable(directory / name, IsADirectoryError())
            if found != size:
                raise ArtefactError(
                    f"{directory / name} is damaged: it has {found:,} bytes where {size:,} were "
                    "written; make the artefact again."
                )

    @property
    def _files(self) -> dict[str, list[Any]]:
        files: dict[str, list[Any]] = self.metadata[_FILES]
        return files

    def has(self, name: str) -> bool:
        """Return whether the artefact was saved with this file, or with this artefact inside it."""
        return name in self._files or f"{name}/{METADATA_FILE}" in self._files

    def path(self, name: str) -> Path:
        """Return the path of a file of the artefact, unless the file was changed."""
        file = self.directory / name
        if name not in self._files:
            raise ArtefactError(f"{self.directory} has no {name}; make the artefact again.")
        if _digest_of_file(file) != self._files[name][1]:
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
            raise _unreadable(file, error) from error
        except SafetensorError as error:
            raise ArtefactError(f"{file} is damaged ({error}); make the artefact again.") from error
        return arrays

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a file written by `write_words`."""
        file = self.path(name)
        try:
            return tuple(file.read_bytes().decode("utf-8").split("\n")[:-1])
        except OSError as error:
            raise _unreadable(file, error) from error

    def child(self, name: str) -> Path:
        """Return the directory of an artefact inside this one, which `load` can read."""
        self.path(f"{name}/{METADATA_FILE}")
        return self.directory / name

    def check(self) -> int:
        """Check every file, also of artefacts inside this one; return how many bytes they have."""
        total = 0
        for name, (size, _) in self._files.items():
            self.path(name)
            total += size
            if name.endswith(f"/{METADATA_FILE}"):
                total += opened(self.directory / name.removesuffix(f"/{METADATA_FILE}")).check()
        return total


def load(path: str | os.PathLike[str], kind: str, build: Callable[[Saved], Result]) -> Result:
    """Return what `build` makes of the artefact of this kind at `path`.

    Where another process replaces the artefact meanwhile, it is read again, so that the result is
    one whole version. Whatever is wrong with the files is one `ArtefactError`.
    """
    directory = Path(path)
    for _ in range(_ATTEMPTS):
        before = _read_description(directory, kind)
        failure: QwemError | None = None
        try:
            saved = Saved(directory, _parse(directory, before, kind))
            result = build(saved)
        except (ArtefactError, MemoryLimitError) as error:
            failure = error
        except (LookupError, TypeError, ValueError, ArithmeticError, OSError, QwemError) as error:
            reason = f"{type(error).__name__}: {error}"
            failure = ArtefactError(
                f"The {kind} at {directory} is damaged ({reason}); make it again."
            )
            failure.__cause__ = error
        if _read_description(directory, kind) == before:
            if failure is not None:
                raise failure
            return result
    raise ArtefactError(f"{directory} is being replaced over and over; load it again later.")


def opened(path: str | os.PathLike[str]) -> Saved:
    """Open the artefact at `path`, of whatever kind."""
    directory = Path(path)
    description = _read_description(directory, "artefact of qwem")
    return Saved(directory, _parse(directory, description, None))


def read_metadata(path: str | os.PathLike[str], kind: str) -> dict[str, Any]:
    """Return the description of the artefact at `path`, which must be of this `kind`."""
    directory = Path(path)
    return _parse(directory, _read_description(directory, kind), kind)


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Return the kind of artefact saved at `path`, or None where there is none."""
    directory = Path(path)
    try:
        description = (directory / METADATA_FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(directory / METADATA_FILE, error) from error
    fields = _parse_json(directory, description)
    return str(fields["kind"]) if "kind" in fields else None


def _read_description(directory: Path, kind: str) -> bytes:
    try:
        return (directory / METADATA_FILE).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        if not directory.exists():
            raise ArtefactError(f"There is no saved {kind} at {directory}.") from error
        raise ArtefactError(
            f"{directory} is not a saved {kind}: it has no {METADATA_FILE}."
        ) from error
    except OSError as error:
        raise _unreadable(directory / METADATA_FILE, error) from error


def _parse_json(directory: Path, description: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(description.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArtefactError(
            f"{directory / METADATA_FILE} is not valid JSON: {error}; make the artefact again."
        ) from error
    return fields if isinstance(fields, dict) else {}


def _parse(directory: Path, description: bytes, kind: str | None) -> dict[str, Any]:
    """Return the fields of a description, unless they were changed or are of another kind."""
    fields = _parse_json(directory, description)
    found = fields.get("kind")
    if kind is not None and found != kind and isinstance(found, str):
        raise ArtefactError(f"{directory} holds a {found}, not a {kind}.")
    digest = fields.pop(_DIGEST, None)
    if digest != _digest_of_fields(fields) or _FILES not in fields:
        raise ArtefactError(
            f"{directory / METADATA_FILE} is damaged: its contents are not those that were "
            "written; make the artefact again."
        )
    return fields


def _seal(directory: Path) -> None:
    """Add the size and digest of every file to the description, and a digest of its own."""
    fields = _parse_json(directory, (directory / METADATA_FILE).read_bytes())
    inside = [entry.parent for entry in directory.glob(f"*/**/{METADATA_FILE}")]
    files = [
        file
        for file in sorted(directory.rglob("*"))
        if file.is_file()
        and file != directory / METADATA_FILE
        # Artefacts inside this one know their own files.
        and (file.parent not in inside or file.name == METADATA_FILE)
    ]
    fields[_FILES] = {
        file.relative_to(directory).as_posix(): [file.stat().st_size, _digest_of_file(file)]
        for file in files
    }
    # The fields as they will be read back: with lists in place of tuples, for example.
    fields = json.loads(json.dumps(fields))
    _write_json(directory, {**fields, _DIGEST: _digest_of_fields(fields)})


def _write_json(directory: Path, fields: Mapping[str, Any]) -> None:
    try:
        text = json.dumps(fields, indent=2, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, in the name of a file for example
        text = json.dumps(fields, indent=2).encode("utf-8")
    (directory / METADATA_FILE).write_bytes(text + b"\n")


def _digest_of_fields(fields: Mapping[str, Any]) -> str:
    import xxhash

    text = json.dumps(fields, sort_keys=True)
    return str(xxhash.xxh3_128_hexdigest(text.encode("utf-8")))


def _digest_of_file(file: Path) -> str:
    import xxhash

    digest = xxhash.xxh3_128()
    try:
        with file.open("rb", buffering=0) as raw:
            while chunk := raw.read(_CHUNK_BYTES):
                digest.update(chunk)
    except OSError as error:
        raise _unreadable(file, error) from error
    return str(digest.hexdigest())


def _check_replaceable(path: Path, given: Path, kind: str) -> None:
    """Raise unless `path` is free, empty, or an artefact of this kind and nothing else.

    `given` is how the user calls it.
    """
    if not path.exists():
        return
    if not path.is_dir():
        raise ArtefactError(f"{given} is a file, not a directory; choose another path.")
    if not any(path.iterdir()):
        return
    found = kind_of(path)
    if found is None:
        raise ArtefactError(f"{given} exists and is not a saved {kind}; choose another path.")
    if found != kind:
        raise ArtefactError(f"{given} holds a {found}, not a {kind}; choose another path.")
    own = _own_files(path)
    own |= {parent.as_posix() for name in own for parent in PurePosixPath(name).parents}
    strange = sorted({entry.relative_to(path).as_posix() for entry in path.rglob("*")} - own)
    if strange:
        more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
        raise ArtefactError(
            f"{given} has files beside the saved {kind} ({strange[0]}{more}), which would be lost; "
            "move them, or choose another path."
        )


def _own_files(directory: Path, prefix: str = "") -> set[str]:
    """Return the files that an artefact and those inside it were saved with."""
    fields = _parse_json(directory, (directory / METADATA_FILE).read_bytes())
    names = {METADATA_FILE, *fields.get(_FILES, {})}
    own = {prefix + name for name in names}
    for name in names:
        inside, _, last = name.rpartition("/")
        if inside and last == METADATA_FILE and (directory / name).is_file():
            own |= _own_files(directory / inside, f"{prefix}{inside}/")
    return own


def _is_utf8(word: str) -> bool:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(file: Path, error: OSError) -> ArtefactError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return ArtefactError(f"{file} is missing; make the artefact again.")
    if isinstance(error, IsADirectoryError):
        return ArtefactError(f"{file} is a directory, not a file; make the artefact again.")
    return ArtefactError(f"{file} can't be read: {error.strerror or error}.")
