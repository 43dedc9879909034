"""Comparison: what texts say about words, how surely, and how they differ."""

from qwem.comparison.association import (
    AssociationTest,
    AssociationTests,
    relative_norm_distance,
    sc_weat,
    weat,
)
from qwem.comparison.axes import Axis, Projection, Projections, axis
from qwem.comparison.changes import (
    AxisPath,
    CorpusComparison,
    CorpusNeighbours,
    WordChange,
)
from qwem.comparison.contexts import context_transform
from qwem.comparison.corpora import compare_corpora
from qwem.comparison.estimates import Estimates, Interval
from qwem.comparison.model_diff import FeatureMatch, ModelDiff, WordMove, diff_models
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
    "CorpusNeighbours",
    "Estimates",
    "FeatureMatch",
    "Interval",
    "ModelDiff",
    "Projection",
    "Projections",
    "Stability",
    "StableNeighbour",
    "StableNeighbours",
    "WordChange",
    "WordMove",
    "axis",
    "compare_corpora",
    "context_regression",
    "context_transform",
    "diff_models",
    "relative_norm_distance",
    "sc_weat",
    "stability",
    "weat",
]
