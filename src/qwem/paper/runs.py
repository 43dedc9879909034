"""Training runs of the paper: which there are, and how each is trained at a given scale."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qwem._internal.files import remove_abandoned, remove_directory
from qwem.dynamics import closed_form, entry_scale
from qwem.errors import ConvergenceError
from qwem.target import setting31

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.paper.scale import Scale, Size
    from qwem.spectrum import Spectrum
    from qwem.training import Trace
    from qwem.training.schedule import Stepwise
    from qwem.training.trainer import Trainer

logger = logging.getLogger(__name__)

_RECORDS = 250
"""How often the singular values of a run are recorded."""


@dataclass(frozen=True)
class RunKind:
    """One training run: its loss, weighting and start, and the experiment it belongs to."""

    loss: Literal["quartic", "logistic"]
    weighting: Literal["setting31", "word2vec"]
    start: Literal["small", "standard"]
    purpose: Literal["dynamics", "ablation", "benchmarks"] = "dynamics"


RUNS = {
    "qwem": RunKind("quartic", "setting31", "small"),
    "word2vec": RunKind("logistic", "word2vec", "small"),
    "qwem-standard": RunKind("quartic", "setting31", "standard"),
    "word2vec-standard": RunKind("logistic", "word2vec", "standard"),
    "ablation-word2vec": RunKind("logistic", "word2vec", "small", "ablation"),
    "ablation-quartic": RunKind("quartic", "word2vec", "small", "ablation"),
    "ablation-reweighted": RunKind("logistic", "setting31", "small", "ablation"),
    "ablation-qwem": RunKind("quartic", "setting31", "small", "ablation"),
    "qwem-benchmarks": RunKind("quartic", "setting31", "standard", "benchmarks"),
    "word2vec-benchmarks": RunKind("logistic", "word2vec", "standard", "benchmarks"),
}
"""Every training run of the paper, by name."""


@dataclass(frozen=True, eq=False)
class Training:
    """A training run with everything that it is made from."""

    run: RunKind
    scale: Scale
    size: Size
    corpus: Corpus
    counts: Cooccurrence
    spectrum: Spectrum
    seed: int

    @property
    def init_scale(self) -> float:
        """σ of the entries of the start."""
        return entry_scale(self._start, (len(self.counts.vocabulary), self.size.dim))

    @property
    def _start(self) -> float | Literal["word2vec"]:
        small = self.run.start == "small"
        return self.scale.small_init if small else self.scale.standard_init

    @property
    def for_benchmarks(self) -> bool:
        """Whether the run is judged by its last embedding and not by its course."""
        return self.run.purpose == "benchmarks"

    def train(self, checkpoint: Path) -> Trace:
        """Train, from a checkpoint if there is one: by Adam, or by plain steps that stay finite."""
        if self.for_benchmarks and self.run.loss == "logistic" and self.scale.adam is not None:
            return self._by_adam(*self.scale.adam, checkpoint)
        step = self.scale.step / float(self.spectrum.eigenvalues[0])
        if self.run.weighting == "word2vec":
            step /= 2  # it favours frequent pairs, which are learned faster than λ₁ says
        while True:
            try:
                return self._by_plain_steps(step, checkpoint)
            except ConvergenceError as error:
                logger.info("%s Taking half the step.", error)
                remove(checkpoint)
                step /= 2

    def _by_adam(self, rate: float, steps: int, checkpoint: Path) -> Trace:
        from qwem._internal import require
        from qwem.training import population, train

        loss, weighting = self._objective()
        trainer = population(
            self.counts, loss, weighting, dim=self.size.dim,
            optimizer=require("optax", "train").adam(rate),
        )  # fmt: skip
        start = trainer.init(self._start, seed=self.seed)
        return train(
            trainer, start, steps=steps, record_every=max(1, steps // 10),
            checkpoint=checkpoint, checkpoint_every=10,
        )  # fmt: skip

    def _by_plain_steps(self, step: float, checkpoint: Path) -> Trace:
        """Train with steps of a given length of the paper's time, past the last learning time.

        The run stops at the moments whose vectors are to be kept, and goes on from its checkpoint.
        """
        from qwem.training import Trace, train
        from qwem.training.schedule import stepwise

        times = closed_form(self.spectrum, init_scale=self.init_scale).learning_times
        until = self.scale.stretch * float(times.max())
        if self.for_benchmarks:
            until *= self.scale.patience
        else:
            step = min(step, until / _RECORDS)  # a large start is over in a few large steps
        rate = step / self._trainer(1.0).time_per_rate
        # Minibatches are noisy, and the paper lowers the rate at last where it measures accuracy.
        lowered = self.for_benchmarks and self.scale.batch_size is not None
        trainer = self._trainer(stepwise(rate, until) if lowered else rate)
        start = trainer.init(self._start, seed=self.seed)
        steps = max(1, round(until / step))
        snapshots: dict[int, Any] = {}
        for number, moment in enumerate(self._moments(times, until)):
            part = checkpoint.with_name(f"{checkpoint.name}-{number}")
            if not part.exists():
                train(
                    trainer, start, until=moment, record_every=max(1, steps // _RECORDS),
                    checkpoint=checkpoint, checkpoint_every=max(1, steps // 50),
                    reference=self.spectrum if self.run.purpose == "ablation" else None,
                ).save(part)  # fmt: skip
            trace = Trace.load(part)
            snapshots |= trace.snapshots
        return replace(trace, snapshots=snapshots)

    def _moments(self, times: NDArray[np.float64], until: float) -> list[float]:
        """Return when to keep the vectors: at both ends and around the first learning time."""
        moments = [0.0, *np.geomspace(0.5 * times[0], 3.0 * times[0], 12).tolist(), until]
        return sorted({min(moment, until) for moment in moments})

    def _trainer(self, rate: float | Stepwise) -> Trainer:
        from qwem.training import population, stochastic
        from qwem.training.trainer import precision_for

        loss, weighting = self._objective()
        # Where theory is laid over a run, modes that have yet to grow are far below float32's
        # rounding of those that have grown.
        exact = self.run.weighting == "setting31" and not self.for_benchmarks
        dtype = "float64" if exact else precision_for(self.init_scale)
        if self.scale.batch_size is not None:
            return stochastic(
                self.corpus, self.counts, loss, weighting,
                dim=self.size.dim, rate=rate, batch_size=self.scale.batch_size, dtype=dtype,
            )  # fmt: skip
        return population(
            self.counts, loss, weighting, dim=self.size.dim, rate=rate, method="rk4", dtype=dtype
        )

    def _objective(self) -> tuple[Any, Any]:
        """Return the loss and the weighting of pairs."""
        from qwem.training import LOGISTIC, QUARTIC, word2vec_reweighting

        weighting = setting31()
        if self.run.weighting == "word2vec":
            weighting = word2vec_reweighting(
                self.scale.subsample,
                negatives=self.size.negatives,
                normalization=self.scale.normalization,
            )
        return (QUARTIC if self.run.loss == "quartic" else LOGISTIC), weighting


def remove(checkpoint: Path) -> None:
    """Remove a checkpoint and the parts of its run that were kept beside it."""
    remove_abandoned(checkpoint)
    # The checkpoint comes last: without it, its parts would be taken for those of a new run.
    for path in sorted(checkpoint.parent.glob(f"{checkpoint.name}*"), reverse=True):
        remove_directory(path)


def run_settings(scale: Scale, size: Size, trace: Trace) -> dict[str, Any]:
    """Return the settings of runs of one size from the small start, for the page of a figure."""
    return {
        "V": len(trace.vocabulary),
        "d": trace.singular_values.shape[1],
        "seeds": scale.seeds,
        "σ, small": scale.small_init,
        "λ₁Δt": f"{scale.step:g}, and half that under word2vec's weighting",
        "steps": int(trace.steps[-1]),
        "gradient": "exact flow, fourth order"
        if scale.batch_size is None
        else f"minibatches of {scale.batch_size:,} pairs",
        "word2vec": f"subsampling {scale.subsample:g}, negatives ∝ P^¾, k = {size.negatives:g}; "
        "Setting 3.1 has k = 1",
    }


def standard_start(init: float | str) -> str:
    """Return the standard start in words."""
    return "uniform on ±1/(2d), word2vec's own" if isinstance(init, str) else f"normal, σ = {init}"
