"""A model as one self-contained page: what it read, learned, and knows, to be opened and shown."""

from qwem.report.writing import write_report

__all__ = ["write_report"]
