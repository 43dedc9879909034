"""word2vec's own loss, minimized from the closed form on, whatever the size of the vocabulary."""

from qwem.polish.contexts import Contexts
from qwem.polish.polished import Polished, Start
from qwem.polish.polishing import polish
from qwem.polish.rows import solve_row

__all__ = ["Contexts", "Polished", "Start", "polish", "solve_row"]
