"""The stages that the paper's figures share: each is made once, and kept on disk."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from qwem import __version__
from qwem._internal.file_states import file_states
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.dynamics import closed_form
from qwem.errors import ConvergenceError
from qwem.spectrum import Spectrum, factorize
from qwem.target import mstar, pmi, ppmi, setting31

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.recipes.paper.settings import Scale, Size
    from qwem.target import Target
    from qwem.training import Stepwise, Trace, Trainer

logger = logging.getLogger(__name__)

T = TypeVar("T", Corpus, Cooccurrence, Spectrum, "Trace")
TargetName = Literal["mstar", "ppmi", "pmi"]
_TARGETS: dict[TargetName, Callable[[Cooccurrence], Target]] = {
    "mstar": mstar,
    "ppmi": ppmi,
    "pmi": pmi,
}
_LOOKS = 250
"""How often a run's singular values are written down."""
_PATIENCE = 4
"""How many times as long a model is trained for the benchmarks; the paper's, 12 hours and not 2."""


@dataclass(frozen=True)
class Run:
    """One training run: a loss, a weighting, a start, and whose size and schedule it has."""

    loss: Literal["quartic", "logistic"]
    weighting: Literal["setting31", "word2vec"]
    start: Literal["small", "standard"]
    purpose: Literal["dynamics", "benchmarks"] = "dynamics"


RUNS = {
    "qwem": Run("quartic", "setting31", "small"),
    "word2vec": Run("logistic", "word2vec", "small"),
    "qwem-standard": Run("quartic", "setting31", "standard"),
    "word2vec-standard": Run("logistic", "word2vec", "standard"),
    "quartic": Run("quartic", "word2vec", "small"),
    "reweighted": Run("logistic", "setting31", "small"),
    "qwem-benchmarks": Run("quartic", "setting31", "standard", "benchmarks"),
    "word2vec-benchmarks": Run("logistic", "word2vec", "standard", "benchmarks"),
}
"""Every training run of the paper, by name."""


