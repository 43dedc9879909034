"""A report on a model: one self-contained HTML page."""

from qwem.report.writing import write_report

__all__ = ["write_report"]
