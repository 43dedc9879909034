"""Training runs, with recording and checkpoints, and runs from many seeds at once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal import artefact
from qwem._internal.files import remove_abandoned
from qwem._internal.resources import progress
from qwem.errors import ArtefactError, ConvergenceError, SettingError
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
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum
    from qwem.training.trace import Snapshot
    from qwem.training.trainer import Trainer

_CURVES = ("steps", "times", "losses", "accuracy", "singular_values")


class Recorder:
    """Recorder of the rows of a trace."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        every: int,
        snapshot_every: int | None = None,
        accuracy: Callable[[Embedding], float] | None = None,
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


_KIND = "training"
_STATE = "state.safetensors"


def run_identity(trainer: Trainer, start: State, recorder: Recorder) -> dict[str, Any]:
    """Return what identifies a run: its settings, a digest of its start, and what it records."""
    digest = hashlib.sha256(str((start.step, start.time, start.key)).encode())
    for side in jax.tree.leaves((parameters_of(start), start.optimizer)):
        digest.update(np.ascontiguousarray(side).tobytes())
    return {
        "settings": trainer.settings,
        "optimizer": str(jax.tree.structure(start.optimizer)),
        "start": digest.hexdigest(),
        "recording": recorder.settings,
    }


def save_checkpoint(path: Path, identity: dict[str, Any], state: State, recorder: Recorder) -> None:
    """Write a state and everything recorded so far, atomically."""
    leaves = jax.tree.leaves((parameters_of(state), state.optimizer))
    arrays = {f"state.{k}": np.asarray(leaf) for k, leaf in enumerate(leaves)}
    clock = {"step": np.array([state.step]), "time": np.array([state.time])}
    with artefact.writing(path, _KIND) as directory:
        artefact.write_arrays(directory / _STATE, {**arrays, **clock, **recorder.arrays()})
        artefact.write_metadata(directory, _KIND, {"identity": identity})


def load_checkpoint(
    path: Path, identity: dict[str, Any], trainer: Trainer, start: State, recorder: Recorder
) -> State:
    """Return the saved state of the run, and restore its recorder."""
    arrays, saved_identity = artefact.load(
        path, _KIND, lambda saved: (saved.arrays(_STATE), saved.metadata["identity"])
    )
    if saved_identity != identity:
        raise SettingError(
            f"{path} is the checkpoint of another run, with other settings, data or start; choose "
            "another path, or delete it."
        )
    old = (parameters_of(start), start.optimizer)
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
    parameters, optimizer = jax.tree.unflatten(jax.tree.structure(old), leaves)
    context = None if trainer.tied else parameters[1]
    return State(step, time, start.key, parameters[0], context, optimizer)


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
    _check(trainer, steps, until, checkpoint_every, reference)
    recorder = Recorder(
        trainer.vocabulary,
        every=record_every,
        snapshot_every=snapshot_every,
        accuracy=accuracy,
        reference=reference,
    )
    state, identity = start, run_identity(trainer, start, recorder)
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None:
        remove_abandoned(path)
    if path is not None and path.exists():
        state = load_checkpoint(path, identity, trainer, start, recorder)

    def ended() -> bool:
        if steps is not None:
            return state.step >= steps
        # Times are sums of many steps, and rounding must not add a step.
        return until is not None and state.time >= until * (1 - 1e-9)

    saved = state.step
    with progress("training", steps if until is None else until, _UNITS[until is None]) as bar:
        bar.update((state.step if until is None else state.time) or 0)
        while not ended():
            before, (state, info) = state, trainer.step(state)
            if recorder.is_due(before.step):
                recorder.add(before, _finite(float(info.loss), before))
                bar.set_postfix_str(f"loss {float(info.loss):.6g}")
            bar.update(1 if until is None else state.time - before.time)
            if path is not None and state.step % checkpoint_every == 0:
                save_checkpoint(path, identity, state, recorder)
                saved = state.step
    if path is not None and saved != state.step:
        save_checkpoint(path, identity, state, recorder)
    recorder.add(state, _finite(float(trainer.evaluate(state)[0]), state), last=True)
    return recorder.trace({**trainer.settings, "start": identity["start"], "seed": start.key})


_UNITS = {True: "step", False: "t"}


def _check(
    trainer: Trainer,
    steps: int | None,
    until: float | None,
    every: int,
    reference: Spectrum | None,
) -> None:
    if (steps is None) == (until is None):
        raise SettingError("Give either steps or until.")
    if steps is not None and steps < 0:
        raise SettingError(f"steps must be at least 0, not {steps}.")
    if until is not None and (trainer.optimizer is not None or not 0 <= until < float("inf")):
        raise SettingError(
            f"until must be a finite time of plain steps, not {until}; give steps= for an Optax "
            "optimizer, which has no such time."
        )
    if reference is not None and reference.dim != trainer.dim:
        raise SettingError(
            f"The reference spectrum has {reference.dim} dimensions and the trainer {trainer.dim}; "
            "restrict the larger one."
        )
    if every < 1:
        raise SettingError(f"checkpoint_every must be a positive number of steps, not {every}.")


def _finite(loss: float, state: State) -> float:
    if not loss < float("inf"):
        raise ConvergenceError(
            f"Training diverged: the loss is {loss} at step {state.step}; use a smaller rate."
        )
    return loss


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
    recorders = [Recorder(trainer.vocabulary, every=record_every) for _ in seeds]
    identities = [run_identity(trainer, *one) for one in zip(starts, recorders, strict=True)]
    with trainer.precision():
        together = tuple(map(jnp.stack, zip(*map(parameters_of, starts), strict=True)))
        descend = jax.jit(jax.vmap(trainer.descend, in_axes=(0, None)))
        time = 0.0
        for step in range(steps + 1):
            before, rate = together, trainer.rate(step, time)
            losses, _, together = descend(before, rate)
            if step == steps or recorders[0].is_due(step):
                for start, recorder, loss, *sides in zip(
                    starts, recorders, losses, *before, strict=True
                ):
                    context = None if trainer.tied else sides[1]
                    state = start._replace(
                        step=step, time=time, vectors=sides[0], context_vectors=context
                    )
                    recorder.add(state, _finite(float(loss), state), last=step == steps)
            time += trainer.time_per_rate * rate
    return [
        recorder.trace({**trainer.settings, "start": identity["start"], "seed": start.key})
        for start, recorder, identity in zip(starts, recorders, identities, strict=True)
    ]
