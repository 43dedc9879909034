"""word2vec's own loss, minimized from the closed form on, whatever the size of the vocabulary."""

from qwem.polish.polishing import Polished, polish

__all__ = ["Polished", "polish"]
