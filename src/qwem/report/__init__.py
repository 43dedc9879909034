"""A report on a model: one self-contained HTML page, and what other pages are made of."""

from qwem.report.assets import asset, join_modules
from qwem.report.compact import quantized
from qwem.report.results import read_results
from qwem.report.summary import headline_numbers, story
from qwem.report.writing import write_report

__all__ = [
    "asset",
    "headline_numbers",
    "join_modules",
    "quantized",
    "read_results",
    "story",
    "write_report",
]
