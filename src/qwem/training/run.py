"""Training runs, with recording and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qwem._internal.files import remove_abandoned
from qwem._internal.resources import progress
from qwem.errors import ConvergenceError, SettingError
from qwem.training.checkpoint import load_checkpoint, run_identity, save_checkpoint
from qwem.training.recorder import Recorder

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum
    from qwem.training.trace import Trace
    from qwem.training.trainer import State, Trainer


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
        raise SettingError(f"steps must not be negative, not {steps}.")
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
