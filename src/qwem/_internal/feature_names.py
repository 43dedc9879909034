"""What is added to a saved model later: names that a user gives to features, and its topics.

Each is an artefact inside the model's artefact, also where that is inside one with replicates. To
add it, the directory is made anew from links to its files and put in place of the old one in one
step, as every artefact is: a killed run leaves the old artefact or the new one, and the model's own
files are not copied.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal import artefact
from qwem._internal.description import FILES, METADATA_FILE
from qwem.errors import ArtefactError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = "feature names"
DIRECTORY = "feature-names"
TOPICS = "topics"
ADDED = (DIRECTORY, TOPICS)
"""The directories of what is added later."""
LONGEST = 80
MODEL = "model"
_REPLICATES = "stability"
_GIVEN_BY_ARTEFACT = ("kind", "qwem", "files")

Names = dict[str, dict[int, str]]
"""The name of a feature by its rank, for each space."""


def read_names(path: str | os.PathLike[str]) -> Names:
    """Return the names that are kept with the model or the vectors at this path."""
    home = home_of(path)
    if not artefact.opened(home).has(DIRECTORY):
        return {}

    def build(saved: artefact.Saved) -> Names:
        kept: dict[str, dict[str, str]] = saved.metadata["names"]
        return {
            str(space): {int(rank): str(name) for rank, name in named.items()}
            for space, named in kept.items()
        }

    return artefact.load(home / DIRECTORY, KIND, build)


def save_names(directory: Path, names: Names) -> None:
    """Write names, if there are any, into the directory of an artefact that is being written."""
    kept = {
        space: {str(rank): name for rank, name in sorted(named.items())}
        for space, named in sorted(names.items())
        if named
    }
    if kept:
        with artefact.writing(directory / DIRECTORY, KIND) as child:
            artefact.write_metadata(child, KIND, {"names": kept})


def name_feature(path: str | os.PathLike[str], space: str, rank: int, name: str) -> Names:
    """Give a feature of the model at this path a name, or none; return all names that it has then.

    Names that were given meanwhile, by another program, are kept.
    """
    place = Path(path)
    with artefact.updating(place, wait=True):
        names = {each: dict(named) for each, named in read_names(place).items()}
        named = names.setdefault(space, {})
        if name:
            named[rank] = name
        else:
            named.pop(rank, None)
        write_names(place, names)
    return names


def write_names(path: str | os.PathLike[str], names: Names) -> None:
    """Keep these names with the model or the vectors at this path, in place of those before."""
    write_added(path, DIRECTORY, lambda directory: save_names(directory, names))


def write_added(path: str | os.PathLike[str], name: str, write: Callable[[Path], None]) -> None:
    """Add an artefact to a saved model or to saved vectors, in place of the one of this name.

    `write` writes it, if there is any, into the directory that it is given.
    """
    place = Path(path)
    with artefact.writing(place, str(artefact.opened(place).metadata["kind"])) as directory:
        _fill(directory, place, name, write)


def _fill(directory: Path, place: Path, name: str, write: Callable[[Path], None]) -> None:
    """Make an artefact anew from links to the files of another, with what `write` adds."""
    fields = dict(artefact.opened(place).metadata)
    kind = str(fields["kind"])
    inside = MODEL if kind == _REPLICATES else None
    for file in sorted(place.rglob("*")):
        part = file.relative_to(place)
        if part.parts[0] in (name, inside) or part == Path(METADATA_FILE):
            continue
        if file.is_dir():
            (directory / part).mkdir()
        else:
            _link(file, directory / part)
    if inside is None:
        write(directory)
    else:
        with artefact.writing(directory / inside, inside) as child:
            _fill(child, place / inside, name, write)
    artefact.write_metadata(
        directory, kind, {k: v for k, v in fields.items() if k not in _GIVEN_BY_ARTEFACT}
    )


def state_without_added(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the digests of all files of an artefact but those added later."""
    files = artefact.opened(home_of(path)).metadata[FILES]
    return {name: digest for name, digest in files.items() if name.split("/")[0] not in ADDED}


def checked_name(name: Any) -> str:
    """Return a name without spaces around it, after checking that it is a short line of text."""
    if not isinstance(name, str):
        raise SettingError(f"A name must be text, not {type(name).__name__}.")
    stripped = name.strip()
    if len(stripped) > LONGEST:
        raise SettingError(
            f"A name has at most {LONGEST} characters; this one has {len(stripped)}."
        )
    if not stripped.isprintable():
        raise SettingError("A name must be one line of text, without control characters.")
    return stripped


def _link(file: Path, other: Path) -> None:
    try:
        os.link(file, other)
    except OSError:  # a file system without hard links
        shutil.copy2(file, other)


def home_of(path: str | os.PathLike[str]) -> Path:
    """Return where things are added to an artefact: with the model, where it has replicates."""
    path = Path(path)
    return path / MODEL if artefact.kind_of(path) == _REPLICATES else path


def require_nameable(model: str | os.PathLike[str]) -> None:
    """Raise `ArtefactError` unless names can be kept with the model at this path."""
    kind = artefact.kind_of(model)
    if kind is None:
        raise ArtefactError(f"{model} is not a saved model, so no names can be kept with it.")
    artefact.require_replaceable(model, kind)
