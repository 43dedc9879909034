"""Polishing: minimize word2vec's own loss, starting from the closed form, for any vocabulary."""

from qwem.polish.polished import Polished
from qwem.polish.polishing import polish

__all__ = ["Polished", "polish"]
