"""Scales and training runs of a reproduction: sizes, settings, and how each run is trained."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from qwem._internal.files import remove_abandoned, remove_directory
from qwem.dynamics import closed_form, entry_scale
from qwem.errors import ConvergenceError
from qwem.model import Settings
from qwem.model.settings import resolve_auto
from qwem.training.settings import TrainingSettings

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.spectrum import Spectrum
    from qwem.training import Trace
    from qwem.training.trainer import State, Trainer


class Size(NamedTuple):
    """The size of a model, and how its pairs are counted and sampled."""

    vocab_size: int
    dim: int
    window: int = 16
    """How far a window reaches to each side; the paper's L counts both sides."""
    negatives: float = 1.0
    """Negative samples per positive one in word2vec's weighting."""


@dataclass(frozen=True)
class Scale:
    """All settings of a reproduction of the paper."""

    dynamics: Size
    """The training runs of Figures 1 and 2."""
    ablation: Size
    """The four training runs of the ablation, for which the paper has settings of its own."""
    benchmarks: Size
    """Figure 3 and the overlaps, where all models have the same words and dimension."""
    tasks: Size
    """Figure 4 and the other figures of task vectors, which need M* alone, up to a large d."""
    step: float
    """λ₁Δt, the time step in units of the fastest growth."""
    batch_size: int | None = None
    """Pairs per minibatch of stochastic gradient descent; None follows the exact gradient flow."""
    minibatches: tuple[int, float] = (100_000, 0.05)
    """Pairs per minibatch, and λ₁Δt, of the runs of Figure 2 that use minibatches although the
    others follow the flow."""
    adam: tuple[float, int] | None = None
    """Rate and steps of Adam, with which word2vec is trained for the benchmarks. None trains it as
    QWEM is trained."""
    subsample: float = 1e-3
    """word2vec's threshold t for the subsampling of frequent words."""
    normalization: Literal["samples", "words"] = "samples"
    """The normalization of word2vec's negatives; the paper's formula is that of words."""
    small_init: float = 1e-8
    """σ of the entries of the small start."""
    standard_init: float | Literal["word2vec"] = "word2vec"
    """The standard start: word2vec's own, uniform on ±1/(2d), or σ of normal entries."""
    stretch: float = 1.15
    """How long to train, in units of the last mode's learning time."""
    patience: float = 2.0
    """How many times as long to train for the benchmarks."""
    min_tokens: int = 500
    """Documents with fewer words are left out."""
    tokenizer: str = "ascii"
    seed: int = 0
    seeds: int = 1
    """The number of seeds, from `seed` on, for Figures 1 and 2 and the ablation."""

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)


# Tens of millions of words have fewer pairs of rare words than the paper's text, so word2vec
# subsamples more. That also makes its weighting more even, and so closer to Setting 3.1.
_LAPTOP = Scale(
    dynamics=Size(1_200, 40),
    ablation=Size(800, 30, window=8, negatives=2.0),
    benchmarks=Size(4_000, 100),
    tasks=Size(10_000, 1_024),
    step=1.0,
    adam=(0.05, 100),
    subsample=1e-5,
    seeds=3,
)

SCALES = {
    # For two cores and tens of millions of words: exact gradients, and Adam for word2vec.
    "laptop": _LAPTOP,
    # The same sizes, with every model trained by SGD on minibatches as in the paper. It takes far
    # longer.
    "laptop-sgd": replace(_LAPTOP, step=0.02, batch_size=100_000, adam=None, patience=4.0, seeds=1),
    # The paper's own (appendix A), for two billion words of Wikipedia and a GPU.
    "paper": Scale(
        dynamics=Size(10_000, 200),
        ablation=Size(20_000, 150, window=8, negatives=2.0),
        benchmarks=Size(10_000, 200),
        tasks=Size(10_000, 4_096),
        step=2e-3,
        batch_size=100_000,
        patience=4.0,
        normalization="words",
        small_init=1e-12 / 200**0.5,  # the authors' code divides its σ by √d
    ),
}
"""The named scales of ``qwem reproduce``."""

MARKUP = frozenset(
    ["align", "bgcolor", "br", "cellpadding", "colspan", "htm", "html", "http", "https", "jpg",
     "nbsp", "org", "php", "png", "px", "ref", "rowspan", "svg", "url", "www"]
)  # fmt: skip
"""Words that are left over from markup and addresses, and say nothing about language."""

