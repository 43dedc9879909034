"""Schedules of the learning rate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Literal

from qwem.errors import SettingError


@dataclass(frozen=True)
class Schedule(ABC):
    """Learning rate as a function of the step and of the paper's time."""

    rate: float

    def __post_init__(self) -> None:
        for name in ("rate", "factor", "steps"):
            if not 0 < getattr(self, name, 1) < math.inf:
                raise SettingError(
                    f"The {name} of a schedule must be positive, not {getattr(self, name)}."
                )

    @property
    def settings(self) -> dict[str, Any]:
        """The schedule as plain data; JSON has no infinity."""
        return {
            name: str(value) if value == math.inf else value for name, value in asdict(self).items()
        }

    @abstractmethod
    def __call__(self, step: int, time: float) -> float:
        """Return the rate of step number `step`, which starts at `time`."""


@dataclass(frozen=True)
class Stepwise(Schedule):
    """Rate η up to `drop_at`, and η times `factor` from then on; see `stepwise`.

    >>> schedule = stepwise(0.1, t_max=2.0)
    >>> schedule(step=70, time=1.4), round(schedule(step=80, time=1.6), 12)
    (0.1, 0.01)
    """

    drop_at: float = math.inf
    factor: float = 1.0
    unit: Literal["time", "steps"] = "time"
    """The unit of `drop_at`: the paper's time t, or the number of steps."""

    def __call__(self, step: int, time: float) -> float:
        """Return the rate of step number `step`, which starts at `time`."""
        now = time if self.unit == "time" else step
        return self.rate if now < self.drop_at else self.rate * self.factor


@dataclass(frozen=True)
class Linear(Schedule):
    """Rate that falls linearly from η to zero over a number of steps, as in word2vec.

    word2vec.c keeps the rate at or above η/10,000, and so does this.

    >>> [Linear(1.0, steps=4)(step, time=0.0) for step in (0, 1, 4)]
    [1.0, 0.75, 0.0001]
    """

    steps: int

    def __call__(self, step: int, time: float) -> float:
        """Return the rate of step number `step`."""
        return self.rate * max(1 - step / self.steps, 1e-4)


def stepwise(
    rate: float,
    t_max: float | None = None,
    *,
    max_steps: int | None = None,
    at: float = 0.75,
    drop: float = 0.9,
) -> Stepwise:
    """Return the paper's schedule: the rate falls by 90 % at three quarters of the run.

    The paper puts the drop at t = 0.75 `t_max`, in its time t. The authors' code puts it at 0.75
    `max_steps`. Give one of them. With `t_max`, the last quarter of the time takes ten times as
    many steps: a run planned for 4,000 steps takes 13,000. With `max_steps`, it takes 4,000 steps
    and ends at 77.5 % of the planned time.

    >>> stepwise(1.0, max_steps=100)(step=75, time=0.0)
    0.1
    """
    if (t_max is None) == (max_steps is None):
        raise SettingError("Give either t_max, a time, or max_steps.")
    if not 0 <= drop < 1:
        raise SettingError(f"drop must be at least 0 and below 1, not {drop}.")
    factor = round(1 - drop, 12)
    if max_steps is not None:
        return Stepwise(rate, at * max_steps, factor, "steps")
    return Stepwise(rate, at * (t_max or 0.0), factor)
