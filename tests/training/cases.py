"""Small texts, and the loss of the paper written out in NumPy: what trainers are held to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.target import negative_sampling, rank_one, setting31, subsampling
from qwem.target.reweighting import unweighted
from qwem.training import LOGISTIC, QUARTIC, contrastive, word2vec_reweighting
from qwem.training.pairs import PairSampler
from qwem.training.weighting import pair_weights
from target.count_matrices import probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.target import Reweighting
    from qwem.training.losses import Loss

    Array = NDArray[np.float64]

EXPONENTIAL = contrastive(lambda x: 2 * math.e ** (-x / 2), lambda x: math.e**x, "exponential")
"""A loss whose sides differ in curvature."""

LOSSES = {"logistic": LOGISTIC, "quartic": QUARTIC, "exponential": EXPONENTIAL}


def weightings(size: int) -> dict[str, Reweighting]:
    return {
        "none": unweighted(),
        "setting31": setting31(),
        "word2vec": word2vec_reweighting(subsample=0.02),
        "arithmetic": negative_sampling(symmetrize="arithmetic"),
        "setting31-negatives": setting31() * negative_sampling(negatives=2),
        "setting31-asymmetric": setting31() * negative_sampling(0.75, 2, None),
        "setting31-subsampled": setting31() * subsampling(0.02),
        "rank-one": rank_one(np.linspace(1, 2, size)),
        "setting31-rank-one": setting31() * rank_one(np.linspace(1, 2, size)),
    }


def cases(size: int) -> list[tuple[str, str]]:
    """Losses with weightings: each weighting for the most general loss, and what others branch on.

    A loss meets a weighting in two places: in the curvature of Setting 3.1, and, for the quartic
    loss, in products with M*.
    """
    special = {
        "quartic": [name for name in weightings(size) if name.startswith("setting31")],
        "logistic": ["setting31", "word2vec"],
        "exponential": list(weightings(size)),
    }
    return [(loss, name) for loss, names in special.items() for name in names]


def topical_text(
    words: int = 40, topics: int = 5, documents: int = 60, length: int = 80, seed: int = 0
) -> Corpus:
    """Documents that prefer the words of one topic; frequent words have low numbers."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, words + 1) ** 0.7
    topic_of = np.arange(words) % topics
    texts = []
    for d in range(documents):
        weight = frequency * np.where(topic_of == d % topics, 4 + 2 * (d % topics), 1)
        drawn = rng.choice(words, size=length, p=weight / weight.sum())
        texts.append([f"w{i}" for i in drawn])
    return Corpus.from_documents(texts)


CORPUS = topical_text(words=25, documents=30)
COUNTS = Cooccurrence.count(CORPUS, 3)
SIZE = len(COUNTS.vocabulary)


def sampler(reweighting: Reweighting | None = None, **settings: Any) -> PairSampler:
    """Sampler of pairs of `CORPUS`."""
    weighed = pair_weights(COUNTS, unweighted() if reweighting is None else reweighting, QUARTIC)
    return PairSampler(CORPUS, COUNTS, weighed, **{"batch_size": 20_000, **settings})


def sides(loss: Loss, x: Array) -> tuple[Array, Array]:
    if loss is LOGISTIC:
        return np.logaddexp(0, -x), np.logaddexp(0, x)
    if loss is QUARTIC:
        return x * x / 4 - x, x * x / 4 + x
    return 2 * np.exp(-x / 2), np.exp(x)


def plain_loss(
    counts: Cooccurrence, loss: Loss, reweighting: Reweighting, vectors: Array, context: Array
) -> float:
    """Σ Ψ⁺ P_ij f⁺ + Ψ⁻ P_i P_j f⁻, by the definitions (paper, eq. qwem_loss)."""
    pairs, expected = probabilities(counts)
    curvature = loss.relative_curvature
    positive = reweighting.positive_weight(counts, curvature=curvature) * pairs
    negative = reweighting.negative_weight(counts, curvature=curvature) * expected
    plus, minus = sides(loss, vectors @ context.T)
    return float(np.sum(positive * plus + negative * minus))
