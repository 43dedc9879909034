"""The theory of training: its whole course in closed form, and what that rests on."""

from qwem.dynamics.closed_form import ClosedFormDynamics, closed_form
from qwem.dynamics.flow import exact_flow
from qwem.dynamics.initial import Initial
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

__all__ = [
    "ClosedFormDynamics",
    "Initial",
    "Peak",
    "closed_form",
    "exact_flow",
    "largest_init_scale",
    "log_scale_bounds",
    "off_diagonal",
    "off_diagonal_peak",
    "requiv_distance",
    "satisfied_pairs",
    "triangular_factor",
    "triangular_velocity",
]
