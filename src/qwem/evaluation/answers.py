"""Answers to analogy questions by 3CosAdd and 3CosMul.

A set of questions has few distinct words. Their cosines with a block of candidates are computed
together, and each question combines three rows of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.arrays import blocks, for_each, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.embedding import Embedding

EPSILON = 1e-3
"""ε of 3CosMul, the value of Levy and Goldberg (2014)."""


def answer_questions(
    embedding: Embedding,
    questions: NDArray[np.int64],
    *,
    normalize: bool = True,
) -> NDArray[np.int64]:
    """Return the words that are to c as b is to a, for questions (a, b, c).

    They are two lines of row numbers, by 3CosAdd and by 3CosMul; −1 where there is no answer.

    3CosAdd answers with the largest ŵ·(ĉ + b̂ − â), or ŵ·(c + b − a) without `normalize`. 3CosMul
    answers with the largest cos′(w, b) cos′(w, c) / (cos′(w, a) + ε), where cos′ = (1 + cos)/2
    (Levy and Goldberg 2014). The words of a question can't answer it, nor can a word whose vector
    is zero. If several words are equally good, the first of them is the answer.

    >>> from qwem.embedding import Embedding
    >>> words = ["man", "woman", "king", "queen"]
    >>> space = Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]])
    >>> answer_questions(space, np.array([[0, 1, 2]]))
    array([[3],
           [3]])
    """
    from qwem.evaluation.kernels import best_of_block

    words, places = np.unique(questions, return_inverse=True)
    places = places.reshape(questions.shape)
    units = unit_rows(embedding.vectors[words])
    weights = np.ones(questions.shape)
    if not normalize:  # lengths relative to the longest of the three
        lengths = embedding.norms[questions]
        longest = lengths.max(axis=1, keepdims=True)
        weights = np.divide(lengths, longest, out=np.zeros_like(lengths), where=longest > 0)
    best, answers = np.full((2, len(questions)), -np.inf), np.full((2, len(questions)), -1)
    parts = blocks(len(questions), most=1 << 12)
    for block in blocks(len(embedding), len(words)):
        cosines = units @ unit_rows(embedding.vectors[block]).T
        penalty = np.where(embedding.norms[block] > 0, 0, -np.inf)

        def search(
            part: slice,
            start: int = block.start,
            cosines: NDArray[np.float64] = cosines,
            penalty: NDArray[np.float64] = penalty,
        ) -> None:
            asked = questions[part], places[part], weights[part], EPSILON
            best_of_block(cosines, penalty, start, *asked, best[:, part], answers[:, part])

        for_each(search, parts)
    target = np.zeros((len(questions), units.shape[1]))
    for word, sign in enumerate((-1, 1, 1)):
        target += sign * weights[:, word, None] * units[places[:, word]]
    answers[0, ~target.any(axis=1)] = -1  # no word is nearest to zero
    return answers
