"""Compiled search for the best answers to analogy questions."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import njit

# The compiler may reorder comparisons and fuse products; sums have a fixed order.
_MATH = {"nnan", "nsz", "contract"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_MATH)
def best_of_block(
    cosines: Any,
    penalty: Any,
    questions: Any,
    weights: Any,
    excluded: Any,
    best_sum: Any,
    best_product: Any,
) -> None:
    """Write the best score of each question over one block of candidate words.

    Parameters
    ----------
    cosines
        The cosine of each word that occurs in a question (rows) with each candidate (columns).
    penalty
        For each candidate, 0, or −inf if it can't be an answer.
    questions
        For each question (a, b, c), the rows of its words in `cosines`.
    weights
        For each question, the weights of a, b and c in 3CosAdd.
    excluded
        For each question, three columns that may not answer it; numbers outside the block are
        ignored.
    best_sum, best_product
        The results: the largest score by 3CosAdd and by 3CosMul.
    """
    width = cosines.shape[1]
    sums = np.empty(width, np.float32)
    products = np.empty(width, np.float32)
    one, half, epsilon = np.float32(1), np.float32(0.5), np.float32(2e-3)
    for q in range(len(questions)):
        a = cosines[questions[q, 0]]
        b = cosines[questions[q, 1]]
        c = cosines[questions[q, 2]]
        u, v, w = weights[q]
        for j in range(width):
            sums[j] = v * b[j] + w * c[j] - u * a[j] + penalty[j]
            products[j] = (one + b[j]) * (one + c[j]) * half / (one + a[j] + epsilon) + penalty[j]
        for k in range(3):
            place = excluded[q, k]
            if 0 <= place < width:
                sums[place] = -np.inf
                products[place] = -np.inf
        top_sum = top_product = np.float32(-np.inf)
        for j in range(width):
            top_sum = max(top_sum, sums[j])
            top_product = max(top_product, products[j])
        best_sum[q] = top_sum
        best_product[q] = top_product
