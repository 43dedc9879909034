"""Comparison: what texts say about words, how surely, and how they differ."""

from qwem.comparison.association import (
    AssociationTest,
    AssociationTests,
    relative_norm_distance,
    sc_weat,
    weat,
)
from qwem.comparison.axes import Axis, Projection, Projections, axis
from qwem.comparison.contexts import context_transform
from qwem.comparison.corpora import (
    AxisPath,
    CorpusComparison,
    ThenAndNow,
    WordChange,
    compare_corpora,
)
from qwem.comparison.estimates import Estimates, Interval
from qwem.comparison.moved import Moved, MovedFeature, MovedWord, what_moved
from qwem.comparison.regression import Coefficient, ContextRegression, context_regression
from qwem.comparison.stability import Stability, StableNeighbour, StableNeighbours, stability

__all__ = [
    "AssociationTest",
    "AssociationTests",
    "Axis",
    "AxisPath",
    "Coefficient",
    "ContextRegression",
    "CorpusComparison",
    "Estimates",
    "Interval",
    "Moved",
    "MovedFeature",
    "MovedWord",
    "Projection",
    "Projections",
    "Stability",
    "StableNeighbour",
    "StableNeighbours",
    "ThenAndNow",
    "WordChange",
    "axis",
    "compare_corpora",
    "context_regression",
    "context_transform",
    "relative_norm_distance",
    "sc_weat",
    "stability",
    "weat",
    "what_moved",
]
