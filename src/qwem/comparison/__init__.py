"""Comparison: axes and association tests, and how surely a text says what it says."""

from qwem.comparison.association import AssociationTest, relative_norm_distance, sc_weat, weat
from qwem.comparison.axes import Axis, Projection, Projections, axis
from qwem.comparison.estimates import Estimates, Interval
from qwem.comparison.stability import Stability, StableNeighbour, StableNeighbours, stability

__all__ = [
    "AssociationTest",
    "Axis",
    "Estimates",
    "Interval",
    "Projection",
    "Projections",
    "Stability",
    "StableNeighbour",
    "StableNeighbours",
    "axis",
    "relative_norm_distance",
    "sc_weat",
    "stability",
    "weat",
]
