"""Recorder of the curves and snapshots of a run."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import SettingError
from qwem.training.trace import (
    ALIGNMENTS,
    Trace,
    alignments,
    singular_values_of,
    snapshot_arrays,
    snapshots_from,
)
from qwem.training.trainer import State, parameters_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum
    from qwem.training.trace import Snapshot

_CURVES = ("steps", "times", "losses", "accuracy", "singular_values")


class Recorder:
    """Recorder of a trace, row by row."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        every: int,
        snapshot_every: int | None,
        accuracy: Callable[[Embedding], float] | None,
        reference: Spectrum | None = None,
    ) -> None:
        for name, value in (("record_every", every), ("snapshot_every", snapshot_every)):
            if value is not None and value < 1:
                raise SettingError(f"{name} must be a positive number of steps, not {value}.")
        if snapshot_every is not None and snapshot_every % every:
            raise SettingError(
                f"snapshot_every must be a multiple of record_every, {every}, not {snapshot_every}."
            )
        self._vocabulary = vocabulary
        self._every = every
        self._snapshot_every = snapshot_every
        self._accuracy = accuracy
        self._basis: NDArray[np.float64] | None = None
        names: tuple[str, ...] = _CURVES
        if reference is not None:
            self._basis, self._row_scale = _basis_of(reference, vocabulary), reference.row_scale
            names += ALIGNMENTS
        self._curves: dict[str, list[Any]] = {name: [] for name in names}
        self._snapshots: dict[int, Snapshot] = {}

    @property
    def settings(self) -> dict[str, Any]:
        """The recording intervals, as plain data."""
        return {
            "record_every": self._every,
            "snapshot_every": self._snapshot_every,
            "accuracy": self._accuracy is not None,
            **({} if self._basis is None else {"reference": _digest(self._basis)}),
        }

    def is_due(self, step: int) -> bool:
        """Return whether to record this step."""
        return step % self._every == 0

    def add(self, state: State, loss: float, *, last: bool = False) -> None:
        """Record a state."""
        from qwem.embedding import Embedding

        sides = tuple(np.asarray(side) for side in parameters_of(state))
        accuracy = float("nan")
        if self._accuracy is not None:
            accuracy = float(self._accuracy(Embedding(self._vocabulary, sides[0])))
        row = [state.step, state.time, loss, accuracy, singular_values_of(sides)]
        if self._basis is not None:
            # Under a rank-one coupling the eigenvectors are those of ΓW.
            scale = 1.0 if self._row_scale is None else 1 / self._row_scale[:, None]
            row += alignments([scale * side for side in sides], self._basis)
        for name, value in zip(self._curves, row, strict=True):
            self._curves[name].append(value)
        if last or (self._snapshot_every and state.step % self._snapshot_every == 0):
            self._snapshots[state.step] = sides

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything recorded so far as named arrays."""
        curves = {f"trace.{name}": np.array(values) for name, values in self._curves.items()}
        return {**curves, **snapshot_arrays(self._snapshots)}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `arrays` returned."""
        curves = {name: list(arrays[f"trace.{name}"]) for name in self._curves}
        if len({len(curve) for curve in curves.values()}) > 1:
            raise ValueError("its curves have different lengths")
        self._curves = curves
        self._snapshots = snapshots_from(arrays)

    def trace(self, settings: Mapping[str, Any]) -> Trace:
        """Return everything recorded as a trace."""
        curves = {name: np.array(values) for name, values in self._curves.items()}
        return Trace(
            vocabulary=self._vocabulary, settings=settings, snapshots=self._snapshots, **curves
        )


def _basis_of(reference: Spectrum, vocabulary: Vocabulary) -> NDArray[np.float64]:
    if reference.vocabulary.words != vocabulary.words:
        raise SettingError("The reference spectrum and the trainer must have the same words.")
    return np.asarray(reference.eigenvectors, dtype=np.float64)


def _digest(array: NDArray[np.float64]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
