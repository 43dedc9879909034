"""Schedules of the learning rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qwem.errors import SettingError


@dataclass(frozen=True)
class Stepwise:
    """The rate η until time `drop_at`, and η times `factor` from then on.

    >>> schedule = stepwise(0.1, t_max=2.0)
    >>> schedule(1.4), round(schedule(1.6), 12)
    (0.1, 0.01)
    """

    rate: float
    drop_at: float = math.inf
    factor: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("rate", self.rate), ("factor", self.factor)):
            if not (math.isfinite(value) and value > 0):
                raise SettingError(f"The {name} of a schedule must be positive, not {value}.")

    def __call__(self, time: float) -> float:
        """Return the rate of the step that starts at `time`."""
        return self.rate if time < self.drop_at else self.rate * self.factor


def stepwise(rate: float, t_max: float, *, at: float = 0.75, drop: float = 0.9) -> Stepwise:
    """Return the paper's schedule: the base rate falls by 90 % at 0.75 t_max."""
    if not 0 <= drop < 1:
        raise SettingError(f"drop must be at least 0 and below 1, not {drop}.")
    return Stepwise(rate, at * t_max, 1 - drop)
