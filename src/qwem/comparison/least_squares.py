"""Least squares of vectors on covariates, where observations come in clusters.

Everything follows from two sums for each cluster g: Q_g = Σ w x xᵀ and S_g = Σ w x yᵀ over its
observations, with covariates x, vector y and weight w = 1 / (size of the cluster), so that each
cluster counts once. The coefficients are B = Q⁻¹S with Q = Σ_g Q_g and S = Σ_g S_g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.blocks import blocks
from qwem._internal.resources import require_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

# Without this share of its weight, a covariate is one of the left-out cluster alone.
_SINGULAR = 1e-9


@dataclass(frozen=True, eq=False)
class ClusteredFit:
    """Regression of vectors on covariates, from the sums of each cluster.

    The first covariate is the constant 1. Covariates should be of similar size.
    """

    grams: Array
    """Q_g, one p × p matrix per cluster."""
    moments: Array
    """S_g, one p × d matrix per cluster."""
    sizes: NDArray[np.int64]
    """How many observations each cluster has."""
    constant: bool
    """Whether all observations of a cluster have the same covariates."""

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(self.sizes)

    @cached_property
    def inverse(self) -> Array:
        """The matrix Q⁻¹."""
        return np.asarray(np.linalg.inv(self.grams.sum(axis=0)))

    @cached_property
    def coefficients(self) -> Array:
        """The matrix B, one row per covariate."""
        return np.asarray(self.inverse @ self.moments.sum(axis=0))

    @cached_property
    def squares(self) -> Array:
        """The squared norm ‖β‖² of each coefficient."""
        return np.asarray((self.coefficients**2).sum(axis=1))

    @cached_property
    def noise(self) -> Array:
        """What noise adds to the squared norm of each coefficient: the trace of its covariance.

        E‖β̂‖² = ‖β‖² + tr Cov β̂. The covariance is the usual one for clusters, c Q⁻¹ (Σ_g s_g s_gᵀ)
        Q⁻¹ with the scores s_g = S_g − Q_g B and c = G/(G − 1) · (n − 1)/(n − p) (Liang and Zeger
        1986), summed over dimensions.
        """
        spread = np.einsum("gic,gjc->ij", self._scores, self._scores)
        scale = self._correction(self.clusters, int(self.sizes.sum()))
        return np.asarray(scale * np.diagonal(self.inverse @ spread @ self.inverse))

    @cached_property
    def debiased(self) -> Array:
        """The squared norm of each coefficient less its noise, which can be below 0."""
        return np.asarray(self.squares - self.noise)

    def alone(self) -> NDArray[np.intp]:
        """Return the covariates that only one cluster tells about, so that it can't be left out."""
        without = self.grams.sum(axis=0) - self.grams
        values, vectors = np.linalg.eigh(without)
        lost = values[:, 0] < _SINGULAR * values[:, -1]
        return np.unique(np.abs(vectors[lost, :, 0]).argmax(axis=1))

    def left_out(self) -> tuple[Array, Array]:
        """Return the coefficients and the debiased squared norms without each cluster, exactly.

        Without cluster h the coefficients are B + Δ with Δ = −(Q − Q_h)⁻¹ s_h. The scores of the
        others become s_g − Q_g Δ, so that the sum of their squares is a polynomial in Δ whose
        tensors are sums over clusters. One pass does for all clusters, and nothing is fitted again.
        """
        scores, grams = self._scores, self.grams
        count, size, dim = scores.shape
        require_memory(8 * size**3 * dim, "Leaving out each cluster", "use fewer covariates")
        inverses = np.linalg.inv(grams.sum(axis=0) - grams)
        steps = -inverses @ scores
        linear = np.einsum("gic,gjl->ijlc", scores, grams, optimize=True)
        square = np.einsum("gil,gjm->ijlm", grams, grams, optimize=True)
        spread = np.einsum("gic,gjc->ij", scores, scores)
        cross = (steps.reshape(count, -1) @ linear.reshape(size**2, -1).T).reshape(-1, size, size)
        outer = steps @ steps.transpose(0, 2, 1)
        bend = (outer.reshape(count, -1) @ square.reshape(size**2, -1).T).reshape(-1, size, size)
        own = scores - grams @ steps
        spreads = spread - cross - cross.transpose(0, 2, 1) + bend - own @ own.transpose(0, 2, 1)
        scale = self._correction(count - 1, self.sizes.sum() - self.sizes)
        noise = scale[:, None] * np.diagonal(inverses @ spreads @ inverses, axis1=1, axis2=2)
        coefficients = self.coefficients + steps
        return coefficients, (coefficients**2).sum(axis=2) - noise

    def exceeded(self, covariate: int, draws: int, seed: int) -> int:
        """Return how many of `draws` random squared norms of a coefficient are not below its own.

        Freedman and Lane (1983): residuals e of the regression without the covariate are dealt anew
        among clusters, and regressed again. With x̃ for what is left of the covariate after the
        others, the coefficient is x̃ᵀe / x̃ᵀx̃. Where covariates vary within clusters these are not
        exchangeable, and the signs of the clusters' scores are drawn instead, see Hemerik, Goeman
        and Finos (2020).
        """
        rest = self.inverse[:, covariate] / self.inverse[covariate, covariate]
        null = self.coefficients - np.outer(rest, self.coefficients[covariate])
        rng = np.random.default_rng([seed, covariate])
        if self.constant:
            rows = self.grams[:, 0]
            left, residuals = rows @ rest, self.moments[:, 0] - rows @ null
        else:
            left = np.ones(self.clusters)
            residuals = np.einsum("i,gic->gc", rest, self.moments - self.grams @ null)
        observed = float(((left @ residuals) ** 2).sum())
        count = 0
        for drawn in self._shuffled(left, draws, rng):
            count += int((((drawn @ residuals) ** 2).sum(axis=1) >= observed * (1 - 1e-9)).sum())
        return count

    def _shuffled(self, left: Array, draws: int, rng: np.random.Generator) -> Iterator[Array]:
        """Yield the numbers of clusters in random order, or with random signs, one row per draw."""
        for rows in blocks(draws, len(left), most=1 << 22):
            many = np.tile(left, (rows.stop - rows.start, 1))
            if self.constant:
                yield rng.permuted(many, axis=1)
            else:
                yield many * rng.choice([-1.0, 1.0], many.shape)

    @cached_property
    def _scores(self) -> Array:
        return np.asarray(self.moments - self.grams @ self.coefficients)

    def _correction(
        self, clusters: int, observations: int | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        covariates = self.grams.shape[1]
        ratio = (np.asarray(observations) - 1) / (np.asarray(observations) - covariates)
        return np.asarray(clusters / (clusters - 1) * ratio)


def fit_clusters(covariates: Array, vectors: Array, clusters: NDArray[np.int64]) -> ClusteredFit:
    """Return the regression of vectors on covariates, each cluster having a number from 0."""
    sizes = np.bincount(clusters)
    count, size = len(sizes), covariates.shape[1]
    weight = 1.0 / sizes[clusters]
    sums = sparse.csr_array((weight, (clusters, np.arange(len(clusters)))))
    grams, moments = np.empty((count, size, size)), np.empty((count, size, vectors.shape[1]))
    for place in range(size):
        column = covariates[:, place, None]
        grams[:, place] = sums @ (column * covariates)
        moments[:, place] = sums @ (column * vectors)
    means = grams[:, 0]
    constant = np.allclose(covariates, means[clusters], rtol=1e-12, atol=1e-12)
    return ClusteredFit(grams, moments, sizes, bool(constant))
