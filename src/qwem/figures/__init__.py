"""The paper's figures: functions that take results and return a Matplotlib figure."""

from qwem.figures.ablation import ablation
from qwem.figures.feature_overlaps import feature_overlaps
from qwem.figures.linear_structure import analogy_geometry, linear_structure
from qwem.figures.look import save_figure
from qwem.figures.overview import moments, overview
from qwem.figures.silent_alignment import silent_alignment
from qwem.figures.tables import benchmark_table, feature_neighbours
from qwem.figures.task_spectra import categories
from qwem.figures.theory_match import Start, theory_match

__all__ = [
    "Start",
    "ablation",
    "analogy_geometry",
    "benchmark_table",
    "categories",
    "feature_neighbours",
    "feature_overlaps",
    "linear_structure",
    "moments",
    "overview",
    "save_figure",
    "silent_alignment",
    "theory_match",
]
