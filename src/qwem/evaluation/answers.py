"""Answers to analogy questions by 3CosAdd and 3CosMul.

A set of questions has few distinct words. Their cosines with all candidate words are computed
once, and each question combines three rows of them. This is done in float32, block by block of
candidates, to find the blocks that may contain the best answer. Only those blocks are scored in
float64, so that rounding never decides an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qwem._internal.arrays import blocks, for_each, unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

    Formula = Callable[[NDArray[np.float64], "_Questions"], NDArray[np.float64]]

EPSILON = 1e-3
"""ε of 3CosMul, the value of Levy and Goldberg (2014)."""

# The errors of float32 scores are smaller than these. In 3CosMul the denominator can be as small
# as ε, which multiplies the error of a cosine by a thousand.
_SLACK_SUM, _SLACK_PRODUCT = np.float32(1e-5), np.float32(1e-3)

# How many float32 scores to keep at a time, one for each question and block of candidates.
_MAXIMA = 1 << 22


class Answers(NamedTuple):
    """The rows of the answers to some questions, by either formula; −1 where there is none."""

    by_sum: NDArray[np.int64]
    by_product: NDArray[np.int64]


class _Questions(NamedTuple):
    """Questions (a, b, c), one per row."""

    rows: NDArray[np.int64]
    """The words of each question, as rows of the embedding."""
    places: NDArray[np.int64]
    """The same words, as rows of `units`, the unit vectors of the distinct words."""
    weights: NDArray[np.float64]
    """The lengths of a, b and c in 3CosAdd."""

    def part(self, chosen: slice | NDArray[np.int64]) -> _Questions:
        return _Questions(self.rows[chosen], self.places[chosen], self.weights[chosen])


def answer_questions(
    embedding: Embedding,
    questions: NDArray[np.int64],
    *,
    normalize: bool = True,
) -> Answers:
    """Return the words that are to c as b is to a, for questions (a, b, c).

    3CosAdd answers with the largest ŵ·(ĉ + b̂ − â), or ŵ·(c + b − a) without `normalize`. 3CosMul
    answers with the largest cos′(w, b) cos′(w, c) / (cos′(w, a) + ε), where cos′ = (1 + cos)/2
    (Levy and Goldberg 2014). The words of a question can't answer it, nor can a word whose vector
    is zero. If several words are equally good, the first of them is the answer.

    >>> from qwem.embedding import Embedding
    >>> words = ["man", "woman", "king", "queen"]
    >>> space = Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]])
    >>> answer_questions(space, np.array([[0, 1, 2]]))
    Answers(by_sum=array([3]), by_product=array([3]))
    """
    words, places = np.unique(questions, return_inverse=True)
    units = unit_rows(embedding.vectors[words])
    asked = _Questions(
        questions, places.reshape(questions.shape), _weights(embedding, questions, normalize)
    )
    searched = blocks(len(embedding), len(words))
    answers = Answers(*np.full((2, len(questions)), -1))
    for part in blocks(len(questions), len(searched), most=_MAXIMA):
        some = asked.part(part)
        sums, products = _block_maxima(embedding, units, some, searched)
        likely = sums >= sums.max(axis=0) - _SLACK_SUM
        likely[:, _zero_queries(units, some)] = False
        answers.by_sum[part] = _best_rows(embedding, units, some, searched, likely, _sum)
        best = products.max(axis=0)
        likely = products >= best - _SLACK_PRODUCT * (1 + best.clip(0))
        answers.by_product[part] = _best_rows(embedding, units, some, searched, likely, _product)
    return answers


def _weights(
    embedding: Embedding, questions: NDArray[np.int64], normalize: bool
) -> NDArray[np.float64]:
    """Return the lengths of a, b and c in 3CosAdd, relative to the longest of the three."""
    if normalize:
        return np.ones(questions.shape)
    lengths = embedding.norms[questions]
    longest = lengths.max(axis=1, keepdims=True)
    return np.divide(lengths, longest, out=np.zeros_like(lengths), where=longest > 0)


def _zero_queries(units: NDArray[np.float64], asked: _Questions) -> NDArray[np.bool_]:
    """Return which questions have c + b − a = 0, to which no word is nearest."""
    target = np.zeros((len(asked.rows), units.shape[1]))
    for word, sign in enumerate((-1, 1, 1)):
        target += sign * asked.weights[:, word, None] * units[asked.places[:, word]]
    return np.asarray(~target.any(axis=1))


def _block_maxima(
    embedding: Embedding,
    units: NDArray[np.float64],
    asked: _Questions,
    searched: list[slice],
) -> NDArray[np.float32]:
    """Return the best float32 scores of each block (rows) and question, by 3CosAdd and 3CosMul."""
    from qwem.evaluation.kernels import best_of_block

    maxima = np.empty((2, len(searched), len(asked.rows)), dtype=np.float32)
    left, weights = units.astype(np.float32), asked.weights.astype(np.float32)
    for number, block in enumerate(searched):
        right, penalty = _candidates(embedding, block)
        cosines = left @ right.astype(np.float32).T

        def search(
            part: slice,
            cosines: NDArray[np.float32] = cosines,
            penalty: NDArray[np.float32] = penalty,
            block: slice = block,
            number: int = number,
        ) -> None:
            best_of_block(
                cosines,
                penalty,
                asked.places[part],
                weights[part],
                asked.rows[part] - block.start,
                *maxima[:, number, part],
            )

        for_each(search, blocks(len(asked.rows), most=1 << 12))
    return maxima


def _best_rows(
    embedding: Embedding,
    units: NDArray[np.float64],
    asked: _Questions,
    searched: list[slice],
    likely: NDArray[np.bool_],
    formula: Formula,
) -> NDArray[np.int64]:
    """Return the best row of each question among its likely blocks, with scores in float64."""
    answers = np.full(len(asked.rows), -1)
    best = np.full(len(asked.rows), -np.inf)
    for number, block in enumerate(searched):
        chosen = np.flatnonzero(likely[number])
        if not len(chosen):
            continue
        some = asked.part(chosen)
        words, places = np.unique(some.places, return_inverse=True)
        right, penalty = _candidates(embedding, block)
        local = some._replace(places=places.reshape(some.places.shape))
        # Rounded to twelve digits, so that scores that differ by rounding alone count as equal.
        scores = formula(units[words] @ right.T, local).round(12) + penalty
        question, word = np.nonzero((some.rows >= block.start) & (some.rows < block.stop))
        scores[question, some.rows[question, word] - block.start] = -np.inf
        top = scores.argmax(axis=1)
        score = scores[np.arange(len(top)), top]
        better = score > best[chosen]
        best[chosen[better]] = score[better]
        answers[chosen[better]] = block.start + top[better]
    return answers


def _candidates(
    embedding: Embedding, block: slice
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return a block of unit vectors, and for each 0, or −inf if it is zero and can't answer."""
    penalty = np.where(embedding.norms[block] > 0, 0, -np.inf).astype(np.float32)
    return unit_rows(embedding.vectors[block]), penalty


def _sum(cosines: NDArray[np.float64], asked: _Questions) -> NDArray[np.float64]:
    """Return the scores of 3CosAdd."""
    a, b, c = (asked.weights[:, k, None] * cosines[asked.places[:, k]] for k in range(3))
    return b + c - a


def _product(cosines: NDArray[np.float64], asked: _Questions) -> NDArray[np.float64]:
    """Return the scores of 3CosMul."""
    a, b, c = ((1 + cosines[asked.places[:, k]]) / 2 for k in range(3))
    return b * c / (a + EPSILON)
