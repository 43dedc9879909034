"""Marchenko–Pastur law of pure noise, and its fit to task vectors (the paper's appendix)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qwem._internal.results import Plain
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

# The aspect ratios that are tried: noise of 1/64 to 100 times as many dimensions as vectors.
_GAMMAS = np.geomspace(1e-2, 64, 89)


@dataclass(frozen=True)
class MarchenkoPastur:
    """The Marchenko–Pastur law: eigenvalues of ΞΞᵀ/d for an N × d matrix Ξ of independent noise.

    The limit of large N and d with γ = N/d and entries of variance σ², as in the paper's appendix
    (Empirics of task vectors). Where γ > 1 the matrix has fewer dimensions than vectors, and a
    fraction 1 − 1/γ of its eigenvalues is zero.

    >>> law = MarchenkoPastur(gamma=0.25, variance=2.0)
    >>> law.support, law.atom
    ((0.5, 4.5), 0.0)
    """

    gamma: float
    """The aspect ratio γ = N/d."""
    variance: float = 1.0
    """σ², the variance of the entries of the noise."""

    def __post_init__(self) -> None:
        for name in ("gamma", "variance"):
            value = getattr(self, name)
            if not 0 < value < np.inf:
                raise SettingError(f"{name} must be a positive number, not {value}.")

    @property
    def support(self) -> tuple[float, float]:
        """λ₋ and λ₊ = σ²(1 ± √γ)²: all nonzero eigenvalues lie between them."""
        lower, upper = _edges(self.gamma)
        return self.variance * float(lower), self.variance * float(upper)

    @property
    def atom(self) -> float:
        """The fraction of the eigenvalues that is exactly zero: 1 − 1/γ where γ > 1, else 0."""
        return max(0.0, 1.0 - 1.0 / self.gamma)

    def density(self, eigenvalues: ArrayLike) -> Array:
        """Return the density dμ/dλ = √((λ₊ − λ)(λ − λ₋)) / (2πσ²γλ), without the atom.

        >>> MarchenkoPastur(0.25).density([0.1, 1.0, 3.0]).round(4)
        array([0.    , 0.6164, 0.    ])
        """
        values = np.asarray(eigenvalues, dtype=np.float64)
        lower, upper = self.support
        inside = (values > lower) & (values < upper)
        at = np.where(inside, values, upper)
        root = np.sqrt(np.maximum((upper - at) * (at - lower), 0.0))
        return root / (2 * np.pi * self.variance * self.gamma * at)

    def cdf(self, eigenvalues: ArrayLike) -> Array:
        """Return the fraction of eigenvalues at or below each of these, the atom included.

        >>> MarchenkoPastur(4.0).cdf([-1.0, 0.0, 9.0])
        array([0.  , 0.75, 1.  ])
        """
        return _cdf(np.asarray(eigenvalues, dtype=np.float64) / self.variance, self.gamma)


@dataclass(frozen=True, eq=False, repr=False)
class MarchenkoPasturFit(MarchenkoPastur, Plain):
    """The law that fits a Gram matrix of task vectors best, beside a spike.

    All eigenvalues are those of G/d, for which the law is defined. σ² is the variance of the
    entries of the centred task vectors.
    """

    derived: ClassVar[tuple[str, ...]] = ("effective_dim", "edge", "spike", "goodness")
    eigenvalues: Array = field(kw_only=True, repr=False)
    """Eigenvalues of G/d, one per task vector, the smallest first."""

    def __repr__(self) -> str:
        return (
            f"MarchenkoPasturFit({len(self.eigenvalues)} eigenvalues: effective dimension "
            f"{self.effective_dim:.1f}, spike {self.spike / self.edge:.1f} "
            f"times the edge of the noise, goodness {self.goodness:.2f})"
        )

    @property
    def effective_dim(self) -> float:
        """d_eff = N/γ̂: how many dimensions of equal noise would make such a spectrum."""
        return len(self.eigenvalues) / self.gamma

    @property
    def spike(self) -> float:
        """The largest eigenvalue of G/d, which the fit leaves out."""
        return float(self.eigenvalues[-1])

    @property
    def edge(self) -> float:
        """λ₊, the upper edge of the fitted bulk."""
        return self.support[1]

    @property
    def bulk(self) -> Array:
        """All other eigenvalues: the noise."""
        return self.eigenvalues[:-1]

    @property
    def goodness(self) -> float:
        """One minus Kolmogorov and Smirnov's distance between the bulk and the fitted law."""
        positive = _positive(self.bulk)
        law = self.cdf(self.bulk[positive])
        below = np.arange(len(self.bulk))[positive] / len(self.bulk)
        above = below + 1 / len(self.bulk)
        return float(1.0 - max(np.max(law - below), np.max(above - law)))


