"""Training runs, with recording and checkpoints, and runs from many seeds at once."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal import artefact
from qwem._internal.files import remove_abandoned
from qwem._internal.resources import progress
from qwem._internal.settings import require_whole
from qwem.errors import ArtefactError, ConvergenceError, SettingError
from qwem.training.trace import (
    ALIGNMENTS,
    CURVES,
    Trace,
    alignments,
    singular_values_of,
    snapshot_arrays,
    snapshots_from,
)
from qwem.training.trainer import State

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum
    from qwem.training.trace import Snapshot
    from qwem.training.trainer import Trainer


class Recorder:
    """Recorder of the rows of a trace; the parameters are those of `train`."""

    def __init__(
        self,
        trainer: Trainer,
        start: State,
        *,
        record_every: int,
        snapshot_every: int | None = None,
        accuracy: Callable[[Embedding], float] | None = None,
        reference: Spectrum | None = None,
    ) -> None:
        require_whole("record_every", record_every, least=1)
        if snapshot_every is not None and (snapshot_every < 1 or snapshot_every % record_every):
            raise SettingError(
                f"snapshot_every must be a multiple of record_every, {record_every}, not "
                f"{snapshot_every}."
            )
        self._trainer, self._start = trainer, start
        self._every, self._snapshot_every = record_every, snapshot_every
        self._accuracy, self._reference = accuracy, reference
        names = CURVES if reference is not None else CURVES[: -len(ALIGNMENTS)]
        self._curves: dict[str, list[Any]] = {name: [] for name in names}
        self._snapshots: dict[int, Snapshot] = {}
        if reference is None:
            return
        if reference.vocabulary.words != trainer.vocabulary.words:
            raise SettingError("The reference spectrum and the trainer must have the same words.")
        if reference.dim != trainer.dim:
            raise SettingError(
                f"The reference spectrum has {reference.dim} dimensions and the trainer "
                f"{trainer.dim}; restrict the larger one."
            )

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What identifies a run: its settings, a digest of its start, and what it records."""
        recording: dict[str, Any] = {
            "record_every": self._every,
            "snapshot_every": self._snapshot_every,
            "accuracy": self._accuracy is not None,
        }
        if self._reference is not None:
            basis = np.ascontiguousarray(self._reference.eigenvectors, dtype=np.float64)
            recording["reference"] = hashlib.sha256(basis.tobytes()).hexdigest()
        return {
            "settings": self._trainer.settings,
            "optimizer": str(jax.tree.structure(self._start.optimizer)),
            "start": _digest(self._start),
            "recording": recording,
        }

    def is_due(self, step: int) -> bool:
        """Return whether to record this step."""
        return step % self._every == 0

    def add(self, state: State, loss: float, *, last: bool = False) -> None:
        """Record a state."""
        from qwem.embedding import Embedding

        if not loss < float("inf"):
            raise ConvergenceError(
                f"Training diverged: the loss is {loss} at step {state.step}; use a smaller rate."
            )
        sides = tuple(np.asarray(side) for side in state.parameters)
        accuracy = float("nan")
        if self._accuracy is not None:
            accuracy = float(self._accuracy(Embedding(self._trainer.vocabulary, sides[0])))
        row = [state.step, state.time, loss, accuracy, singular_values_of(sides)]
        if (reference := self._reference) is not None:
            # Under a rank-one coupling the eigenvectors are those of ΓW.
            scale = 1.0 if reference.row_scale is None else 1 / reference.row_scale[:, None]
            basis = np.asarray(reference.eigenvectors, dtype=np.float64)
            row += alignments([scale * side for side in sides], basis)
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

    def trace(self) -> Trace:
        """Return everything recorded as a trace."""
        curves = {name: np.array(values) for name, values in self._curves.items()}
        settings = {"start": self.identity["start"], "seed": self._start.key}
        return Trace(
            vocabulary=self._trainer.vocabulary,
            settings={**self._trainer.settings, **settings},
            snapshots=self._snapshots,
            **curves,
        )


def _digest(start: State) -> str:
    digest = hashlib.sha256(str((start.step, start.time, start.key)).encode())
    for side in jax.tree.leaves((start.parameters, start.optimizer)):
        digest.update(np.ascontiguousarray(side).tobytes())
    return digest.hexdigest()


_KIND = "training"
_STATE = "state.safetensors"


