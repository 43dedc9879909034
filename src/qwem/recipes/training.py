"""Training for real, from text to a trace and a model on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from qwem._internal.stopwatch import Stopwatch
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.errors import SettingError
from qwem.model import Settings, count, read

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from qwem.embedding import Embedding
    from qwem.target import Reweighting
    from qwem.training import Loss, Trace, Trainer


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How to train; what is not said here is said in `qwem.Settings`.

    The defaults are QWEM, the paper's model, by the exact gradient. ``loss="logistic"`` with
    ``weighting="word2vec"`` is word2vec, and the other two combinations are those of the paper's
    ablation.
    """

    loss: Literal["quartic", "logistic"] = "quartic"
    weighting: Literal["setting31", "word2vec", "none"] = "setting31"
    coupling: float = 0.0
    """Weigh word i by P_i to this power besides: a rank-one coupling."""
    gradient: Literal["population", "stochastic"] = "population"
    optimizer: Literal["sgd", "rk4", "adam"] = "sgd"
    rate: float | None = None
    """By default 0.05 for Adam, and for the others half of the largest stable one."""
    init_scale: float = 1e-2
    steps: int | None = None
    until: float | None = None
    """When to end: after so many steps, 1,000 if nothing is said, or at the paper's time t."""
    tied: bool = True
    precision: Literal["float32", "float64"] = "float32"
    # word2vec's weighting
    threshold: float = 1e-3
    exponent: float = 0.75
    negative_samples: float = 5.0
    # minibatches
    batch_size: int = 100_000
    flatten: float = 0.0
    # what to write down
    record_every: int = 10
    snapshot_every: int | None = None
    checkpoint_every: int = 100


@dataclass(frozen=True, eq=False)
class TrainedRun:
    """A finished run and where its parts are."""

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
    threads: int | None = None,
) -> TrainedRun:
    """Train on text, an encoded corpus or counts; leave a trace and a model in `output`.

    The state is kept there too: after an interruption the same call goes on where it was, and with
    a later end a finished run goes on from its end.
    """
    _check(training)
    directory = Path(output)
    watch = Stopwatch()
    corpus, counts = _counted(source, settings, threads, watch)
    with watch.stage("prepare"):
        trainer = _trainer(corpus, counts, training, settings)
    with watch.stage("train"):
        from qwem.training import train

        directory.mkdir(parents=True, exist_ok=True)
        trace = train(
            trainer,
            trainer.init(training.init_scale, seed=settings.seed),
            steps=1_000 if training.steps is None and training.until is None else training.steps,
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


def _check(training: TrainingSettings) -> None:
    for name, hint in get_type_hints(TrainingSettings).items():
        value = getattr(training, name)
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise SettingError(f"{name} must be one of {', '.join(get_args(hint))}, not {value!r}.")
    if training.gradient == "stochastic" and training.optimizer == "rk4":
        raise SettingError("rk4 follows the exact gradient; take sgd or adam for minibatches.")


def _counted(
    source: Any, settings: Settings, threads: int | None, watch: Stopwatch
) -> tuple[Corpus | None, Cooccurrence]:
    if isinstance(source, Cooccurrence):
        return None, source
    with watch.stage("read"):
        corpus = source if isinstance(source, Corpus) else read(source, settings, threads)
    with watch.stage("count"):
        return corpus, count(corpus, settings, threads)


def _trainer(
    corpus: Corpus | None, counts: Cooccurrence, training: TrainingSettings, settings: Settings
) -> Trainer:
    from qwem.training import LOGISTIC, QUARTIC, population, stable_rate, stochastic

    loss: Loss = {"quartic": QUARTIC, "logistic": LOGISTIC}[training.loss]
    reweighting = _reweighting(counts, training)
    common: dict[str, Any] = {
        "dim": settings.dim,
        "tied": training.tied,
        "dtype": training.precision,
    }
    if training.optimizer == "adam":
        from qwem._internal.extras import require

        common["optimizer"] = require("optax", "train").adam(
            0.05 if training.rate is None else training.rate
        )
    elif training.rate is not None:
        common["rate"] = training.rate
    else:
        common["rate"] = stable_rate(
            counts, loss, reweighting, tied=training.tied, seed=settings.seed
        )
    if training.gradient == "population":
        common["method"] = "rk4" if training.optimizer == "rk4" else "sgd"
        return population(counts, loss, reweighting, **common)
    if corpus is None:
        raise SettingError("Minibatches are drawn from text; give the text or its encoded corpus.")
    return stochastic(
        corpus,
        counts,
        loss,
        reweighting,
        batch_size=training.batch_size,
        flatten=training.flatten,
        **common,
    )


def _reweighting(counts: Cooccurrence, training: TrainingSettings) -> Reweighting:
    from qwem.target import rank_one, setting31, unweighted, word_probability
    from qwem.training import word2vec_reweighting

    if training.weighting == "word2vec":
        reweighting = word2vec_reweighting(
            training.threshold, training.exponent, training.negative_samples
        )
    else:
        reweighting = setting31() if training.weighting == "setting31" else unweighted()
    if training.coupling:
        reweighting *= rank_one(word_probability(counts) ** training.coupling)
    return reweighting
