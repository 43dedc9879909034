"""Training: its whole course in closed form, what that rests on, and training for real."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from qwem.dynamics.closed_form import ClosedFormDynamics, closed_form
from qwem.dynamics.flow import exact_flow
from qwem.dynamics.initial import Initial
from qwem.dynamics.polish import Polished, polish
from qwem.dynamics.procrustes import requiv_distance
from qwem.dynamics.vanishing import (
    Peak,
    largest_init_scale,
    log_scale_bounds,
    off_diagonal,
    off_diagonal_peak,
    satisfied_pairs,
    triangular_factor,
    triangular_velocity,
)

if TYPE_CHECKING:
    from qwem.dynamics.training import (
        LOGISTIC,
        QUARTIC,
        Info,
        Loss,
        Optimizer,
        State,
        Stepwise,
        Trace,
        Trainer,
        contrastive,
        population,
        stable_rate,
        stepwise,
        stochastic,
        train,
        word2vec_weighting,
    )

__all__ = [
    "LOGISTIC",
    "QUARTIC",
    "ClosedFormDynamics",
    "Info",
    "Initial",
    "Loss",
    "Optimizer",
    "Peak",
    "Polished",
    "State",
    "Stepwise",
    "Trace",
    "Trainer",
    "closed_form",
    "contrastive",
    "exact_flow",
    "largest_init_scale",
    "log_scale_bounds",
    "off_diagonal",
    "off_diagonal_peak",
    "polish",
    "population",
    "requiv_distance",
    "satisfied_pairs",
    "stable_rate",
    "stepwise",
    "stochastic",
    "train",
    "triangular_factor",
    "triangular_velocity",
    "word2vec_weighting",
]


def __getattr__(name: str) -> Any:
    """Import a trainer's name the first time it is used, and JAX with it (PEP 562)."""
    if name in __all__:
        return getattr(importlib.import_module("qwem.dynamics.training"), name)
    raise AttributeError(f"module 'qwem.dynamics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