def save_checkpoint(path: Path, state: State, recorder: Recorder) -> None:
    """Write a state and everything recorded so far, atomically."""
    leaves = jax.tree.leaves((state.parameters, state.optimizer))
    arrays = {f"state.{k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    clock = {"step": np.array([state.step]), "time": np.array([state.time])}
    with artefact.writing(path, _KIND) as directory:
        artefact.write_arrays(directory / _STATE, {**arrays, **clock, **recorder.arrays()})
        artefact.write_metadata(directory, _KIND, {"identity": recorder.identity})


def load_checkpoint(path: Path, trainer: Trainer, start: State, recorder: Recorder) -> State:
    """Return the saved state of the run, and restore its recorder."""
    arrays, identity = artefact.load(
        path, _KIND, lambda saved: (saved.arrays(_STATE), saved.metadata["identity"])
    )
    if identity != recorder.identity:
        raise SettingError(
            f"{path} is the checkpoint of another run, with other settings, data or start; choose "
            "another path, or delete it."
        )
    old = (start.parameters, start.optimizer)
    try:
        with trainer.precision():
            leaves = [
                # A scalar comes back from disk as an array of one.
                jnp.asarray(arrays[f"state.{k}"].reshape(np.shape(leaf)))
                for k, leaf in enumerate(jax.tree.leaves(old))
            ]
        artefact.require_shapes(arrays, step="1", time="1")
        step, time = int(arrays["step"][0]), float(arrays["time"][0])
        recorder.restore(arrays)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ArtefactError(f"The checkpoint {path} is damaged ({error}); delete it.") from error
    return State(step, time, start.key, *jax.tree.unflatten(jax.tree.structure(old), leaves))


def train(
    trainer: Trainer,
    start: State,
    *,
    steps: int | None = None,
    until: float | None = None,
    record_every: int = 100,
    snapshot_every: int | None = None,
    accuracy: Callable[[Embedding], float] | None = None,
    reference: Spectrum | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 1_000,
) -> Trace:
    """Train from `start` for a number of steps, or until the paper's time t.

    Parameters
    ----------
    trainer, start
        A trainer, and the result of its `init`.
    steps, until
        The end of the run, one of the two: the number of steps, or the time t to reach.
    record_every, snapshot_every
        The number of steps between records of the curves, and between snapshots of the vectors. The
        last step is always recorded and kept.
    accuracy
        A function of the embedding to record as accuracy.
    reference
        The spectrum of the target, of the same dimension as the model. The alignment of singular
        vectors with its eigenvectors is then recorded; see `Trace`.
    checkpoint
        A directory for the state of the run, written every `checkpoint_every` steps and at the end.
        If it exists, the run continues from it. The result is the same, bit for bit, as without the
        interruption. With a later end, a finished run is continued.

    >>> from qwem import Cooccurrence
    >>> from qwem.training import population
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.5)
    >>> train(trainer, trainer.init(init_scale=0.1), until=20.0, record_every=10).steps
    array([ 0, 10, 20])
    """
    if (steps is None) == (until is None):
        raise SettingError("Give either steps or until.")
    if steps is not None:
        require_whole("steps", steps, least=0)
    if until is not None and (trainer.optimizer is not None or not 0 <= until < float("inf")):
        raise SettingError(
            f"until must be a finite time of plain steps, not {until}; give steps= for an Optax "
            "optimizer, which has no such time."
        )
    require_whole("checkpoint_every", checkpoint_every, least=1)
    recorder = Recorder(
        trainer,
        start,
        record_every=record_every,
        snapshot_every=snapshot_every,
        accuracy=accuracy,
        reference=reference,
    )
    state = start
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None:
        remove_abandoned(path)
        if path.exists():
            state = load_checkpoint(path, trainer, start, recorder)

    def ended() -> bool:
        if steps is not None:
            return state.step >= steps
        # Times are sums of many steps, and rounding must not add a step.
        return until is not None and state.time >= until * (1 - 1e-9)

    saved = state.step
    with progress(
        "training", steps if until is None else until, "t" if steps is None else "step"
    ) as bar:
        bar.update((state.step if until is None else state.time) or 0)
        while not ended():
            before, (state, info) = state, trainer.step(state)
            if recorder.is_due(before.step):
                recorder.add(before, float(info.loss))
                bar.set_postfix_str(f"loss {float(info.loss):.6g}")
            bar.update(1 if until is None else state.time - before.time)
            if path is not None and state.step % checkpoint_every == 0:
                save_checkpoint(path, state, recorder)
                saved = state.step
    if path is not None and saved != state.step:
        save_checkpoint(path, state, recorder)
    recorder.add(state, float(trainer.evaluate(state)[0]), last=True)
    return recorder.trace()


def train_seeds(
    trainer: Trainer,
    init_scale: float | Literal["word2vec"],
    seeds: Sequence[int],
    *,
    steps: int,
    record_every: int = 100,
) -> list[Trace]:
    """Train from one random start per seed, all in one computation, and return a trace for each.

    The gradients of all starts are computed together (`jax.vmap`). That saves time where one run
    leaves the device idle: on a GPU, or for small vocabularies. On a CPU, from about a thousand
    words on, it takes as long as one run after the other. Each run is the one that `train` makes
    from ``trainer.init(init_scale, seed=seed)``, up to rounding.

    Parameters
    ----------
    trainer
        A `population` trainer with plain or ``"rk4"`` steps.
    init_scale, seeds
        The starts; see `Trainer.init`.
    steps, record_every
        The number of steps, and of steps between records.

    >>> from qwem import Cooccurrence
    >>> from qwem.training import population
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.5)
    >>> [run.steps[-1] for run in train_seeds(trainer, 0.1, range(3), steps=20)]
    [np.int64(20), np.int64(20), np.int64(20)]
    """
    if trainer.rate is None or trainer.settings["gradient"] != "population":
        raise SettingError("train_seeds needs a population trainer with a rate.")
    if steps < 0 or len(seeds) == 0:
        raise SettingError("Give at least one seed, and a number of steps of at least 0.")
    starts = [trainer.init(init_scale, seed=seed) for seed in seeds]
    recorders = [Recorder(trainer, start, record_every=record_every) for start in starts]
    with trainer.precision():
        sides = zip(*(start.parameters for start in starts), strict=True)
        together = tuple(map(jnp.stack, sides))
        descend = jax.jit(jax.vmap(trainer.descend, in_axes=(0, None)))
        time = 0.0
        for step in range(steps + 1):
            before, rate = together, trainer.rate(step, time)
            losses, _, together = descend(before, rate)
            if step == steps or recorders[0].is_due(step):
                for start, recorder, loss, *own in zip(
                    starts, recorders, losses, *before, strict=True
                ):
                    state = start._replace(step=step, time=time, parameters=tuple(own))
                    recorder.add(state, float(loss), last=step == steps)
            time += trainer.time_per_rate * rate
    return [recorder.trace() for recorder in recorders]
