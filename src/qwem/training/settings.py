"""Settings of a training run, each written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qwem._internal.settings import Auto, BaseSettings, Number, Switch, Whole, setting
from qwem.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(BaseSettings):
    """Settings of a training run, in addition to `qwem.Settings`.

    The defaults are QWEM, the paper's model, with the exact gradient. ``loss="logistic"`` with
    ``reweighting="word2vec"`` is word2vec. The other two combinations are those of the paper's
    ablation.
    """

    loss: Literal["quartic", "logistic"] = setting(
        "quartic", "QWEM's quartic loss, or word2vec's logistic one", ("quartic", "logistic")
    )
    reweighting: Literal["setting31", "word2vec", "none"] = setting(
        "setting31", "weights of pairs: the paper's Setting 3.1, word2vec's, or none",
        ("setting31", "word2vec", "none"),
    )  # fmt: skip
    exponent: float = setting(
        0.75, "power of word frequency from which word2vec's negatives are drawn", Number(),
        metavar="E",
    )  # fmt: skip
    normalization: Literal["samples", "words"] = setting(
        "samples",
        "what negatives is: the number of samples or, as in the paper, the mean weight of a word",
        ("samples", "words"),
    )  # fmt: skip
    tied: bool = setting(True, "learn one vector per word, or context vectors too", Switch())
    gradient: Literal["population", "stochastic"] = setting(
        "population", "exact gradient from the counts, or minibatches from the text",
        ("population", "stochastic"),
    )  # fmt: skip
    optimizer: Literal["sgd", "rk4", "adam"] = setting(
        "sgd", "plain steps, fourth-order steps of the gradient flow, or Adam",
        ("sgd", "rk4", "adam"),
    )  # fmt: skip
    rate: float | None = setting(
        None, "learning rate", Number(), metavar="R",
        words={"none": None},
        means="0.05 for Adam, otherwise half of the largest stable rate",
    )  # fmt: skip
    schedule: Literal["constant", "stepwise", "linear"] = setting(
        "constant",
        "learning rate over time: constant; stepwise, as in the paper, a tenth of the rate after "
        "three quarters of the time (until) or of the steps; or linear, down to zero, as in "
        "word2vec",
        ("constant", "stepwise", "linear"),
    )  # fmt: skip
    init_scale: float | Literal["word2vec"] = setting(
        1e-2, "size of the random start, or word2vec for that of word2vec.c. See `Trainer.init`.",
        Number(), metavar="S", words={"word2vec": "word2vec"},
    )  # fmt: skip
    scale_of: Literal["entry", "vector", "mode"] = setting(
        "entry", "what the size of the start refers to: entries, word vectors, or singular values",
        ("entry", "vector", "mode"),
    )  # fmt: skip
    steps: int | None = setting(
        None, "end after N steps", Whole(0), metavar="N", words={"none": None}, means="1000"
    )
    until: float | None = setting(
        None, "end at the paper's time t = T", Number(), metavar="T", words={"none": None}
    )
    precision: Literal["auto", "float32", "float64"] = setting(
        "auto", "precision of the numbers", ("float32", "float64"),
        auto=Auto("float64 for very small starts, otherwise float32"),
    )  # fmt: skip
    batch_size: int = setting(100_000, "pairs per minibatch", Whole(1), metavar="N")
    flatten: float = setting(
        0.0, "draw rare words more often, from 0 to 1, with the same expected gradient", Number(),
        metavar="B",
    )  # fmt: skip
    record_every: int = setting(10, "steps between records", Whole(1), metavar="N")
    snapshot_every: int | None = setting(
        None, "steps between snapshots of the vectors", Whole(1), metavar="N", words={"none": None}
    )
    checkpoint_every: int = setting(100, "steps between checkpoints", Whole(1), metavar="N")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gradient == "stochastic" and self.optimizer == "rk4":
            raise SettingError("rk4 needs the exact gradient; use sgd or adam for minibatches.")
        if self.schedule == "linear" and self.until is not None:
            raise SettingError("The linear schedule needs the number of steps; give `steps`.")
