"""Theory of training: gradient flow in closed form, its conditions and its corrections."""

from qwem.dynamics.closed_form import ClosedFormDynamics, closed_form
from qwem.dynamics.flow import exact_flow
from qwem.dynamics.initial import Initial, ScaleOf, entry_scale
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
    "ScaleOf",
    "closed_form",
    "entry_scale",
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
