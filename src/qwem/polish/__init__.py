"""word2vec's own loss, minimised from the closed form on."""

from qwem.polish.polishing import Polished, polish

__all__ = ["Polished", "polish"]
