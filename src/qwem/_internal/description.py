"""Description of a saved artefact: JSON with its fields and a digest of each of its files."""

from __future__ import annotations

import json
import os
import stat
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from qwem._internal.leftovers import is_being_written
from qwem._internal.text import with_article
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

METADATA_FILE = "metadata.json"
FILES, DIGEST = "files", "digest"

_CHUNK_BYTES = 1 << 22
_LARGEST_DESCRIPTION = 1 << 28
_PATIENCE, _PAUSE = 100, 0.005  # how often and how long (in seconds) to wait for a replacement


class Description(NamedTuple):
    """The bytes of a description, and what tells its file from every other of the same bytes."""

    text: bytes
    version: tuple[int, int]


def read_description(directory: Path, kind: str, *, wait: bool = False) -> Description:
    """Return the description of an artefact.

    Where the system can't swap two directories in one step, an artefact that is being replaced has
    no name for a moment. With `wait`, that moment is waited for.
    """
    attempts = _PATIENCE if wait else 0
    path = directory / METADATA_FILE
    while True:
        try:
            return read_bytes(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            if attempts and (is_being_written(directory) or path.exists()):
                attempts -= 1
                time.sleep(_PAUSE)
                continue
            if not directory.exists():
                raise ArtefactError(f"There is no saved {kind} at {directory}.") from error
            raise ArtefactError(
                f"{directory} is not a saved {kind}: it has no {METADATA_FILE}."
            ) from error
        except OSError as error:
            raise unreadable(path, error) from error


def read_bytes(path: Path) -> Description:
    """Read a description, unless it is no regular file or larger than any description is.

    A pipe would be waited for without end, and a device might never end.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode):
            raise ArtefactError(f"{path} is not a regular file; make the artefact again.")
        if state.st_size > _LARGEST_DESCRIPTION:
            raise ArtefactError(
                f"{path} has {state.st_size:,} bytes, more than any description of an artefact; "
                "make the artefact again."
            )
        return Description(file.read(), (state.st_ino, state.st_mtime_ns))


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
    """Return the fields of a description, unless they were changed or are of another kind."""
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
        # Artefacts inside this one know their own files.
        and (file.parent not in inside or file.name == METADATA_FILE)
    ]
    fields[FILES] = {
        file.relative_to(directory).as_posix(): [file.stat().st_size, digest_of_file(file)]
        for file in files
    }
    # The fields as they will be read back: with lists in place of tuples, for example.
    fields = json.loads(json.dumps(fields))
    write_json(directory, {**fields, DIGEST: digest_of_fields(fields)})


def write_json(directory: Path, fields: Mapping[str, Any]) -> None:
    """Write the fields of a description."""
    try:
        text = json.dumps(fields, indent=2, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, in the name of a file for example
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
    """Return the error of a file that is part of an artefact and can't be read."""
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
