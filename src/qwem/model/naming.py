"""Names of features: saved with a model, and carried over to the same features of a new one."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import principal_axes
from qwem._internal.artefact import FILES, METADATA_FILE
from qwem._internal.results import listed
from qwem.errors import ArtefactError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.model.model import Model


KIND = "feature names"
DIRECTORY = "feature-names"
TOPICS = "topics"
ADDED = (DIRECTORY, TOPICS)
"""Directories that may be added to a saved model later."""
LONGEST = 80
MODEL = "model"
_REPLICATES = "stability"
_GIVEN_BY_ARTEFACT = ("kind", "qwem", "files")

Names = dict[str, dict[int, str]]
"""The name of a feature by its rank, for each space."""


def read_names(path: str | os.PathLike[str]) -> Names:
    """Return the names saved with the model or the vectors at this path."""
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
    """Write names, if any, into the directory of an artefact that is being written."""
    kept = {
        space: {str(rank): name for rank, name in sorted(named.items())}
        for space, named in sorted(names.items())
        if named
    }
    if kept:
        with artefact.writing(directory / DIRECTORY, KIND) as child:
            artefact.write_metadata(child, KIND, {"names": kept})


def name_feature(path: str | os.PathLike[str], space: str, rank: int, name: str) -> Names:
    """Set the name of a feature of a saved model, or remove it if empty; return all its names.

    Names that another program gave meanwhile are kept.
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
    """Replace the names saved with the model or the vectors at this path."""
    write_added(path, DIRECTORY, lambda directory: save_names(directory, names))


def write_added(path: str | os.PathLike[str], name: str, write: Callable[[Path], None]) -> None:
    """Add an artefact to a saved model or to saved vectors, replacing any of the same name.

    `write` is called with the directory in which to write it, and may write nothing.
    """
    place = Path(path)
    with artefact.writing(place, str(artefact.opened(place).metadata["kind"])) as directory:
        _fill(directory, place, name, write)


def _fill(directory: Path, place: Path, name: str, write: Callable[[Path], None]) -> None:
    """Copy an artefact by linking its files, except `name`, and add what `write` writes."""
    fields = dict(artefact.opened(place).metadata)
    kind = str(fields["kind"])
    inside = MODEL if kind == _REPLICATES else None
    for file in sorted(place.rglob("*")):
        own = file.relative_to(place)
        if own.parts[0] in (name, inside) or own == Path(METADATA_FILE):
            continue
        if file.is_dir():
            (directory / own).mkdir()
        else:
            _link(file, directory / own)
    if inside is None:
        write(directory)
    else:
        with artefact.writing(directory / inside, inside) as child:
            _fill(child, place / inside, name, write)
    artefact.write_metadata(
        directory, kind, {k: v for k, v in fields.items() if k not in _GIVEN_BY_ARTEFACT}
    )


def state_without_added(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the digests of an artefact's files, without those added later."""
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
    """Return the directory to which things are added: the model's, in one with replicates."""
    path = Path(path)
    return path / MODEL if artefact.kind_of(path) == _REPLICATES else path


def require_nameable(model: str | os.PathLike[str]) -> None:
    """Raise `ArtefactError` unless names can be saved with the model at this path."""
    kind = artefact.kind_of(model)
    if kind is None:
        raise ArtefactError(f"{model} is not a saved model, so names can't be saved with it.")
    artefact.require_replaceable(model, kind)


logger = logging.getLogger(__name__)

SAME_COSINE = 0.9
"""The least |cosine| at which two features count as the same."""
SHARED_SQUARE = 0.5
"""The least share of a feature's squared length that must be on words of both models."""


class Features(NamedTuple):
    """Features of a model: one column each, with a row for each word."""

    vocabulary: Vocabulary
    columns: NDArray[Any]


def keep_names(source: Path, model: Model, directory: Path) -> None:
    """Carry the names of a saved model's features over to those of `model` that are the same.

    They are written into `directory`. One line of the log says which were kept and dropped.
    """
    from qwem.model.model import Model

    try:
        names = read_names(source)
        if not names:
            return
        before = Model.load(source)
    except ArtefactError as error:
        logger.warning("Names of features are not kept: %s", error)
        return
    kept: Names = {}
    lost = []
    for space, named in names.items():
        old, new = _features(before, space), _features(model, space)
        match = same_features(list(named), old, new) if old and new else {}
        kept[space] = {match[rank]: name for rank, name in named.items() if rank in match}
        lost += [f"{named[rank]} (feature {rank})" for rank in named if rank not in match]
    save_names(directory, kept)
    stay = [name for named in kept.values() for name in named.values()]
    said = [f"kept {listed(stay)}"] if stay else []
    if lost:
        said.append(
            f"dropped {listed(lost)}, because no feature of the new model is clearly the same"
        )
    logger.warning("Names of features: %s.", "; ".join(said))


def same_features(ranks: list[int], before: Features, after: Features) -> dict[int, int]:
    """Map ranks of features to those of the same features in another model, where clear.

    Features are compared by their |cosine| over the words of both models, and matched one to one,
    the closest first.
    """
    shared = [word for word in before.vocabulary if word in after.vocabulary]
    ranks = [rank for rank in ranks if 1 <= rank <= before.columns.shape[1]]
    if not shared or not ranks:
        return {}
    old, new = before.columns[:, [rank - 1 for rank in ranks]].astype(np.float64), after.columns
    old_shared = old[before.vocabulary.indices(shared)]
    new_shared = new[after.vocabulary.indices(shared)]
    lengths = np.sqrt(np.outer(_squares(old_shared), _squares(new_shared)))
    cosines = np.abs(old_shared.T @ new_shared)
    cosines = np.divide(cosines, lengths, out=np.zeros_like(cosines), where=lengths > 0)
    cosines[_squares(old_shared) < SHARED_SQUARE * _squares(old)] = 0.0
    cosines[:, _squares(new_shared) < SHARED_SQUARE * _squares(new)] = 0.0
    found: dict[int, int] = {}
    for place in np.argsort(-cosines, axis=None)[: int(np.sum(cosines >= SAME_COSINE))]:
        which, match = divmod(int(place), cosines.shape[1])
        if ranks[which] not in found and match + 1 not in found.values():
            found[ranks[which]] = match + 1
    return found


def _features(model: Model, space: str) -> Features | None:
    if space == "closed":
        return Features(model.vocabulary, model.spectrum.eigenvectors)
    if space == "polished" and model.polished is not None:
        return Features(model.vocabulary, principal_axes(model.polished.words.vectors)[0])
    return None


def _squares(columns: NDArray[Any]) -> NDArray[np.float64]:
    return np.einsum("ij,ij->j", columns, columns, dtype=np.float64)
