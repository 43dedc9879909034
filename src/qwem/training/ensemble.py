"""Runs from many seeds at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal import artefact
from qwem.errors import ConvergenceError, SettingError
from qwem.training.trace import singular_values_of
from qwem.training.trainer import parameters_of

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from qwem.training.trainer import Trainer

KIND = "ensemble"
_ARRAYS = "curves.safetensors"
_CURVES = ("steps", "times", "losses", "singular_values")


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Curves of runs that differ only in the seed of their start; the first axis is the seed."""

    seeds: tuple[int, ...]
    steps: NDArray[np.int64]
    times: NDArray[np.float64]
    losses: NDArray[np.float64] = field(repr=False)
    """Shape (seeds, records)."""
    singular_values: NDArray[np.float64] = field(repr=False)
    """Shape (seeds, records, d), the largest first."""

    def bands(self, quantiles: ArrayLike = (0.1, 0.5, 0.9)) -> NDArray[np.float64]:
        """Return quantiles over seeds of the singular values, shape (quantiles, records, d)."""
        return np.quantile(self.singular_values, np.asarray(quantiles), axis=0)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the curves to a directory."""
        with artefact.writing(path, KIND) as directory:
            arrays = {name: getattr(self, name) for name in _CURVES}
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_metadata(directory, KIND, {"seeds": list(self.seeds)})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ensemble:
        """Read the curves written by `save`."""

        def build(saved: artefact.Saved) -> Ensemble:
            arrays = saved.arrays(_ARRAYS)
            arrays["seeds"] = np.array(saved.metadata["seeds"])
            shapes = dict(zip(_CURVES, ("r", "r", "sr", "srd"), strict=True))
            artefact.require_shapes(arrays, seeds="s", **shapes)
            curves = {name: arrays[name] for name in _CURVES}
            return cls(tuple(saved.metadata["seeds"]), **curves)

        return artefact.load(path, KIND, build)


def train_seeds(
    trainer: Trainer,
    init_scale: float | Literal["word2vec"],
    seeds: Sequence[int],
    *,
    steps: int,
    record_every: int = 100,
) -> Ensemble:
    """Train from one random start per seed, all in one computation.

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
    >>> train_seeds(trainer, 0.1, seeds=range(5), steps=20, record_every=10).bands().shape
    (3, 3, 1)
    """
    if trainer.rate is None or trainer.settings["gradient"] != "population":
        raise SettingError("train_seeds needs a population trainer with a rate.")
    if steps < 0 or record_every < 1 or len(seeds) == 0:
        raise SettingError("Give at least one seed, and positive steps and record_every.")
    starts = [parameters_of(trainer.init(init_scale, seed=seed)) for seed in seeds]
    with trainer.precision():
        parameters = tuple(jnp.stack(side) for side in zip(*starts, strict=True))
        descend = jax.jit(jax.vmap(trainer.descend, in_axes=(0, None)))
        time, rows = 0.0, []
        for step in range(steps + 1):
            rate = trainer.rate(step, time)
            before = parameters
            losses, _, parameters = descend(before, rate)
            if step % record_every == 0 or step == steps:
                if not np.all(np.isfinite(losses)):
                    raise ConvergenceError(
                        f"Training diverged from some seeds before step {step}; use a smaller rate."
                    )
                rows.append((step, time, np.asarray(losses), _singular_values(before)))
            time += trainer.time_per_rate * rate
    numbers, times, losses, values = (np.array(column) for column in zip(*rows, strict=True))
    return Ensemble(tuple(map(int, seeds)), numbers, times, losses.T, values.swapaxes(0, 1))


def _singular_values(parameters: tuple[Any, ...]) -> NDArray[np.float64]:
    sides = [np.asarray(side) for side in parameters]
    return np.array([singular_values_of(one) for one in zip(*sides, strict=True)])
