"""Comparison: axes and association tests, and how surely a text says what it says."""

from qwem.comparison.association import AssociationTest, relative_norm_distance, sc_weat, weat
from qwem.comparison.axes import Axis, Projection, Projections, axis

__all__ = [
    "AssociationTest",
    "Axis",
    "Projection",
    "Projections",
    "axis",
    "relative_norm_distance",
    "sc_weat",
    "weat",
]
