"""Names that a user gives to features, kept in the directory of the model they belong to.

They are an artefact inside the model's artefact. To add it, the model's directory is made anew from
links to its files and put in place of the old one in one step, as every artefact is: a killed run
leaves the old names or the new ones, and the model's own files are not copied.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

from qwem._internal import artefact
from qwem._internal.description import METADATA_FILE
from qwem.errors import ArtefactError, SettingError

KIND = "feature names"
DIRECTORY = "feature-names"
LONGEST = 80
_GIVEN_BY_ARTEFACT = ("kind", "qwem", "files")

Names = dict[str, dict[int, str]]
"""The name of a feature by its rank, for each space."""


def read_names(model: str | os.PathLike[str]) -> Names:
    """Return the names that are kept with the model at this path."""
    path = Path(model)
    if not artefact.opened(path).has(DIRECTORY):
        return {}

    def build(saved: artefact.Saved) -> Names:
        kept: dict[str, dict[str, str]] = saved.metadata["names"]
        return {
            str(space): {int(rank): str(name) for rank, name in named.items()}
            for space, named in kept.items()
        }

    return artefact.load(path / DIRECTORY, KIND, build)


def write_names(model: str | os.PathLike[str], names: Names) -> None:
    """Keep these names with the model at this path, in place of those before."""
    path = Path(model)
    saved = artefact.opened(path)
    kind = str(saved.metadata["kind"])
    fields = {
        name: value for name, value in saved.metadata.items() if name not in _GIVEN_BY_ARTEFACT
    }
    kept = {
        space: {str(rank): name for rank, name in sorted(named.items())}
        for space, named in sorted(names.items())
        if named
    }
    with artefact.writing(path, kind) as directory:
        for file in sorted(path.rglob("*")):
            inside = file.relative_to(path)
            if inside.parts[0] == DIRECTORY or inside == Path(METADATA_FILE):
                continue
            if file.is_dir():
                (directory / inside).mkdir()
            else:
                _link(file, directory / inside)
        if kept:
            with artefact.writing(directory / DIRECTORY, KIND) as child:
                artefact.write_metadata(child, KIND, {"names": kept})
        artefact.write_metadata(directory, kind, fields)


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


def require_nameable(model: str | os.PathLike[str]) -> None:
    """Raise `ArtefactError` unless names can be kept with the model at this path."""
    kind = artefact.kind_of(model)
    if kind is None:
        raise ArtefactError(f"{model} is not a saved model, so no names can be kept with it.")
    artefact.require_replaceable(model, kind)
