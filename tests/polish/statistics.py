"""Counts to polish in the tests, and word2vec's loss on them by its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qwem import Cooccurrence, factorize, mstar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem import Spectrum

    Array = NDArray[np.float64]

SIZE, DIM = 90, 6


def some_counts(size: int = SIZE, seed: int = 0, length: float = 1.0) -> Cooccurrence:
    """Counts of words in three topics, from frequent to rare, in a text of this relative length."""
    rng = np.random.default_rng(seed)
    frequency = 2000 / (np.arange(size) + 2)
    topic = np.arange(size) % 3
    rate = np.outer(frequency, frequency) * length / 3000 * (1 + 3 * (topic[:, None] == topic))
    upper = np.triu(rng.poisson(rate))
    words = [f"w{i:03}" for i in range(size)]
    return Cooccurrence.from_matrix(words, upper + np.triu(upper, 1).T, frequency.astype(int) + 5)


def some_contexts(
    kinds: int, size: int = SIZE, seed: int = 0, length: float = 1.0
) -> tuple[NDArray[np.int64], Cooccurrence]:
    """Words × contexts of which each word gives several, unequally often, and word counts.

    Words differ in their neighbours on either side, so that the contexts of a word do too.
    """
    rng = np.random.default_rng(seed)
    frequency = 2000 / (np.arange(size) + 2)
    topic = np.arange(size) % 3
    rate = np.outer(frequency, frequency) * length / 3000
    slots = [
        rng.poisson(rate / (kind + 1) * (1 + 3 * (topic[:, None] == (topic + kind) % 3)))
        for kind in range(kinds)
    ]
    return np.stack(slots, axis=2).reshape(size, -1), some_counts(size)


def some_passages(
    passages: int, size: int = SIZE, seed: int = 0, length: float = 1.0
) -> NDArray[np.int64]:
    """Words × passages, which differ in topic and length."""
    rng = np.random.default_rng(seed)
    topic = np.arange(size) % 3
    about = np.arange(passages) % 3
    rate = np.outer(2000 / (np.arange(size) + 2), (np.arange(passages) % 5 + 1) * length / 300)
    return 2 * rng.poisson(rate * (1 + 3 * (topic[:, None] == about)))


def closed_form(counts: Cooccurrence, dim: int = DIM, signed: bool = True) -> Spectrum:
    return factorize(mstar(counts, shrinkage=2.0), dim, signed=signed)


def random_sides(
    seed: int, scale: float = 0.7, size: int = SIZE, kinds: int = 1, passages: int = 0
) -> list[NDArray[np.float32]]:
    """Vectors of words, and of so many contexts for each, and of passages."""
    rng = np.random.default_rng(seed)
    return [
        (scale * rng.standard_normal((rows, DIM))).astype(np.float32)
        for rows in (size, kinds * size + passages)
    ]


class Weights(NamedTuple):
    """C, N and the logits of independence of every pair, and the pairs of evidence of each."""

    positive: Array
    negative: Array
    bias: Array
    evidence: Array


def dense_weights(
    counts: Cooccurrence,
    negatives: float = 5.0,
    exponent: float = 0.75,
    evidence: float = 0.0,
    coupling: Array | None = None,
    matrix: NDArray[np.int64] | None = None,
    passages: int = 0,
) -> Weights:
    """The weights of the loss by their definitions, of all words × contexts.

    `matrix` has the counts of words with contexts, by default those of the words with each other.
    Its last columns are of passages, if there are any.
    """
    positive = counts.symmetric.toarray() if matrix is None else matrix
    positive = positive.astype(np.float64)
    words = counts.word_counts.astype(np.float64)
    contexts = positive.shape[1] - passages
    kinds = contexts // len(words)
    of_words, of_passages = positive[:, :contexts], positive[:, contexts:]
    share = np.array([of_words[:, kind::kinds].sum() for kind in range(kinds)]) / positive.sum()
    noise = np.array([n**exponent * part for n in words for part in share])
    noise /= np.sum(words**exponent)
    powers: Array = of_passages.sum(axis=0) ** exponent
    share_of_passages = float(of_passages.sum() / positive.sum())
    noise = np.append(noise, powers / powers.sum() * share_of_passages)
    column = positive.sum(axis=0) / positive.sum()
    bias = np.log(column / (negatives * noise))
    negative = negatives * np.outer(positive.sum(axis=1), noise)
    added = negatives * np.outer(np.ones(len(words)), noise) * evidence
    added *= positive.sum() / words.sum()
    coupling = np.ones(len(words)) if coupling is None else coupling
    mean = coupling.repeat(kinds) @ of_words.sum(axis=0) / of_words.sum()
    of_contexts = np.append(coupling.repeat(kinds), np.full(passages, mean))
    both: Array = np.outer(coupling, of_contexts)
    both /= (coupling @ positive.sum(axis=1)) * (of_contexts @ column)
    return Weights(positive * both, negative * both, bias, added * both)


def exact_loss(products: Array, weights: Weights) -> float:
    """word2vec's loss over all pairs, less that of independent words."""
    logits = products + weights.bias

    def total(x: Array) -> float:
        pairs = weights.positive * np.logaddexp(0, -x) + weights.negative * np.logaddexp(0, x)
        return float(pairs.sum())

    return total(logits) - total(np.broadcast_to(weights.bias, logits.shape))


def parabolic_loss(products: Array, weights: Weights, expected: Array | float = 0.0) -> float:
    """The same with pairs that were never seen, and the evidence, by their parabolas.

    Evidence has its minimum where the products are `expected`.
    """
    logits = products + weights.bias
    slope = 1 / (1 + np.exp(-weights.bias))
    curvature = slope * (1 - slope)
    seen = weights.positive > 0
    exact = (weights.positive + weights.negative) * (
        np.logaddexp(0, logits) - np.logaddexp(0, weights.bias)
    ) - weights.positive * products
    parabola = weights.negative * (slope * products + curvature * products**2 / 2)
    evidence = weights.evidence * curvature * (products - expected) ** 2 / 2
    return float(np.where(seen, exact, parabola).sum() + evidence.sum())
