"""word2vec's own loss, minimized from the closed form on, whatever the size of the vocabulary."""

from qwem.polish.polishing import Polished, polish
from qwem.polish.rows import FixedContexts, SolvedRow, solve_row

__all__ = ["FixedContexts", "Polished", "SolvedRow", "polish", "solve_row"]
