"""word2vec's own loss, minimized from the closed form on, whatever the size of the vocabulary."""

from qwem.polish.polished import Polished
from qwem.polish.polishing import polish

__all__ = ["Polished", "polish"]
