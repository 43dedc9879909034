"""The default step: half of what is stable, whatever the loss and the weighting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem import Cooccurrence, mstar
from qwem.errors import ConvergenceError
from qwem.target import setting31
from qwem.training import LOGISTIC, QUARTIC, population, stable_rate, train, word2vec_reweighting


def counts_of(size: int = 12, seed: int = 0) -> Cooccurrence:
    square = np.random.default_rng(seed).integers(0, 20, (size, size))
    return Cooccurrence.from_matrix([f"w{i}" for i in range(size)], square + square.T)


def test_it_is_half_the_inverse_of_the_largest_eigenvalue() -> None:
    counts = counts_of()
    values = np.linalg.eigvalsh(mstar(counts, dtype=np.float64).toarray())
    assert 0.5 / stable_rate(counts) == pytest.approx(np.abs(values).max(), rel=1e-2)


@pytest.mark.parametrize(
    ("loss", "weighting", "tied"),
    [
        (QUARTIC, setting31(), True),
        (QUARTIC, word2vec_reweighting(), False),
        (LOGISTIC, setting31(), False),
        (LOGISTIC, word2vec_reweighting(), True),
    ],
)
def test_steps_of_it_go_down_all_the_way(loss: Any, weighting: Any, tied: bool) -> None:
    counts = counts_of()
    rate = stable_rate(counts, loss, weighting, tied=tied)
    trainer = population(counts, loss, weighting, dim=3, rate=rate, tied=tied, dtype=np.float64)
    trace = train(trainer, trainer.init(0.1), steps=150, record_every=1)
    assert np.all(np.diff(trace.losses) <= 1e-12 * np.abs(trace.losses).max())
    assert trace.losses[-1] < trace.losses[0]


def test_far_larger_steps_diverge() -> None:
    """So that the bound means something."""
    counts = counts_of()
    trainer = population(counts, dim=3, rate=10 * stable_rate(counts))
    with pytest.raises(ConvergenceError, match="smaller rate"):
        train(trainer, trainer.init(0.1), steps=300, record_every=1)
