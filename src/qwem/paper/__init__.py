"""The paper's tables and figures, from text to page."""

from qwem.paper.reproduction import reproduce
from qwem.paper.runs import SCALES

__all__ = [
    "SCALES",
    "reproduce",
]
