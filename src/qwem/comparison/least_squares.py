"""Least squares of vectors on covariates, where observations come in clusters.

Everything follows from two sums for each cluster g: Q_g = Σ w x xᵀ and S_g = Σ w x yᵀ over its
observations, with covariates x, vector y and weight w = 1 / (size of the cluster), so that each
cluster counts once. The coefficients are B = Q⁻¹S with Q = Σ_g Q_g and S = Σ_g S_g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.arrays import blocks
from qwem._internal.resources import require_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

# A covariate with less than this share of its weight left is identified by the left-out cluster.
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
    variance: float
    """The mean squared distance of observations from their mean, each cluster counting once."""

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

    @cached_property
    def explained(self) -> Array:
        """The share of the variance that goes with each covariate, given the others, debiased."""
        spread = 1 / np.diagonal(self.inverse) / self.clusters
        return np.asarray(self.debiased * spread / self.variance)

    def identified_by_one(self) -> NDArray[np.intp]:
        """Return the covariates that are identified by a single cluster."""
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
        inverses = self._inverses_without
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

    def p_value(self, covariate: int, draws: int, seed: int) -> float:
        """Return the p-value of a coefficient, from random orders or signs of the clusters.

        The statistic is ‖β‖² divided by its noise, the jackknife's, and the noise is computed anew
        for each draw. That makes the test right where clusters differ in noise, for instance
        because some have few observations (Chung and Romano 2013; DiCiccio and Romano 2017).

        Where covariates are constant within clusters, residuals of the regression without the
        covariate are permuted among clusters (Freedman and Lane 1983). Otherwise clusters are not
        exchangeable, and these residuals get a random sign for each cluster: the wild cluster
        bootstrap with the null hypothesis imposed (Cameron, Gelbach and Miller 2008). If there are
        no more than `draws` signs, all are tried.
        """
        ratios = np.concatenate(list(self._ratios(covariate, draws, seed)))
        # The first is the observed one.
        return float(np.mean(ratios >= ratios[0] * (1 - 1e-9)))

    def _ratios(self, covariate: int, draws: int, seed: int) -> Iterator[Array]:
        """Yield ‖β‖² / noise of a coefficient as observed, then for each draw, in blocks.

        A draw changes the scores U_g of the regression without the covariate into U*_g. The
        coefficients then change by Δ = Q⁻¹ Σ_g U*_g, and the jackknife's noise is Σ_g ‖w_gᵀ(U*_g −
        Q_g Δ)‖², where w_g is the covariate's row of (Q − Q_g)⁻¹. Multiplied out, both need only
        sums of cluster rows, weighted by the order or the signs: products of matrices.
        """
        rest = self.inverse[:, covariate] / self.inverse[covariate, covariate]
        null = self.coefficients - np.outer(rest, self.coefficients[covariate])
        weights = self._inverses_without[:, covariate]
        turned = np.einsum("gij,gj->gi", self.grams, weights)
        spread = turned.T @ turned
        count, size, dim = self.moments.shape
        rng = np.random.default_rng([seed, covariate])
        if self.constant:
            rows = self.grams[:, 0]
            residuals = self.moments[:, 0] - rows @ null
            shares = (rows * weights).sum(axis=1)
            features = np.column_stack([rows, shares[:, None] * turned])
            squares = (residuals**2).sum(axis=1)
        else:
            scores = self.moments - self.grams @ null
            own = np.einsum("gi,gic->gc", weights, scores)
            crossed = turned[:, :, None] * own[:, None, :]
            flat = np.concatenate([scores, crossed], axis=1).reshape(count, -1)
            total = float((own**2).sum())
        for drawn in self._drawn(draws, rng):
            if self.constant:
                sums = features[drawn].transpose(0, 2, 1) @ residuals
                total = (shares**2)[drawn] @ squares
            else:
                sums = (drawn @ flat).reshape(-1, 2 * size, dim)
            change = self.inverse @ sums[:, :size]
            noise = (
                total
                - 2 * (change * sums[:, size:]).sum(axis=(1, 2))
                + np.einsum("bic,bjc,ij->b", change, change, spread, optimize=True)
            )
            squared = (change[:, covariate] ** 2).sum(axis=1)
            # Clusters that agree exactly leave nothing but the rounding of this difference.
            noise = np.maximum(noise, 64 * np.finfo(np.float64).eps * (total + squared))
            yield np.divide(squared, noise, out=np.zeros_like(squared), where=noise > 0)

    def _drawn(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        """Yield orders of clusters, or their signs, one row per draw; the first changes nothing."""
        count, width = self.clusters, 2 * self.grams.shape[1]
        if self.constant:
            yield np.arange(count)[None]
            for rows in blocks(draws, count * width, most=1 << 22):
                many = np.tile(np.arange(count), (rows.stop - rows.start, 1))
                yield rng.permuted(many, axis=1)
        elif count - 1 <= np.log2(draws + 1):
            patterns = np.arange(2 ** (count - 1))[:, None] >> np.arange(count) & 1
            yield 1.0 - 2.0 * patterns
        else:
            yield np.ones((1, count))
            for rows in blocks(draws, count, most=1 << 22):
                yield rng.choice([-1.0, 1.0], (rows.stop - rows.start, count))

    def changed(self, basis: Array) -> ClusteredFit:
        """Return the same regression with the coefficients `basis` @ B, so that sums have tests."""
        back = np.linalg.inv(basis)
        return replace(self, grams=back.T @ self.grams @ back, moments=back.T @ self.moments)

    @cached_property
    def _inverses_without(self) -> Array:
        """(Q − Q_g)⁻¹ for each cluster g."""
        return np.asarray(np.linalg.inv(self.grams.sum(axis=0) - self.grams))

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
    centre = moments[:, 0].mean(axis=0)
    variance = float(weight @ ((vectors - centre) ** 2).sum(axis=1) / count)
    return ClusteredFit(grams, moments, sizes, bool(constant), variance)