class Stages:
    """Corpora, counts, spectra and training runs of one text at one scale.

    Everything is looked for in the cache first, under a name made of the settings and the
    fingerprint of the text, and made where it is missing. A run that was interrupted goes on from
    its checkpoint.
    """

    def __init__(self, paths: Sequence[str], scale: Scale, directory: Path) -> None:
        self.paths = [str(path) for path in paths]
        self.scale = scale
        self.directory = directory

    @cache  # noqa: B019 – a run has one of these, and wants each stage once
    def corpus(self, vocab_size: int) -> Corpus:
        """Return the text, encoded with its most frequent words."""
        scale = self.scale
        settings: dict[str, Any] = {
            "vocab_size": vocab_size,
            "min_tokens": scale.min_tokens,
            "tokenizer": scale.tokenizer,
        }

        def make(path: Path) -> Corpus:
            return Corpus.from_files(self.paths, directory=path, **settings)

        return self._kept(
            "corpus", {**settings, "files": file_states(self.paths)}, Corpus.load, make
        )

    @cache  # noqa: B019
    def counts(self, vocab_size: int) -> Cooccurrence:
        """Return how often words meet."""
        corpus = self.corpus(vocab_size)

        def make(path: Path) -> Cooccurrence:
            counts = Cooccurrence.count(corpus, self.scale.window)
            counts.save(path)
            return counts

        settings = {"corpus": corpus.fingerprint, "window": self.scale.window}
        return self._kept("counts", settings, Cooccurrence.load, make)

    @cache  # noqa: B019
    def spectrum(self, size: Size, target: TargetName = "mstar", tol: float = 1e-5) -> Spectrum:
        """Return the leading eigenpairs of M*, PPMI or PMI."""
        settings = {
            "corpus": self.corpus(size.vocab_size).fingerprint,
            "window": self.scale.window,
            "target": target,
            "dim": size.dim,
            "tol": tol,
        }

        def make(path: Path) -> Spectrum:
            matrix = _TARGETS[target](self.counts(size.vocab_size))
            spectrum = factorize(matrix, size.dim, tol=tol)
            spectrum.save(path)
            return spectrum

        return self._kept(f"spectrum-{target}", settings, Spectrum.load, make)

    @cache  # noqa: B019
    def trace(self, name: str) -> Trace:
        """Return a training run of `RUNS`."""
        from qwem.training import Trace

        run, scale = RUNS[name], self.scale
        size: Size = getattr(scale, run.purpose)
        settings = {
            "run": vars(run),
            "corpus": self.corpus(size.vocab_size).fingerprint,
            "size": size,
            **{key: value for key, value in scale.to_dict().items() if key not in _OTHER_SIZES},
        }

        def make(path: Path) -> Trace:
            checkpoint = path.with_name(f"{path.name}-unfinished")
            trace = self._train(run, size, checkpoint)
            trace.save(path)
            _remove(checkpoint)
            return trace

        return self._kept(f"run-{name}", settings, Trace.load, make)

    def _train(self, run: Run, size: Size, checkpoint: Path) -> Trace:
        """Train, from a checkpoint if there is one: by Adam, or by plain steps that stay finite."""
        from qwem.training import train

        scale = self.scale
        spectrum = self.spectrum(size)
        init_scale = scale.small_init if run.start == "small" else scale.standard_init
        times = closed_form(spectrum, init_scale=init_scale).learning_times
        step = scale.step / float(spectrum.eigenvalues[0])
        if run.weighting == "word2vec":
            step /= 2  # it favours frequent pairs, which are learned faster than λ₁ says
        if run.purpose == "benchmarks" and run.loss == "logistic" and scale.adam is not None:
            trainer = self._trainer(run, size, None)
            start = trainer.init(init_scale, seed=scale.seed)
            steps = scale.adam[1]
            return train(trainer, start, steps=steps, record_every=max(1, steps // 10),
                         checkpoint=checkpoint, checkpoint_every=10)  # fmt: skip
        while True:
            try:
                return self._flow(run, size, init_scale, times, step, checkpoint)
            except ConvergenceError as error:
                logger.info("%s Taking half the step.", error)
                _remove(checkpoint)
                step /= 2

    def _flow(
        self,
        run: Run,
        size: Size,
        init_scale: float,
        times: NDArray[np.float64],
        step: float,
        checkpoint: Path,
    ) -> Trace:
        """Train with plain steps of a length of the paper's time, past the last learning time.

        It stops at the moments whose vectors are to be kept, and goes on from its checkpoint.
        """
        from qwem.training import Trace, stepwise, train

        scale, until = self.scale, self.scale.stretch * float(times.max())
        if run.purpose == "benchmarks":
            until *= _PATIENCE
        else:
            step = min(step, until / _LOOKS)  # a large start is over in a few large steps
        rate = step / self._trainer(run, size, 1.0).time_per_rate
        # Minibatches are noisy, and the paper lowers the rate at last where it measures accuracy.
        lowered = run.purpose == "benchmarks" and scale.batch_size is not None
        trainer = self._trainer(run, size, stepwise(rate, until) if lowered else rate)
        start = trainer.init(init_scale, seed=scale.seed)
        steps = max(1, round(until / step))
        moments = [0.0, *np.geomspace(0.5 * times[0], 3.0 * times[0], 12).tolist(), until]
        snapshots: dict[int, Any] = {}
        for number, moment in enumerate(moments):
            part = checkpoint.with_name(f"{checkpoint.name}-{number}")
            if not part.exists():
                train(
                    trainer, start, until=min(moment, until), record_every=max(1, steps // _LOOKS),
                    checkpoint=checkpoint, checkpoint_every=max(1, steps // 50),
                ).save(part)  # fmt: skip
            trace = Trace.load(part)
            snapshots |= trace.snapshots
        return replace(trace, snapshots=snapshots)

    def _trainer(self, run: Run, size: Size, rate: float | Stepwise | None) -> Trainer:
        from qwem._internal.extras import require
        from qwem.training import LOGISTIC, QUARTIC, population, stochastic, word2vec_reweighting

        scale = self.scale
        counts = self.counts(size.vocab_size)
        loss = QUARTIC if run.loss == "quartic" else LOGISTIC
        weighting = setting31()
        if run.weighting == "word2vec":
            weighting = word2vec_reweighting(scale.threshold, negatives=1.0)
        if rate is None and scale.adam is not None:
            adam = require("optax", "train").adam(scale.adam[0])
            return population(counts, loss, weighting, dim=size.dim, optimizer=adam)
        if scale.batch_size is not None:
            return stochastic(
                self.corpus(size.vocab_size), counts, loss, weighting,
                dim=size.dim, rate=rate, batch_size=scale.batch_size,
            )  # fmt: skip
        # Where theory is laid over it: modes that have yet to grow are far below float32's rounding
        # of those that have.
        exact = (run.loss, run.weighting, run.purpose) == ("quartic", "setting31", "dynamics")
        dtype = np.float64 if exact else np.float32
        return population(
            counts, loss, weighting, dim=size.dim, rate=rate, method="rk4", dtype=dtype
        )

    def _kept(
        self,
        name: str,
        settings: dict[str, Any],
        load: Callable[[Path], T],
        make: Callable[[Path], T],
    ) -> T:
        """Return what the cache has under these settings, or make it and keep it there."""
        text = json.dumps({"qwem": __version__, **settings}, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self.directory / f"{name}-{digest}"
        if path.exists():
            return load(path)
        logger.info("making %s", path.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return make(path)


def _remove(checkpoint: Path) -> None:
    """Remove a checkpoint and the parts of its run that were kept beside it."""
    for path in checkpoint.parent.glob(f"{checkpoint.name}*"):
        shutil.rmtree(path)


_OTHER_SIZES = ("dynamics", "benchmarks", "tasks")
