"""Compiled search for the best answers to analogy questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import njit

# The compiler may reorder comparisons and fuse products; sums have a fixed order.
_MATH = {"nnan", "nsz", "contract"}

_TIE = 1e-12
"""Scores that differ by rounding alone count as equal."""


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_MATH)
def best_of_block(
    cosines: Any,
    penalty: Any,
    start: int,
    questions: Any,
    places: Any,
    weights: Any,
    epsilon: float,
    best: Any,
    answers: Any,
) -> None:
    """Replace the answers to questions for which a block of words has a better one.

    Parameters
    ----------
    cosines
        The cosine of each word that occurs in a question (rows) with each word of the block.
    penalty
        For each word of the block, 0, or −inf if it can't be an answer.
    start
        The row in the embedding of the first word of the block.
    questions, places
        The words a, b and c of each question: their rows in the embedding and in `cosines`.
    weights
        The weights of a, b and c in 3CosAdd.
    epsilon
        ε of 3CosMul.
    best, answers
        The results so far, for 3CosAdd and for 3CosMul: the best score and its row.
    """
    width = cosines.shape[1]
    scores = np.empty((2, width))
    for q in range(len(questions)):
        a = cosines[places[q, 0]]
        b = cosines[places[q, 1]]
        c = cosines[places[q, 2]]
        u, v, w = weights[q]
        for j in range(width):
            scores[0, j] = v * b[j] + w * c[j] - u * a[j] + penalty[j]
            product = (1 + b[j]) * (1 + c[j]) / 2 / (1 + a[j] + 2 * epsilon)
            scores[1, j] = product + penalty[j]
        for word in questions[q]:
            if 0 <= word - start < width:
                scores[:, word - start] = -np.inf
        for formula in range(2):
            top = -np.inf
            for j in range(width):
                top = max(top, scores[formula, j])
            if top > best[formula, q] + _TIE:
                best[formula, q] = top
                j = 0
                while scores[formula, j] < top - _TIE:
                    j += 1
                answers[formula, q] = start + j
