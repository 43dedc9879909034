"""Training from text to a trace and a model on disk."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.artefact import require_replaceable
from qwem._internal.resources import Stopwatch, require
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.dynamics import entry_scale
from qwem.errors import SettingError
from qwem.model.fitting import count, read
from qwem.model.settings import ResolvedSettings, resolve_auto
from qwem.target import Reweighting, negative_sampling, rank_one, setting31, word_probability
from qwem.target.reweighting import unweighted
from qwem.training.exact import population, stable_rate
from qwem.training.losses import LOGISTIC, QUARTIC
from qwem.training.minibatch import stochastic
from qwem.training.run import train
from qwem.training.trainer import Schedule, precision_for
from qwem.training.weighting import word2vec_reweighting

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from qwem.embedding import Embedding
    from qwem.model import Settings
    from qwem.training.settings import TrainingSettings
    from qwem.training.trace import Trace
    from qwem.training.trainer import Optimizer, Trainer


LOSSES = {loss.name: loss for loss in (QUARTIC, LOGISTIC)}


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """Finished run, and the paths of its trace and model."""

    trace: Trace
    trace_path: Path
    model_path: Path
    seconds: dict[str, float] = field(default_factory=dict)


def run_training(
    source: Any,
    output: str | os.PathLike[str],
    training: TrainingSettings,
    settings: Settings,
    *,
    accuracy: Callable[[Embedding], float] | None = None,
) -> TrainedRun:
    """Train on text, an encoded corpus or counts, and write a trace and a model to `output`.

    The settings of reading and counting, `dim` and `seed` mean the same as in a fit. `negatives`
    and `coupling` become part of the reweighting, `shrinkage` becomes part of the loss, and
    `signed` trains an untied model. With word2vec's reweighting, `subsample` (1e-3 by default) is
    part of the reweighting and is not applied in counting. `tol` and `polish` apply to the closed
    form only.

    The state is written to `output` too: after an interruption the same call continues the run, and
    with a later end it continues a finished run.
    """
    if settings.target != "mstar":
        raise SettingError(f"Training needs the target mstar, not {settings.target}.")
    training = replace(training, tied=training.tied and not settings.signed)
    directory = Path(output)
    for name, kind in (("trace", "trace"), ("model", "embedding"), ("checkpoint", "training")):
        require_replaceable(directory / name, kind)
    watch = Stopwatch()
    corpus, counts = _counted(source, training, settings, watch)
    with watch.stage("prepare"):
        resolved = resolve_auto(
            settings, counts.vocabulary if corpus is None else corpus.vocabulary
        )
        trainer = trainer_of(corpus, counts, training, resolved)
    with watch.stage("train"):
        directory.mkdir(parents=True, exist_ok=True)
        trace = train(
            trainer,
            trainer.init(training.init_scale, scale_of=training.scale_of, seed=settings.seed),
            steps=_steps(training),
            until=training.until,
            record_every=training.record_every,
            snapshot_every=training.snapshot_every,
            accuracy=accuracy,
            checkpoint=directory / "checkpoint",
            checkpoint_every=training.checkpoint_every,
        )
    with watch.stage("save"):
        trace.save(directory / "trace")
        trace.embedding().save(directory / "model")
    return TrainedRun(trace, directory / "trace", directory / "model", watch.seconds)


def _steps(training: TrainingSettings) -> int | None:
    return 1_000 if training.steps is None and training.until is None else training.steps


def _counted(
    source: Any,
    training: TrainingSettings,
    settings: Settings,
    watch: Stopwatch,
) -> tuple[Corpus | None, Cooccurrence]:
    if isinstance(source, Cooccurrence):
        return None, source
    if training.reweighting == "word2vec":
        settings = replace(settings, subsample=None)
    with watch.stage("read"):
        corpus = source if isinstance(source, Corpus) else read(source, settings)
    with watch.stage("count"):
        return corpus, count(corpus, settings)


def trainer_of(
    corpus: Corpus | None,
    counts: Cooccurrence,
    training: TrainingSettings,
    settings: ResolvedSettings,
) -> Trainer:
    """Return the trainer of some settings; only minibatches need the corpus."""
    loss, reweighting = LOSSES[training.loss], reweighting_of(counts, training, settings)
    shape = len(counts.vocabulary), settings.dim
    sigma = entry_scale(training.init_scale, shape, training.scale_of)
    precision = training.precision
    if precision == "auto":
        precision = precision_for(sigma)
    common: dict[str, Any] = {"dim": settings.dim, "tied": training.tied, "dtype": precision}
    exact: dict[str, Any] = {"tied": training.tied, "shrinkage": settings.shrinkage}
    if training.optimizer == "adam":
        common["optimizer"] = _adam(training)
    else:
        rate = training.rate
        if rate is None:
            rate = stable_rate(counts, loss, reweighting, seed=settings.seed, **exact)
        ends: dict[str, Any] = {"steps": _steps(training), "until": training.until}
        common["rate"] = Schedule(
            rate, training.schedule, **({} if training.schedule == "constant" else ends)
        )
    if training.gradient == "population":
        common["method"] = "rk4" if training.optimizer == "rk4" else "sgd"
        return population(counts, loss, reweighting, shrinkage=settings.shrinkage, **common)
    if corpus is None:
        raise SettingError("Minibatches are drawn from text; give the text or an encoded corpus.")
    if settings.shrinkage:
        raise SettingError(
            "Minibatches do not support shrinkage; set it to 0, or use the population gradient."
        )
    return stochastic(
        corpus,
        counts,
        loss,
        reweighting,
        batch_size=training.batch_size,
        flatten=training.flatten,
        **common,
    )


def _adam(training: TrainingSettings) -> Optimizer:
    optax = require("optax", "train")
    rate: Any = 0.05 if training.rate is None else training.rate
    steps = _steps(training) or 1
    if training.schedule == "stepwise":
        rate = optax.piecewise_constant_schedule(rate, {round(0.75 * steps): 0.1})
    elif training.schedule == "linear":
        rate = optax.linear_schedule(rate, 0.0, steps)
    optimizer: Optimizer = optax.adam(rate)
    return optimizer


def reweighting_of(
    counts: Cooccurrence, training: TrainingSettings, settings: ResolvedSettings
) -> Reweighting:
    """Return Ψ⁺ and Ψ⁻ of some settings."""
    if training.reweighting == "word2vec":
        subsample = 1e-3 if settings.subsample is None else settings.subsample
        reweighting = word2vec_reweighting(
            subsample, training.exponent, settings.negatives, training.normalization
        )
    else:
        reweighting = setting31() if training.reweighting == "setting31" else unweighted()
        if settings.negatives != 1:
            reweighting *= negative_sampling(1.0, settings.negatives)
    if settings.coupling:
        reweighting *= rank_one(word_probability(counts) ** settings.coupling)
    return reweighting
