"""The paper's tables and figures, from text to page."""

from qwem.paper.reproduction import RECIPES, Reproduction, reproduce
from qwem.paper.scale import SCALES, Scale, Size

__all__ = ["RECIPES", "SCALES", "Reproduction", "Scale", "Size", "reproduce"]
