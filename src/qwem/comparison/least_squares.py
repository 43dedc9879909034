"""Least squares of vectors on covariates, where observations come in clusters.

Everything follows from two sums for each cluster g: Q_g = Σ w x xᵀ and S_g = Σ w x yᵀ over its
observations, with covariates x, vector y and weight w = 1 / (size of the cluster), so that each
cluster counts once. The coefficients are B = Q⁻¹S with Q = Σ_g Q_g and S = Σ_g S_g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import sparse
from scipy.special import fdtrc

from qwem._internal.arrays import blocks, quotient
from qwem._internal.resources import require_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

FEWEST_DEGREES = 4.0
"""With fewer degrees of freedom a p-value is rough (Tipton 2015): that of an F test."""

SURE_P = 0.01
"""A p-value below this is one that both signs and the F test give."""

SKEWED = ((0.05, 25.0), (0.005, 50.0))
"""A p-value up to the first, with fewer degrees of freedom than the second, needs noise that is not
strongly skewed. In a t test a skewness of 1 makes 0.06 of 0.05 with 25 (Cochran 1977), and 0.003 of
0.001 with 44."""

# If the smallest eigenvalue without a cluster is below this part of the largest, the cluster alone
# identifies a covariate.
_SINGULAR = 1e-9
# Clusters that agree exactly leave nothing but rounding of this part of the squares.
_ROUNDING = 64 * np.finfo(np.float64).eps


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

    @cached_property
    def left_out(self) -> tuple[Array, Array]:
        """The coefficients and the debiased squared norms without each cluster, exactly.

        Without cluster h the coefficients are B + Δ with Δ = −(Q − Q_h)⁻¹ s_h. The scores of the
        others become s_g − Q_g Δ, so that the sum of their squares is a polynomial in Δ whose
        tensors are sums over clusters. One pass serves all clusters, and nothing is fitted again.
        """
        scores, grams = self._scores, self.grams
        count, size, dim = scores.shape
        require_memory(8 * size**3 * dim, "Leaving out each cluster", "use fewer covariates")
        inverses, steps = self._inverses_without, self._steps
        linear = np.einsum("gic,gjl->ijlc", scores, grams, optimize=True)
        square = np.einsum("gil,gjm->ijlm", grams, grams, optimize=True)
        spread = np.einsum("gic,gjc->ij", scores, scores)
        cross = (steps.reshape(count, -1) @ linear.reshape(size**2, -1).T).reshape(-1, size, size)
        outer = steps @ steps.transpose(0, 2, 1)
        quadratic = (outer.reshape(count, -1) @ square.reshape(size**2, -1).T).reshape(
            -1, size, size
        )
        own = scores - grams @ steps
        spreads = (
            spread - cross - cross.transpose(0, 2, 1) + quadratic - own @ own.transpose(0, 2, 1)
        )
        scale = self._correction(count - 1, self.sizes.sum() - self.sizes)
        noise = scale[:, None] * np.diagonal(inverses @ spreads @ inverses, axis1=1, axis2=2)
        coefficients = self.coefficients + steps
        return coefficients, (coefficients**2).sum(axis=2) - noise

    def p_value(self, covariate: int, draws: int, seed: int) -> float:
        """Return the p-value of a coefficient: that of random signs, or of an F test if they fail.

        Signs take noise for symmetric, an F test takes it for normal. If the noise has fewer than
        `FEWEST_DEGREES`, too few patterns of signs matter, and the p-value is that of the F test.
        Where clusters are few, either test gives too many small p-values if noise is skewed, and
        the F test even if it is normal; but less often both. So a p-value below `SURE_P` is the
        larger of the two, up to `SURE_P`. None is below 1 / (`draws` + 1).
        """
        freedom = self.degrees_of_freedom(covariate)
        signs = self._p_of_signs(covariate, draws, seed)
        normal = max(self._p_of_f_test(covariate, freedom), 1 / (draws + 1))
        first, second = (normal, signs) if freedom < FEWEST_DEGREES else (signs, normal)
        return max(first, min(second, SURE_P))

    def _p_of_f_test(self, covariate: int, freedom: float) -> float:
        """Return the p-value of an F test, given the degrees of freedom f of the noise.

        ‖β‖² is divided by the larger of two estimates of its noise. One is right on average if two
        groups are compared: the products of what each cluster adds to β with how much β changes
        without it (as in Bell and McCaffrey 2002). The other is the jackknife's, divided by how
        much too large it is if all observations are equally noisy. Over normal samples the quotient
        has about the distribution F with D and fD degrees of freedom, where D is the effective
        number of dimensions (Box 1954). It follows from the mean residuals of all clusters, each
        multiplied by the root of the cluster's size.
        """
        squared, changes = self.squares[covariate], -self._steps[:, covariate]
        if squared == 0:
            return 1.0
        added = np.einsum("i,gic->gc", self.inverse[covariate], self._scores)
        equal = self._equal_noise
        parts, _ = self._noise_moments(covariate, equal)
        expected = (self.inverse @ equal.sum(axis=0) @ self.inverse)[covariate, covariate]
        jackknife = (changes**2).sum() * expected / parts.sum()
        noise = max((added * changes).sum(), jackknife, _ROUNDING * squared)
        residuals = np.sqrt(self.sizes)[:, None] * self._scores[:, 0]
        share = _inverse_dimensions(residuals.T @ residuals, self.clusters - len(self.inverse))
        return float(fdtrc(1 / share, freedom / share, squared / noise))

    def _p_of_signs(self, covariate: int, draws: int, seed: int) -> float:
        """Return the p-value of random signs of the clusters.

        This is the wild cluster bootstrap with the null hypothesis imposed (Cameron, Gelbach and
        Miller 2008). The statistic is ‖β‖² divided by the jackknife's estimate of its noise, and
        corrected for skewness; see `_statistics`. It is computed anew for each draw, because
        clusters can differ in noise, for instance if some have few observations. If there are at
        most `draws` + 1 patterns of signs, all are tried.

        The null hypothesis is imposed by the coefficients B − v βᵀ, where v is the covariate's
        column of the jackknife's covariance, divided so that the covariate's own entry is 1. These
        are the coefficients under the null hypothesis that lie nearest to B in terms of its noise
        (minimum distance; Newey and McFadden 1994). Least squares would spread the noise of some
        clusters over the residuals of others.
        """
        statistics = np.concatenate(list(self._statistics(covariate, draws, seed)))
        # The first is the observed one.
        return float(np.mean(statistics >= statistics[0] * (1 - 1e-9)))

    def _statistics(self, covariate: int, draws: int, seed: int) -> Iterator[Array]:
        """Yield the statistic of a coefficient as observed, then for each draw, in blocks.

        A draw gives signs to the scores U_g = S_g − Q_g B₀ under the null hypothesis. The
        coefficients then change by Δ = Q⁻¹ Σ_g ±U_g, and the jackknife's noise is N = Σ_g ‖o_g‖²
        with o_g = w_gᵀ(±U_g − Q_g Δ), where w_g is the covariate's row of (Q − Q_g)⁻¹.

        If noise is skewed, N is correlated with β: it is expected to be larger by the share A =
        ‖β‖² Σ_g ‖o_g‖² o_g·β / (Σ_g ‖u_g‖² Σ_g (u_g·β)²) with u_g = ±w_gᵀU_g, which has the sign of
        the skewness along β. Signs make noise symmetric, so their draws don't show this. The
        statistic is therefore ‖β‖² / N · (1 + A/2 + A²/12)², the transformation of Hall (1992).
        Under the null hypothesis u_g has the same noise as o_g; where there is an effect it is
        larger, so that a strong effect needs no correction.
        """
        covariance = np.einsum("gic,gjc->ij", self._steps, self._steps)
        if covariance[covariate, covariate] <= 1e-12 * self.squares[covariate]:
            covariance = self.inverse  # clusters that agree exactly
        shift = covariance[:, covariate] / covariance[covariate, covariate]
        null = self.coefficients - np.outer(shift, self.coefficients[covariate])
        weights = self._inverses_without[:, covariate]
        turned = np.einsum("gij,gj->gi", self.grams, weights)
        scores = self.moments - self.grams @ null
        own = np.einsum("gi,gic->gc", weights, scores)
        lengths = (own**2).sum(axis=1)
        count, size, dim = scores.shape
        rng = np.random.default_rng([seed, covariate])
        for signs in _signs(count, draws, rng, most=(1 << 22) // size):
            change = self.inverse @ (signs @ scores.reshape(count, -1)).reshape(-1, size, dim)
            back = change.transpose(0, 2, 1)
            fitted, crossed = turned @ (change @ back), signs[:, :, None] * (own @ back)
            along = crossed[:, :, covariate] - fitted[:, :, covariate]
            squares = lengths + ((fitted - 2 * crossed) * turned).sum(axis=2)
            squared = (change[:, covariate] ** 2).sum(axis=1)
            noise = np.maximum(squares.sum(axis=1), _ROUNDING * (lengths.sum() + squared))
            spread = lengths.sum() * (crossed[:, :, covariate] ** 2).sum(axis=1)
            skewness = quotient(squared * (squares * along).sum(axis=1), spread)
            yield quotient(squared, noise) * (1 + skewness / 2 + skewness**2 / 12) ** 2

    def degrees_of_freedom(self, covariate: int) -> float:
        """Return the degrees of freedom of the noise of a coefficient, by design or by the data.

        The jackknife's noise N = Σ_g ‖o_g‖² has the mean tr C and the variance 2 ‖C‖² / D over
        normal samples, where C is the covariance of the o_g, and D the effective number of
        dimensions. The degrees of freedom (tr C)² / ‖C‖² are Satterthwaite's (Bell and McCaffrey
        2002), one less than the number of clusters for a mean of clusters that are equally noisy.

        By design, all observations are equally noisy, so that the scores of a cluster of n_g have
        the covariance Q_g / n_g. By the data, it is the product of the cluster's scores with those
        by the coefficients without it, which is right on average if clusters are equally noisy,
        whatever their leverage. A share 2/D of its square is chance, and is subtracted; D follows
        from how much the o_g differ in direction. The smaller number is returned: the data can
        show that a few clusters are noisier than others, but few clusters show it by chance only.
        """
        parts, norm = self._noise_moments(covariate, self._equal_noise)
        design = float(parts.sum() ** 2 / norm)
        own = self._steps[:, covariate]
        directions = own.T @ own
        if not directions.any():
            return design
        outside = self.grams.sum(axis=0) @ -self._steps
        noise = np.einsum("gic,gjc->gij", self._scores, outside)
        parts, norm = self._noise_moments(covariate, (noise + noise.transpose(0, 2, 1)) / 2)
        share, freedom = 0.0, 1.0
        for _ in range(5):
            excess = 2 * share / (1 + 2 * share) * (parts**2).sum()
            freedom = float((parts.sum() ** 2 - excess) / (norm - excess))
            share = _inverse_dimensions(directions, freedom)
        return min(design, freedom)

    def _noise_moments(self, covariate: int, noise: Array) -> tuple[Array, float]:
        """Return each cluster's part in tr C, and ‖C‖², for the covariances C of the o_g.

        `noise` has the covariance V_g of each cluster's scores. A cluster k adds a_gᵀ V_k a_h to
        C_gh with a_g = [g = k] w_g − Q⁻¹ Q_g w_g, so that C is diagonal but for a part of low rank.
        """
        weights = self._inverses_without[:, covariate]
        turned = np.einsum("gij,gj->gi", self.grams, weights) @ self.inverse
        crossed = np.einsum("gij,gj->gi", noise, weights)
        lengths = (weights * crossed).sum(axis=1)
        wide, eye = np.hstack([turned, crossed]), np.eye(turned.shape[1])
        middle = np.block([[noise.sum(axis=0), -eye], [-eye, 0 * eye]])
        product = middle @ wide.T @ wide
        norm = (
            (lengths**2).sum()
            + 2 * lengths @ np.einsum("gi,ij,gj->g", wide, middle, wide)
            + np.trace(product @ product)
        )
        parts = lengths - 2 * (turned * crossed).sum(axis=1)
        return parts + np.einsum("gij,ij->g", noise, turned.T @ turned), float(norm)

    def changed(self, basis: Array) -> ClusteredFit:
        """Return the same regression with the coefficients `basis` @ B, to test sums of them."""
        back = np.linalg.inv(basis)
        return replace(self, grams=back.T @ self.grams @ back, moments=back.T @ self.moments)

    @cached_property
    def _inverses_without(self) -> Array:
        """(Q − Q_g)⁻¹ for each cluster g."""
        return np.asarray(np.linalg.inv(self.grams.sum(axis=0) - self.grams))

    @cached_property
    def _steps(self) -> Array:
        """How much the coefficients change without each cluster."""
        return np.asarray(-self._inverses_without @ self._scores)

    @property
    def _equal_noise(self) -> Array:
        """The covariance of each cluster's scores if all observations are equally noisy."""
        return self.grams / self.sizes[:, None, None]

    @cached_property
    def _scores(self) -> Array:
        return np.asarray(self.moments - self.grams @ self.coefficients)

    def _correction(
        self, clusters: int, observations: int | NDArray[np.int64]
    ) -> NDArray[np.float64]:
        covariates = self.grams.shape[1]
        ratio = (np.asarray(observations) - 1) / (np.asarray(observations) - covariates)
        return np.asarray(clusters / (clusters - 1) * ratio)