Row = tuple[str, str, str]
"""What differs, the paper's choice, and this reproduction's."""

_PAPER_WORDS = 2_000_000_000
_PURPOSES = {
    "dynamics": "size of the models of Figures 1 and 2",
    "benchmarks": "size of the models of Figure 3",
    "ablation": "size of the models of the ablation",
    "tasks": "size of the models of Figure 4, at most",
}
_NEGATIVES = {
    "words": "by the mean of P^(−¼) over words",
    "samples": "so that each positive pair has k negatives before subsampling",
}


def differences(scale: Scale, words: int, text: str) -> list[Row]:
    """Return how a reproduction differs from the paper.

    Parameters
    ----------
    scale
        The settings of the reproduction.
    words
        The number of words of its text, rare ones included.
    text
        The name of the text.

    >>> rows = differences(SCALES["laptop"], 36_000_000, "wiki.parquet")
    >>> rows[0]
    ('text', '2.00 billion words of English Wikipedia, November 2023', '36,000,000 words of \
wiki.parquet')
    """
    rows: list[Row] = []
    if abs(words / _PAPER_WORDS - 1) > 0.01:
        theirs = "2.00 billion words of English Wikipedia, November 2023"
        rows.append(("text", theirs, f"{words:,} words of {text}"))
    rows.append(
        ("text of the ablation", "41 million words of news and American English", "the same text")
    )
    ours = _stated(scale)
    for what, theirs in _stated(SCALES["paper"]).items():
        code = "; 1e-05 in the authors' code" if what == "word2vec's subsampling" else ""
        if theirs != ours[what]:
            rows.append((what, theirs + code, ours[what]))
    rows += [
        ("λ₁Δt of a step", "not stated", f"{scale.step:g}"),
        ("length of a run", "2 hours on a GPU, 12 hours for the benchmarks",
         f"until {scale.stretch:g} times the last mode's learning time; {scale.patience:g} times "
         f"that for {'the' if scale.adam is None else 'QWEM in the'} benchmarks"),
        ("start of the models of Figure 3", "the small start, in the authors' code",
         f"{standard_start(scale.standard_init)}, which is learned sooner"),
        ("start of QWEM in the ablation", "not stated; σ = 1e-3/√d = 8.2e-5 in the authors' code",
         f"the small start, σ = {scale.small_init:g}"),
        ("words of markup", "kept", f"left out: {', '.join(sorted(MARKUP)[:4])} and the like"),
        ("γ of the Marchenko–Pastur law", "fitted by eye", "the nearest law (Cramér–von Mises)"),
    ]  # fmt: skip
    return rows


def _stated(scale: Scale) -> dict[str, str]:
    """Return each setting that the paper states, in words."""
    gradient = "exact, over all pairs, integrated to fourth order"
    descent, seeds = "gradient flow", "one"
    if scale.batch_size is not None:
        gradient = f"minibatches of {scale.batch_size:,} pairs"
        descent = "SGD, rate lowered by 90 % at three quarters of the time"
    if scale.seeds > 1:
        seeds = f"{scale.seeds} in Figures 1 and 2 and the ablation, from as many seeds"
    word2vec = descent
    if scale.adam is not None:
        word2vec = f"Adam on the exact gradient, rate {scale.adam[0]:g}, {scale.adam[1]} steps"
    return {
        **{what: _size(getattr(scale, purpose)) for purpose, what in _PURPOSES.items()},
        "shortest document": f"{scale.min_tokens} words",
        "words": "runs of the letters a to z" if scale.tokenizer == "ascii" else scale.tokenizer,
        "gradient": gradient,
        "training of QWEM for the benchmarks": descent,
        "training of word2vec for the benchmarks": word2vec,
        "standard start": str(scale.standard_init),
        "small start, σ (the paper's: from the authors' code)": f"{scale.small_init:.2g}",
        "word2vec's subsampling": f"{scale.subsample:g}",
        "normalization of negatives": _NEGATIVES[scale.normalization],
        "runs of each model": seeds,
    }


def _size(size: Size) -> str:
    return (
        f"V = {size.vocab_size:,}, d = {size.dim}, L = {2 * size.window}, "
        f"{size.negatives:g} negative{'' if size.negatives == 1 else 's'}"
    )


logger = logging.getLogger(__name__)

_RECORDS = 250
"""The number of records of a run."""


