"""Runs from many seeds at once, against one run after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem.dynamics import closed_form
from qwem.errors import ConvergenceError, SettingError
from qwem.spectrum import factorize
from qwem.target import mstar
from qwem.training import LOGISTIC, QUARTIC, population, stochastic, train, word2vec_reweighting
from qwem.training.run import train_seeds
from qwem.training.schedule import stepwise
from training.cases import CORPUS, COUNTS


@pytest.mark.parametrize(
    ("loss", "tied"), [(QUARTIC, True), (LOGISTIC, False)], ids=["quartic-tied", "logistic-untied"]
)
def test_each_run_is_the_one_of_its_seed(loss: Any, tied: bool) -> None:
    rate = stepwise(0.02 if loss is QUARTIC else 0.04, max_steps=40)
    method: Any = "rk4" if tied else "sgd"
    trainer = population(COUNTS, loss, dim=3, rate=rate, method=method, tied=tied, dtype=np.float64)
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


def test_wrong_input_is_refused() -> None:
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


def test_word2vecs_weights_run_too() -> None:
    trainer = population(COUNTS, LOGISTIC, word2vec_reweighting(), dim=2, rate=5.0)
    found = train_seeds(trainer, 0.1, [0, 1], steps=20, record_every=10)
    assert all(np.all(np.diff(run.losses) < 0) for run in found)
