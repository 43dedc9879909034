"""Spelling as a prior of word vectors, as strong as it deserves."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.linalg import cholesky

from qwem.embedding.spelling import NgramRegression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0)
"""Ridges to choose from: how many words an n-gram must be in before its vector is trusted."""

HELD_OUT = 10
"""One word in so many is predicted from the others."""

MOST_EXPLAINED = 0.9
"""The largest share of variance that is believed to be explained, where words are few."""

COLUMNS = 32
"""Dimensions that are predicted; more would tell the same."""


class SpellingPrior:
    """What each word is expected to be by its spelling, and how much text that is worth.

    Without spelling, a word is expected to be independent of its contexts, and that is worth e
    tokens of text, the `evidence` of `polish`. The spelling of a word predicts the share ρ of the
    variance of word vectors. What is left has the share 1 − ρ, so the prediction is worth
    κ = e/(1 − ρ) tokens: evidence is in proportion to the inverse of the variance of a prior
    (empirical Bayes). ρ is measured on words that the prediction was not made of; those with much
    text count most.

    A word of n tokens is (n o + κ μ)/(n + κ), with o what its own text asks for and μ the
    prediction. So o = w + (κ/n)(w − μ) is what the n-grams are regressed on, with the weight
    n/(n + κ): the inverse of its variance.
    """

    def __init__(self, vocabulary: Vocabulary, evidence: float) -> None:
        self._regression = NgramRegression(vocabulary.words)
        self._counts: Vector = vocabulary.counts.astype(np.float64)
        self._evidence = evidence
        self.settings: dict[str, float] = {}
        """κ in tokens, the ridge, and ρ, once they are known."""
        self.means: Matrix | None = None
        """What each word is expected to be; None before `learn`."""
        self.ngram_vectors: Matrix | None = None

    @property
    def ngrams(self) -> tuple[str, ...]:
        """The n-grams that have vectors."""
        return self._regression.ngrams

    @property
    def evidence(self) -> float:
        """How many tokens of text the expectation is worth."""
        return self.settings.get("evidence", self._evidence)

    def resume(self, means: Matrix, settings: Mapping[str, float]) -> None:
        """Go on from what was expected before, as strongly as then."""
        self.means, self.settings = means, dict(settings)

    def learn(self, words: Matrix, metric: Vector) -> None:
        """Learn n-gram vectors from word vectors, and expect what they predict.

        Parameters
        ----------
        words
            Word vectors after a step.
        metric
            The curvature of the loss of all pairs together, in which differences of word vectors
            are measured.
        """
        trust = self._trust(self._evidence)
        centre = trust @ words / trust.sum()
        expected = np.float32(0) if self.means is None else self.means
        own = words + (self.evidence / self._counts)[:, None] * (words - expected) - centre
        own = own.astype(np.float32)
        if not self.settings:
            self._measure(own, metric)
        weights = self._trust(self.evidence).astype(np.float32)
        ridge = self.settings["ridge"]
        self.ngram_vectors = self._regression.solve(own, weights, ridge)
        predicted = self._regression.predict(self.ngram_vectors)
        predicted += centre.astype(np.float32)
        # Words follow what is expected of them, and the other way round: half of the way at a time.
        self.means = predicted if self.means is None else (self.means + predicted) / np.float32(2)

    def _trust(self, evidence: float) -> Vector:
        return self._counts / (self._counts + evidence)

    def _measure(self, own: Matrix, metric: Vector) -> None:
        """Find the ridge that predicts words best, and how well it does."""
        trust = self._trust(self._evidence)
        columns = np.linspace(0, own.shape[1] - 1, min(COLUMNS, own.shape[1])).astype(int)
        known = own @ cholesky(metric, lower=True)[:, columns].astype(np.float32)
        held_out = np.arange(len(own)) % HELD_OUT == 0
        weights = np.where(held_out, 0, trust).astype(np.float32)
        size = np.sum(known[held_out].astype(np.float64) ** 2, axis=1)
        found = []
        for ridge in RIDGES:
            vectors = self._regression.solve(known, weights, ridge)
            rest = (known - self._regression.predict(vectors))[held_out]
            explained = size - np.sum(rest.astype(np.float64) ** 2, axis=1)
            # Of a word's length squared, the share `trust` is not noise.
            weight = trust[held_out] ** 2
            variance = max(float((weight * trust[held_out]) @ size), np.finfo(float).tiny)
            found.append((float(weight @ explained) / variance, ridge))
        share, ridge = max(found)
        share = min(max(share, 0.0), MOST_EXPLAINED)
        evidence = self._evidence / (1 - share)
        self.settings = {"evidence": evidence, "ridge": ridge, "explained": share}
