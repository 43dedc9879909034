"""Figures of the paper and of comparisons: results in, a Matplotlib figure out."""

from qwem.figures.ablation import ablation
from qwem.figures.comparison import coefficient_plot, interval_plot, path_plot
from qwem.figures.feature_overlaps import feature_overlaps
from qwem.figures.linear_structure import analogy_geometry, linear_structure
from qwem.figures.look import save_figure, write_figure
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
    "coefficient_plot",
    "feature_neighbours",
    "feature_overlaps",
    "interval_plot",
    "linear_structure",
    "moments",
    "overview",
    "path_plot",
    "save_figure",
    "silent_alignment",
    "theory_match",
    "write_figure",
]