def fit_marchenko_pastur(gram: ArrayLike, dim: int) -> MarchenkoPasturFit:
    """Fit the Marchenko–Pastur law to the bulk of a Gram matrix of task vectors.

    As in the paper, σ² is the population variance of the entries of the centred task vectors,
    which is Tr(HGH)/(Nd) with H = I − 11ᵀ/N. The paper chooses γ̂ by eye; here it is the one whose
    law is nearest to the bulk in Cramér and von Mises' distance Σ_i (F(λ_i) − (i − ½)/n)². This
    distance compares two curves, as the eye does. All eigenvalues have the same weight in it. So a
    second spike, such as a region among cities and their states, changes this estimate far less
    than the simplest one, the variance of the bulk, which is γ for pure noise.

    Parameters
    ----------
    gram
        G = RRᵀ, of N task vectors.
    dim
        d, the dimension of the task vectors.

    >>> noise = np.random.default_rng(0).normal(size=(30, 60))
    >>> fit = fit_marchenko_pastur((noise + 1) @ (noise + 1).T, dim=60)
    >>> bool(50 < fit.effective_dim < 70), bool(fit.spike > fit.edge)
    (True, True)
    """
    matrix = np.asarray(gram, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 3:
        raise SettingError(
            f"A fit needs the square Gram matrix of at least 3 task vectors, not shape "
            f"{matrix.shape}."
        )
    if dim < 1:
        raise SettingError(f"dim must be at least 1, not {dim}.")
    size = len(matrix)
    variance = (np.trace(matrix) - matrix.sum() / size) / (size * dim)
    if variance <= np.finfo(np.float64).eps * np.trace(matrix):
        raise SettingError("The task vectors are all the same, so there is no noise to fit.")
    eigenvalues = np.maximum(np.linalg.eigvalsh(matrix), 0.0) / dim
    gamma = nearest_gamma(eigenvalues[:-1] / variance)
    return MarchenkoPasturFit(gamma, float(variance), eigenvalues=eigenvalues)


def nearest_gamma(bulk: Array) -> float:
    """Return the γ whose law of unit variance is nearest to sorted eigenvalues."""
    from scipy.optimize import minimize_scalar

    positive = _positive(bulk)
    middle = (np.arange(len(bulk))[positive] + 0.5) / len(bulk)

    def distance(gamma: float | Array) -> Any:
        return ((_cdf(bulk[positive], gamma) - middle) ** 2).sum(axis=-1)

    # The distance has several local minima; a grid finds the one to refine.
    best = int(np.argmin(distance(_GAMMAS[:, None])))
    around = np.log(_GAMMAS[[max(best - 1, 0), min(best + 1, len(_GAMMAS) - 1)]])
    found = minimize_scalar(lambda log: distance(float(np.exp(log))), bounds=tuple(around))
    return float(np.exp(found.x))


def _positive(bulk: Array) -> NDArray[np.bool_]:
    """Return which eigenvalues are not zero up to rounding."""
    return bulk > len(bulk) * np.finfo(np.float64).eps * bulk[-1]


def _edges(gamma: float | Array) -> tuple[Array, Array]:
    root = np.sqrt(np.asarray(gamma, dtype=np.float64))
    return (1 - root) ** 2, (1 + root) ** 2


def _cdf(values: Array, gamma: float | Array) -> Array:
    """Return the integral of the density of unit variance, for one γ or a column of them."""
    lower, upper = _edges(gamma)
    inside = np.clip(values, lower, upper)
    above, below = upper - inside, inside - lower
    product = np.sqrt(above * below)
    skew = np.abs(1.0 - np.asarray(gamma))
    # The arctangents of (r² − 1)/2r and (λ₋r² − λ₊)/2|1 − γ|r with r² = above/below, written so
    # that they are finite at both edges.
    angle = (1.0 + np.asarray(gamma)) * np.arctan2(above - below, 2 * product)
    tilt = skew * np.arctan2(lower * above - upper * below, 2 * skew * product)
    integral = 0.5 + (product - angle + tilt) / (2 * np.pi * np.asarray(gamma))
    integral = integral + np.maximum(0.0, 0.5 - 0.5 / np.asarray(gamma))
    filled = np.where(values > upper, 1.0, integral)
    return np.where(values < 0, 0.0, np.clip(filled, 0.0, 1.0))
