"""word2vec's own loss, minimized from the closed form on, whatever the size of the vocabulary."""

from qwem.polish.loss import RowProblem
from qwem.polish.polishing import Polished, polish
from qwem.polish.rows import FixedContexts, SolvedRow, solve_row
from qwem.polish.sweep import BLOCK_ROWS, Steps, cached_rows, row_cuts, step_rows
from qwem.polish.words import solve_words

__all__ = [
    "BLOCK_ROWS",
    "FixedContexts",
    "Polished",
    "RowProblem",
    "SolvedRow",
    "Steps",
    "cached_rows",
    "polish",
    "row_cuts",
    "solve_row",
    "solve_words",
    "step_rows",
]
