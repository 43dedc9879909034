"""Comparison: what texts say about words, how surely, and how they differ."""

from qwem.comparison.association import (
    relative_norm_distance,
    sc_weat,
    weat,
)
from qwem.comparison.axes import Axis, axis
from qwem.comparison.changes import CorpusComparison, ModelDiff, diff_models
from qwem.comparison.corpora import compare_corpora
from qwem.comparison.regression import ContextRegression, context_regression
from qwem.comparison.stability import Stability, stability

__all__ = [
    "Axis",
    "ContextRegression",
    "CorpusComparison",
    "ModelDiff",
    "Stability",
    "axis",
    "compare_corpora",
    "context_regression",
    "diff_models",
    "relative_norm_distance",
    "sc_weat",
    "stability",
    "weat",
]
