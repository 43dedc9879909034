"""Names of features across models: a name stays with a feature only if the feature stays."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import principal_axes
from qwem._internal.artefact import kind_of
from qwem._internal.feature_names import MODEL, Names, read_names, save_names
from qwem._internal.results import listed
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.model.model import Model

logger = logging.getLogger(__name__)

CLEAR = 0.9
"""The least |cosine| of two features that are taken for the same."""
CARRIED = 0.5
"""The least share of a feature's squared length on the words that both models have."""


class Features(NamedTuple):
    """Features of a model: one column each, with a row for each word."""

    vocabulary: Vocabulary
    columns: NDArray[Any]


def keep_names(source: Path, model: Model, directory: Path) -> None:
    """Keep the names of a saved model's features for those of another that are clearly the same.

    They are written with the other model, into `directory`. What was kept and what was dropped is
    logged in one line.
    """
    from qwem.model.model import Model

    if kind_of(source) != MODEL:
        return
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
        said.append(f"dropped {listed(lost)}, because no feature of the new model is clearly it")
    logger.warning("Names of features: %s.", "; ".join(said))


def same_features(ranks: list[int], before: Features, after: Features) -> dict[int, int]:
    """Return the rank that features have in another model, as far as they are clearly there.

    Features are compared by their |cosine| over the words that both models have, and matched one to
    one, the closest first.
    """
    shared = [word for word in before.vocabulary if word in after.vocabulary]
    ranks = [rank for rank in ranks if 1 <= rank <= before.columns.shape[1]]
    if not shared or not ranks:
        return {}
    old, new = before.columns[:, [rank - 1 for rank in ranks]].astype(np.float64), after.columns
    old_part = old[before.vocabulary.indices(shared)]
    new_part = new[after.vocabulary.indices(shared)]
    lengths = np.sqrt(np.outer(_squares(old_part), _squares(new_part)))
    cosines = np.abs(old_part.T @ new_part)
    cosines = np.divide(cosines, lengths, out=np.zeros_like(cosines), where=lengths > 0)
    cosines[_squares(old_part) < CARRIED * _squares(old)] = 0.0
    cosines[:, _squares(new_part) < CARRIED * _squares(new)] = 0.0
    found: dict[int, int] = {}
    for place in np.argsort(-cosines, axis=None)[: int(np.sum(cosines >= CLEAR))]:
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
