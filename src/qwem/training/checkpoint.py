"""Checkpoints: the state of a run on disk, from which an interrupted run continues."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal import artefact
from qwem.errors import ArtefactError, SettingError
from qwem.training.trainer import State, parameters_of

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.training.recorder import Recorder
    from qwem.training.trainer import Trainer

KIND = "training"
_ARRAYS = "state.safetensors"


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
    with artefact.writing(path, KIND) as directory:
        artefact.write_arrays(directory / _ARRAYS, {**arrays, **clock, **recorder.arrays()})
        artefact.write_metadata(directory, KIND, {"identity": identity})


def load_checkpoint(
    path: Path, identity: dict[str, Any], trainer: Trainer, start: State, recorder: Recorder
) -> State:
    """Return the saved state of the run, and restore its recorder."""
    arrays, saved_identity = artefact.load(
        path, KIND, lambda saved: (saved.arrays(_ARRAYS), saved.metadata["identity"])
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
