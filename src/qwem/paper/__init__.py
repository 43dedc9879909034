"""The paper's tables and figures, from text to page."""

from qwem.paper.reproduction import Reproduction, reproduce
from qwem.paper.scale import SCALES

__all__ = [
    "SCALES",
    "Reproduction",
    "reproduce",
]
