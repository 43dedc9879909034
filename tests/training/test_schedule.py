"""Schedules: the paper's drop of the rate in either reading, and word2vec's linear decay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qwem.errors import SettingError
from qwem.training import population, train
from qwem.training.schedule import Linear, Stepwise, stepwise
from target.count_matrices import random_counts

COUNTS = random_counts(12, density=0.6)
RATE, PLANNED = 1e-3, 400


def rates(schedule: Any, **end: Any) -> Any:
    trainer = population(COUNTS, dim=2, rate=schedule, dtype=np.float64)
    trace = train(trainer, trainer.init(0.1), record_every=1, **end)
    return np.diff(trace.times) / trainer.time_per_rate


def test_a_drop_in_time_takes_more_steps_and_a_drop_in_steps_less_time() -> None:
    """Three quarters of 400 steps are 300; the last quarter takes 1,000 steps of a tenth."""
    t_max = PLANNED * 2 * RATE
    in_time = rates(stepwise(RATE, t_max), until=t_max)
    np.testing.assert_allclose(in_time[:300], RATE)
    np.testing.assert_allclose(in_time[301:], RATE / 10)
    assert len(in_time) == pytest.approx(1_300, abs=11)  # rounding may put the drop one step later

    in_steps = rates(stepwise(RATE, max_steps=PLANNED), steps=PLANNED)
    np.testing.assert_allclose(in_steps, [RATE] * 300 + [RATE / 10] * 100)
    assert in_steps.sum() == pytest.approx(0.775 * PLANNED * RATE)


def test_a_linear_rate_falls_to_zero() -> None:
    found = rates(Linear(RATE, steps=PLANNED), steps=PLANNED)
    np.testing.assert_allclose(found, RATE * (1 - np.arange(PLANNED) / PLANNED), rtol=1e-6)
    assert Linear(RATE, steps=PLANNED)(2 * PLANNED, 0.0) == pytest.approx(1e-4 * RATE)


def test_wrong_schedules_are_refused() -> None:
    wrong: list[Any] = [
        lambda: stepwise(0.1),
        lambda: stepwise(0.1, 1.0, max_steps=10),
        lambda: stepwise(0.1, 1.0, drop=1.0),
        lambda: Stepwise(0.0),
        lambda: Linear(-1.0, 10),
        lambda: Linear(1.0, 0),
    ]
    for make in wrong:
        with pytest.raises(SettingError):
            make()