@dataclass(frozen=True)
class RunKind:
    """One training run: its loss, weighting and start, and the experiment it belongs to."""

    loss: Literal["quartic", "logistic"]
    weighting: Literal["setting31", "word2vec"]
    start: Literal["small", "standard"]
    purpose: Literal["dynamics", "ablation", "benchmarks"] = "dynamics"
    minibatches: bool = False
    """Whether to use minibatches even where other runs follow the flow."""


RUNS = {
    "qwem": RunKind("quartic", "setting31", "small"),
    "word2vec": RunKind("logistic", "word2vec", "small"),
    "qwem-standard": RunKind("quartic", "setting31", "standard"),
    "word2vec-standard": RunKind("logistic", "word2vec", "standard"),
    "qwem-minibatches": RunKind("quartic", "setting31", "standard", minibatches=True),
    "word2vec-minibatches": RunKind("logistic", "word2vec", "standard", minibatches=True),
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
    """Training run with its settings and data."""

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
    def batch_size(self) -> int | None:
        """Pairs per minibatch; None for the exact gradient."""
        return self.scale.minibatches[0] if self.run.minibatches else self.scale.batch_size

    @property
    def for_benchmarks(self) -> bool:
        """Whether only the last embedding of the run is used."""
        return self.run.purpose == "benchmarks"

    def train(self, checkpoint: Path) -> Trace:
        """Train by Adam or by plain steps, halved if they diverge, from a checkpoint if any."""
        if self.for_benchmarks and self.run.loss == "logistic" and self.scale.adam is not None:
            return self._by_adam(*self.scale.adam, checkpoint)
        relative = self.scale.minibatches[1] if self.run.minibatches else self.scale.step
        step = relative / float(self.spectrum.eigenvalues[0])
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
        from qwem.training import train

        trainer, start = self._trainer(optimizer="adam", rate=rate)
        return train(
            trainer, start, steps=steps, record_every=max(1, steps // 10),
            checkpoint=checkpoint, checkpoint_every=10,
        )  # fmt: skip

    def _by_plain_steps(self, step: float, checkpoint: Path) -> Trace:
        """Train past the last learning time, with steps of a given length in the paper's time.

        The run stops at each moment whose vectors are kept, and continues from its checkpoint.
        """
        from qwem.training import Trace, train

        times = closed_form(self.spectrum, init_scale=self.init_scale).learning_times
        until = self.scale.stretch * float(times.max())
        if self.for_benchmarks:
            until *= self.scale.patience
        else:
            step = min(step, until / _RECORDS)  # otherwise a large start takes too few steps
        how: dict[str, Any] = {"optimizer": "rk4"}
        if self.batch_size is not None:
            how = {"gradient": "stochastic", "batch_size": self.batch_size}
            if self.for_benchmarks:
                # Minibatches are noisy; where the paper measures accuracy, it lowers the rate.
                how |= {"schedule": "stepwise", "until": until}
        rate = step / self._trainer(rate=1.0, **how)[0].time_per_rate
        trainer, start = self._trainer(rate=rate, **how)
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
        """Return the times to keep vectors: at both ends and around the first learning time."""
        moments = [0.0, *np.geomspace(0.5 * times[0], 3.0 * times[0], 12).tolist(), until]
        return sorted({min(moment, until) for moment in moments})

    def _trainer(self, **how: Any) -> tuple[Trainer, State]:
        """Return the trainer of this run and its start; `how` are settings of `qwem train`."""
        from qwem.training.from_text import trainer_of

        run, scale = self.run, self.scale
        # Runs that are compared with theory need float64: modes that have yet to grow are far
        # smaller than float32's rounding of those that have grown.
        exact = run.weighting == "setting31" and not self.for_benchmarks
        training = TrainingSettings(
            loss=run.loss, reweighting=run.weighting, normalization=scale.normalization,
            init_scale=self._start, precision="float64" if exact else "auto", **how,
        )  # fmt: skip
        negatives = self.size.negatives if run.weighting == "word2vec" else 1.0
        model = Settings.of(
            "paper", dim=self.size.dim, negatives=negatives, subsample=scale.subsample
        )
        settings = resolve_auto(model, self.counts.vocabulary)
        trainer = trainer_of(self.corpus, self.counts, training, settings)
        return trainer, trainer.init(self._start, seed=self.seed)


def remove(checkpoint: Path) -> None:
    """Remove a checkpoint and the parts of its run that were kept beside it."""
    remove_abandoned(checkpoint)
    # The checkpoint is removed last: without it, the parts would be taken for those of a new run.
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