def needs_symmetry(p_value: float, freedom: float) -> bool:
    """Return whether a p-value needs noise that is not strongly skewed, given its freedom."""
    return any(p_value <= level and freedom < least for level, least in SKEWED)


def fit_clusters(covariates: Array, vectors: Array, clusters: NDArray[np.int64]) -> ClusteredFit:
    """Return the regression of vectors on covariates, with clusters numbered from 0."""
    sizes = np.bincount(clusters)
    count, size = len(sizes), covariates.shape[1]
    weight = 1.0 / sizes[clusters]
    sums = sparse.csr_array((weight, (clusters, np.arange(len(clusters)))))
    grams, moments = np.empty((count, size, size)), np.empty((count, size, vectors.shape[1]))
    for place in range(size):
        column = covariates[:, place, None]
        grams[:, place] = sums @ (column * covariates)
        moments[:, place] = sums @ (column * vectors)
    centre = moments[:, 0].mean(axis=0)
    variance = float(weight @ ((vectors - centre) ** 2).sum(axis=1) / count)
    return ClusteredFit(grams, moments, sizes, variance)


def _inverse_dimensions(squares: Array, freedom: float) -> float:
    """Return 1/D from a sum of squares: D = (tr Σ)² / tr Σ² is the effective number of dimensions.

    Of normal vectors with the covariance Σ, the sum of squares has a Wishart distribution: its
    squared norm and its squared trace are expected to be sums of (tr Σ)² and tr Σ², with factors
    that depend on the degrees of freedom.
    """
    total = np.trace(squares)
    if total <= 0:
        return 1.0
    alike = (squares**2).sum() / total**2
    share = (alike - 1 / freedom) / (1 + (1 - 2 * alike) / freedom)
    return float(np.clip(share, 1 / len(squares), 1))


def _signs(count: int, draws: int, rng: np.random.Generator, most: int) -> Iterator[Array]:
    """Yield signs of clusters, one row per draw, the first all positive; if few, all patterns."""
    if count - 1 <= np.log2(draws + 1):
        patterns = np.arange(2 ** (count - 1))[:, None] >> np.arange(count) & 1
        yield np.where(patterns, -1.0, 1.0)
        return
    yield np.ones((1, count))
    for rows in blocks(draws, count, most=most):
        yield rng.choice(np.array([-1.0, 1.0]), (rows.stop - rows.start, count))
