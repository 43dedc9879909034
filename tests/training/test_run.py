"""Whole runs: their trace, stopping and going on, and the same bits every time."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import pyarrow.parquet
import pytest

from qwem.cooccurrence import Cooccurrence
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
from qwem.training.schedule import stepwise
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
    schedule = stepwise(2e-3, t_max=0.12)
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


def test_the_four_ablations_reduce_their_loss() -> None:
    for trainer in (
        population(COUNTS, LOGISTIC, word2vec_reweighting(negatives=2), dim=3, rate=20.0),
        population(COUNTS, QUARTIC, word2vec_reweighting(negatives=2), dim=3, rate=20.0),
        population(COUNTS, LOGISTIC, setting31(), dim=3, rate=0.02),
        population(COUNTS, QUARTIC, setting31(), dim=3, rate=0.02),
    ):
        trace = train(trainer, trainer.init(0.1), steps=60, record_every=20)
        assert np.all(np.diff(trace.losses) < 0)


def test_only_untied_weights_drift_apart() -> None:
    tied, untied = minibatches(), minibatches(tied=False)
    ends = [train(t, t.init(0.1), steps=5) for t in (tied, untied)]
    np.testing.assert_array_equal(ends[0].vectors, ends[0].context_vectors)
    assert not np.array_equal(ends[1].vectors, ends[1].context_vectors)


def test_a_rate_that_is_too_large_is_named() -> None:
    trainer = population(COUNTS, dim=3, rate=10.0)
    with pytest.raises(ConvergenceError, match="smaller rate"):
        train(trainer, trainer.init(1.0), steps=50, record_every=1)


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
