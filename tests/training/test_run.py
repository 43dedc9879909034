"""Whole runs: their trace, stopping and going on, the same bits every time, many seeds at once."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import pyarrow.parquet
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.dynamics import closed_form
from qwem.errors import ArtefactError, ConvergenceError, SettingError
from qwem.spectrum import factorize
from qwem.target import mstar, setting31
from qwem.training import (
    LOGISTIC,
    QUARTIC,
    Trace,
    population,
    stochastic,
    train,
    word2vec_reweighting,
)
from qwem.training.run import train_seeds
from qwem.training.trainer import Schedule
from training.cases import topical_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from qwem.embedding import Embedding
    from qwem.training.trainer import Trainer

optax = pytest.importorskip("optax")

CORPUS = topical_text()
COUNTS = Cooccurrence.count(CORPUS, 4)


def adam(**settings: Any) -> Trainer:
    return population(
        COUNTS, LOGISTIC, word2vec_reweighting(), dim=3, optimizer=optax.adam(0.05), **settings
    )


def minibatches(**settings: Any) -> Trainer:
    schedule = Schedule(2e-3, "stepwise", until=0.12)
    return stochastic(CORPUS, COUNTS, dim=3, rate=schedule, batch_size=500, flatten=0.5, **settings)


TRAINERS: dict[str, Callable[[], Trainer]] = {
    "adam": adam,
    "untied-adam": lambda: adam(tied=False, dtype=np.float64),
    "minibatches": minibatches,
    "untied-minibatches": lambda: minibatches(tied=False),
}


def assert_same(one: Trace, other: Trace) -> None:
    for name in ("steps", "times", "losses", "singular_values", "accuracy"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert list(one.snapshots) == list(other.snapshots)
    for step, sides in one.snapshots.items():
        for a, b in zip(sides, other.snapshots[step], strict=True):
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype


class InterruptionError(Exception):
    """The run ends between two checkpoints, as a kill would end it."""


class Accuracy:
    """A number that depends on the vectors, and an end after so many looks."""

    def __init__(self, looks: int | None = None) -> None:
        self.left = looks

    def __call__(self, embedding: Embedding) -> float:
        if self.left is not None:
            if self.left == 0:
                raise InterruptionError
            self.left -= 1
        return float(embedding.vectors.mean())


@pytest.mark.parametrize("name", TRAINERS)
def test_going_on_after_an_interruption_changes_nothing(name: str, tmp_path: Path) -> None:
    settings: Any = {"steps": 40, "record_every": 2, "snapshot_every": 8}
    trainer = TRAINERS[name]()
    start = trainer.init(0.1, seed=4)
    whole = train(trainer, start, accuracy=Accuracy(), **settings)

    settings |= {"checkpoint": tmp_path / "run", "checkpoint_every": 7}
    with pytest.raises(InterruptionError):
        train(trainer, start, accuracy=Accuracy(looks=12), **settings)
    assert (tmp_path / "run").is_dir()
    again = TRAINERS[name]()
    looked = Accuracy(looks=11)  # of 21, at most those since step 21
    assert_same(train(again, again.init(0.1, seed=4), accuracy=looked, **settings), whole)
    finished = Accuracy(looks=1)
    assert_same(train(again, start, accuracy=finished, **settings), whole)


def test_a_finished_run_can_be_made_longer(tmp_path: Path) -> None:
    trainer = minibatches()
    start = trainer.init(0.1)
    whole = train(trainer, start, steps=30, record_every=5)
    train(trainer, start, steps=13, record_every=5, checkpoint=tmp_path / "run")
    assert_same(train(trainer, start, steps=30, record_every=5, checkpoint=tmp_path / "run"), whole)


def test_another_runs_checkpoint_is_refused(tmp_path: Path) -> None:
    trainer = minibatches()
    start = trainer.init(0.1)
    train(trainer, start, steps=3, checkpoint=tmp_path / "run")
    for other, begin in ((trainer, trainer.init(0.1, seed=1)), (minibatches(tied=False), None)):
        with pytest.raises(SettingError, match="another run"):
            train(other, begin or other.init(0.1), steps=3, checkpoint=tmp_path / "run")
    with pytest.raises(ArtefactError):
        train(trainer, start, steps=3, checkpoint=tmp_path)


@pytest.mark.parametrize("name", TRAINERS)
def test_a_seed_gives_the_same_bits(name: str) -> None:
    traces = []
    for seed in (1, 1, 2):
        trainer = TRAINERS[name]()
        traces.append(train(trainer, trainer.init(0.1, seed=seed), steps=25, record_every=5))
    assert_same(traces[0], traces[1])
    assert not np.array_equal(traces[0].vectors, traces[2].vectors)


def test_alignment_is_recorded_resumed_and_saved(tmp_path: Path) -> None:
    spectrum = factorize(mstar(COUNTS), 3)
    trainer = minibatches(tied=False)
    start = trainer.init(0.1)
    settings: Any = {"record_every": 2, "reference": spectrum}
    whole = train(trainer, start, steps=12, **settings)
    for steps in (5, 12):
        resumed = train(trainer, start, steps=steps, checkpoint=tmp_path / "run", **settings)
    resumed.save(tmp_path / "trace")
    for trace in (resumed, Trace.load(tmp_path / "trace")):
        for name in ("alignment", "subspace_alignment"):
            np.testing.assert_array_equal(getattr(trace, name), getattr(whole, name))
    assert whole.alignment is not None
    assert whole.alignment.shape == (7, 3)
    with pytest.raises(SettingError, match="another run"):
        train(trainer, start, steps=12, record_every=2, checkpoint=tmp_path / "run")
    with pytest.raises(SettingError, match="restrict the larger"):
        train(trainer, start, steps=1, reference=factorize(mstar(COUNTS), 2))


@pytest.mark.parametrize("name", ["untied-adam", "minibatches"])
def test_traces_come_back_from_disk(name: str, tmp_path: Path) -> None:
    trainer = TRAINERS[name]()
    trace = train(trainer, trainer.init(0.1), steps=9, record_every=2, snapshot_every=4)
    trace.save(tmp_path / "trace")
    loaded = Trace.load(tmp_path / "trace")
    assert_same(loaded, trace)
    assert loaded.settings == trace.settings
    assert loaded.vocabulary == trace.vocabulary
    table = pyarrow.parquet.read_table(tmp_path / "trace" / "trace.parquet")
    assert table.column_names == ["step", "time", "loss", "accuracy", "singular_values"]
    assert table["step"].to_pylist() == [0, 2, 4, 6, 8, 9]
    assert list(loaded.snapshots) == [0, 4, 8, 9]
    expected = trace.snapshots[4][0].astype(np.float32)
    np.testing.assert_array_equal(loaded.embedding(4).vectors, expected)
    with pytest.raises(SettingError, match="no snapshot"):
        loaded.embedding(2)
    (tmp_path / "trace" / "trace.parquet").unlink()
    with pytest.raises(ArtefactError, match="missing"):
        Trace.load(tmp_path / "trace")


def test_only_untied_weights_drift_apart() -> None:
    tied, untied = minibatches(), minibatches(tied=False)
    ends = [train(t, t.init(0.1), steps=5) for t in (tied, untied)]
    np.testing.assert_array_equal(ends[0].vectors, ends[0].context_vectors)
    assert not np.array_equal(ends[1].vectors, ends[1].context_vectors)


def test_what_makes_no_sense_is_refused() -> None:
    trainer = adam()
    start = trainer.init(0.1)
    refused: list[Any] = [
        {},
        {"steps": 1, "until": 1.0},
        {"until": 1.0},
        {"steps": -1},
        {"steps": 1, "record_every": 0},
        {"steps": 1, "record_every": 4, "snapshot_every": 6},
        {"steps": 1, "checkpoint_every": 0},
    ]
    for wrong in refused:
        with pytest.raises(SettingError):
            train(trainer, start, **wrong)


def test_precision_is_nobody_elses_business() -> None:
    trainer = adam(dtype=np.float64)
    train(trainer, trainer.init(0.1), steps=2)
    assert jnp.zeros(1).dtype == np.float32


def test_the_theory_needs_no_jax() -> None:
    code = "import sys, qwem.dynamics, qwem.model; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("loss", "weighting", "tied"),
    [(QUARTIC, setting31(), True), (LOGISTIC, word2vec_reweighting(0.02), False)],
    ids=["qwem-tied", "word2vec-untied"],
)
def test_each_run_is_the_one_of_its_seed(loss: Any, weighting: Any, tied: bool) -> None:
    rate = Schedule(0.02 if loss is QUARTIC else 5.0, "stepwise", steps=40)
    method: Any = "rk4" if tied else "sgd"
    trainer = population(
        COUNTS, loss, weighting, dim=3, rate=rate, method=method, tied=tied, dtype=np.float64
    )
    together = train_seeds(trainer, 0.1, [3, 8, 5], steps=40, record_every=15)
    for found, seed in zip(together, (3, 8, 5), strict=True):
        alone = train(trainer, trainer.init(0.1, seed=seed), steps=40, record_every=15)
        assert found.settings == alone.settings
        np.testing.assert_array_equal(found.steps, alone.steps)
        np.testing.assert_allclose(found.times, alone.times)
        np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-9)
        np.testing.assert_allclose(
            found.singular_values, alone.singular_values, rtol=1e-8, atol=1e-12
        )
        np.testing.assert_allclose(found.vectors, alone.vectors, rtol=1e-8, atol=1e-12)


def test_many_starts_learn_on_average_when_the_typical_one_does() -> None:
    """`closed_form(init_scale=σ)` has the expected learning times."""
    spectrum = factorize(mstar(COUNTS, dtype=np.float64), 3)
    theory = closed_form(spectrum, init_scale=1e-4)
    rate = 0.1 / float(spectrum.eigenvalues[0])
    trainer = population(COUNTS, dim=3, rate=rate, method="rk4", dtype=np.float64)
    steps = int(2 * theory.learning_times[0] / (2 * rate))
    found = train_seeds(trainer, 1e-4, range(40), steps=steps, record_every=1)
    first = np.array([run.singular_values[:, 0] for run in found])
    times = found[0].times[(first**2 > spectrum.eigenvalues[0] / 2).argmax(axis=1)]
    assert times.mean() == pytest.approx(theory.learning_times[0], rel=0.03)
    assert np.ptp(times) > 0


def test_wrong_seeds_are_refused() -> None:
    trainer = population(COUNTS, dim=2, rate=0.01)
    refused: list[Any] = [{"seeds": []}, {"steps": -1}, {"record_every": 0}]
    for wrong in refused:
        with pytest.raises(SettingError):
            train_seeds(trainer, **{"init_scale": 0.1, "seeds": [0], "steps": 3, **wrong})
    noisy = stochastic(CORPUS, COUNTS, dim=2, rate=0.01, batch_size=100)
    with pytest.raises(SettingError, match="population"):
        train_seeds(noisy, 0.1, [0], steps=3)
    with pytest.raises(ConvergenceError):
        train_seeds(population(COUNTS, dim=2, rate=10.0), 1.0, [0, 1], steps=60)
