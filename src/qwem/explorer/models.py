"""Models that are explored: their spaces, the names of their features, and what stands beside."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.artefact import kind_of
from qwem._internal.feature_names import (
    Names,
    name_feature,
    read_names,
    require_nameable,
    state_without_names,
)
from qwem.comparison import Stability
from qwem.cooccurrence import Cooccurrence
from qwem.embedding import Embedding, read_vectors
from qwem.errors import QwemError, SettingError
from qwem.explorer.spaces import Space
from qwem.model import Model
from qwem.report import headline_numbers, story

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from qwem.corpus import Vocabulary
    from qwem.training import Trace


@dataclass(eq=False)
class Explored:
    """A model with everything that the explorer shows of it."""

    name: str
    kind: str
    """``model``, ``stability`` (a model with replicates) or ``vectors``."""
    spaces: dict[str, Space]
    """By name; the first is the one that is shown unless another is asked for."""
    facts: list[tuple[str, str]] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    chosen: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    stability: Stability | None = None
    counts: Cooccurrence | None = None
    trace: Trace | None = None
    trace_name: str = ""
    path: Path | None = None
    """Where names are kept; None for a model that was not loaded from a directory."""
    names: Names = field(default_factory=dict)
    named_state: dict[str, Any] = field(default_factory=dict, repr=False)
    """The files of the model that the names belong to."""
    _naming: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words, most frequent first."""
        return self.first.vocabulary

    @property
    def first(self) -> Space:
        """The space that is shown unless another is asked for."""
        return next(iter(self.spaces.values()))

    def space(self, name: str | None) -> Space:
        """Return the space of this name, or the first."""
        if not name:
            return self.first
        if name not in self.spaces:
            raise SettingError(
                f"{self.name} has no vectors {name!r}; it has {', '.join(self.spaces)}."
            )
        return self.spaces[name]

    @property
    def can_name(self) -> bool:
        """Whether names of features can be kept with the model."""
        if self.path is None:
            return False
        try:
            require_nameable(self.path)
        except QwemError:
            return False
        return True

    def name_feature(self, space: Space, rank: int, name: str) -> None:
        """Give a feature a name and keep it with the model; an empty name removes it."""
        if not 1 <= rank <= space.dim:
            raise SettingError(f"There are features 1 to {space.dim}, and no feature {rank}.")
        if self.path is None:
            raise SettingError(f"{self.name} was not loaded from a directory to keep names in.")
        with self._naming:
            if state_without_names(self.path) != self.named_state:
                raise SettingError(
                    f"{self.name} was replaced by another model meanwhile; start the explorer "
                    "again to name its features."
                )
            self.names = name_feature(self.path, space.name, rank, name)


def load_models(
    paths: Sequence[str | os.PathLike[str]],
    *,
    counts: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    init_scale: float = 1e-6,
) -> list[Explored]:
    """Load models, models with replicates, or files of vectors, the first with what goes with it.

    Parameters
    ----------
    paths
        Saved models or models with replicates, saved embeddings, or files of word vectors.
    counts
        Saved counts of the first model's text, for collocates.
    trace
        A saved training run, to be laid over the first model's theory.
    init_scale
        σ, the scale of the random start of training.
    """
    if not paths:
        raise SettingError("There is no model to explore; give at least one.")
    models = [_load(path, init_scale) for path in paths]
    if counts is not None:
        models[0].counts = Cooccurrence.load(counts)
    if trace is not None:
        from qwem.training import Trace

        if "closed" not in models[0].spaces:
            raise SettingError("A trace is compared with a closed form, and this model has none.")
        models[0].trace, models[0].trace_name = Trace.load(trace), Path(trace).name
    return models


def explored(model: Model, name: str = "model", init_scale: float = 1e-6) -> Explored:
    """Return a model to be explored that is in memory, and not kept in a directory.

    >>> import qwem
    >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
    >>> list(explored(model, "animals").spaces)
    ['polished', 'closed']
    """
    return Explored(
        name,
        "model",
        _spaces(model, init_scale),
        facts=headline_numbers(model, model.corpus),
        story=story(model, model.corpus),
        chosen=model.chosen,
        settings=dict(model.settings),
    )


def _load(path: str | os.PathLike[str], init_scale: float) -> Explored:
    kind = kind_of(path)
    name = Path(path).absolute().name
    if kind in ("model", "stability"):
        stability = Stability.load(path) if kind == "stability" else None
        model = Model.load(path) if stability is None else stability.model
        found = explored(model, name, init_scale)
        found.kind, found.stability = kind, stability
        _find_names(found, path)
        return found
    if kind not in (None, "embedding"):
        raise SettingError(f"{path} holds a {kind}; give a model, or word vectors.")
    vectors = Embedding.load(path) if kind else read_vectors(path)
    space = Space.of_embedding(vectors, "given", "Given vectors")
    facts = [(f"{len(vectors):,}", "words"), (f"{vectors.vector_size}", "dimensions")]
    found = Explored(name, "vectors", {"given": space}, facts=facts)
    if kind:
        _find_names(found, path)
    return found


def _find_names(found: Explored, path: str | os.PathLike[str]) -> None:
    found.path, found.names = Path(path), read_names(path)
    found.named_state = state_without_names(path)


def _spaces(model: Model, init_scale: float) -> dict[str, Space]:
    closed = Space.of_spectrum(model.spectrum, init_scale)
    if model.polished is None:
        return {"closed": closed}
    polished = Space.of_embedding(model.embedding(), "polished", "Polished vectors")
    return {"polished": polished, "closed": closed}
