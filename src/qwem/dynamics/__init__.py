"""Theory of training: gradient flow in closed form, its conditions and its corrections."""

from qwem.dynamics.closed_form import ClosedFormDynamics, closed_form, entry_scale
from qwem.dynamics.flow import descent_values, edge_of_stability, exact_flow, learning_steps
from qwem.dynamics.mixing import effective_target, mode_mixing, rank_one_part, weighted_modes
from qwem.dynamics.modes import log_scale_bounds, off_diagonal_peak

__all__ = [
    "ClosedFormDynamics",
    "closed_form",
    "descent_values",
    "edge_of_stability",
    "effective_target",
    "entry_scale",
    "exact_flow",
    "learning_steps",
    "log_scale_bounds",
    "mode_mixing",
    "off_diagonal_peak",
    "rank_one_part",
    "weighted_modes",
]
