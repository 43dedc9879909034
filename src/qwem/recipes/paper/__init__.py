"""The paper's tables and figures, from text to page."""

from qwem.recipes.paper.reproducing import Reproduction, reproduce
from qwem.recipes.paper.settings import SCALES, Scale, Size
from qwem.recipes.paper.table import RECIPES

__all__ = ["RECIPES", "SCALES", "Reproduction", "Scale", "Size", "reproduce"]
