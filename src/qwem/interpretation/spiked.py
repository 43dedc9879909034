"""Spiked model of task vectors: one shared direction plus noise that differs by feature and pair.

N task vectors r_n = m + √a_n Σ^½ z_n share the mean m, and z_n is white noise. Let σ_k² be the
variance on feature k, a_n the variance of pair n relative to the mean one, and p_k = N m_k²/d the
strength of the mean on feature k. As N and d grow, the spectrum of G/d is that of a separable
covariance (docs/theory/spiked-model.md): with

    A(w) = (1/d) Σ_n a_n/(1 − w a_n),    B(y) = (1/d) Σ_k σ_k²/(1 − y σ_k²)

each y between 0 and 1/max σ² has one w with w A(w) = y B(y), and an eigenvalue λ(y) = A(w)/y.

    an edge     is the smallest λ(y),
    a spike     is λ(y) for the y below the edge's with  ⟨1/(1 − w a_n)⟩ Σ_k p_k/(1 − yσ_k²) = λ(y),
    a bulk      lies below the edge; its density follows from the same equations at complex λ.

Where no such y exists the mean is too weak to show: that is the transition of Baik, Ben Arous and
Péché. With equal variances the bulk is Marchenko and Pastur's law.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qwem._internal.results import Plain
from qwem.errors import SettingError
from qwem.interpretation.marchenko_pastur import nearest_gamma

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

# Steps from far above the real axis down to it, and the last height relative to the edge.
_DESCENT = 30
_HEIGHT = 1e-5
# Number of intervals over which the density of the bulk is summed.
_GRID = 1_500


@dataclass(frozen=True, eq=False, repr=False)
class SpikedModel(Plain):
    """Spectrum of G/d for N task vectors with a common mean and noise of any variances.

    >>> white = SpikedModel(30, mean=np.full(60, 0.5), noise=np.ones(60))
    >>> round(white.edge, 3), round(white.spike, 3)
    (2.914, 9.067)
    """

    derived: ClassVar[tuple[str, ...]] = (
        "strength",
        "threshold",
        "edge",
        "spike",
        "signal_in_mean",
        "snr",
        "effective_dim",
    )
    count: int
    """N, the number of task vectors."""
    mean: Array = field(repr=False)
    """m, the mean task vector on each of the d features."""
    noise: Array = field(repr=False)
    """σ_k², the variance of the task vectors on each feature."""
    bias: Array | None = field(default=None, repr=False)
    """What to subtract from m_k², where the mean is estimated: σ_k²/N. None subtracts nothing."""
    pair_noise: Array | None = field(default=None, repr=False)
    """a_n, the variance of each task vector relative to their mean; None if all are equal."""

    def __post_init__(self) -> None:
        for name in ("mean", "noise"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), np.float64))
        if self.mean.ndim != 1 or self.mean.shape != self.noise.shape:
            shapes = {self.mean.shape, self.noise.shape}
            raise SettingError(f"mean and noise must have one number per feature, not {shapes}.")
        if self.count < 2 or self.noise.min() < 0 or self.noise.max() <= 0:
            raise SettingError("A spiked model needs two task vectors and some noise.")
        pairs = np.ones(self.count) if self.pair_noise is None else np.asarray(self.pair_noise)
        if pairs.shape != (self.count,) or pairs.min() < 0 or pairs.max() <= 0:
            raise SettingError(f"pair_noise must be a variance for each of {self.count} pairs.")

    def __repr__(self) -> str:
        return (
            f"SpikedModel({self.count} task vectors in {self.dim} dimensions: edge "
            f"{self.edge:.3g}, spike {self.spike:.3g})"
        )

    @property
    def dim(self) -> int:
        """d, the number of features."""
        return len(self.mean)

    @property
    def strength(self) -> float:
        """N|m|²/d, the squared singular value of the mean's part of R/√d."""
        return float(self._powers.sum())

    @property
    def trace(self) -> float:
        """The expected sum of all eigenvalues of G/d."""
        return self.strength + self.count * float(self.noise.sum()) / self.dim

    @cached_property
    def edge(self) -> float:
        """λ₊, the upper edge of the bulk."""
        return self._place(self._edge_place)

    @cached_property
    def threshold(self) -> float:
        """The strength N|m|²/d above which a mean of this direction has a spike of its own.

        For equal variances it is σ²√γ with γ = N/d (Baik, Ben Arous and Péché).
        """
        at_edge = self._response(self._edge_place)
        return self.strength / at_edge if min(at_edge, self.strength) > 0 else np.inf

    @cached_property
    def spike(self) -> float:
        """The largest eigenvalue of G/d: the spike, or the edge where there is none."""
        if not self.has_spike:
            return self.edge
        from scipy.optimize import brentq

        lowest = 1e-12 * self._edge_place
        return self._place(brentq(lambda y: self._response(y) - 1.0, lowest, self._edge_place))

    @property
    def has_spike(self) -> bool:
        """Whether the mean is strong enough to be seen in the spectrum."""
        return self.strength > self.threshold

    @property
    def signal_in_mean(self) -> float:
        """The expected share of the mean task vector in the spike, 1ᵀG1/(N·λ_max)."""
        return min(1.0, (self.strength + float(self.noise.sum()) / self.dim) / self.spike)

    @property
    def snr(self) -> float:
        """The paper's signal-to-noise ratio λ_max·rank/Tr of G that the model predicts."""
        return self.spike * min(self.count, self.dim) / self.trace

    @property
    def atom(self) -> float:
        """The fraction of the eigenvalues of G/d that is zero, if features are fewer than N."""
        return max(0.0, 1.0 - np.count_nonzero(self.noise) / self.count)

    def density(self, eigenvalues: ArrayLike) -> Array:
        """Return the density of the bulk, Im s(λ + i0)/π, at each eigenvalue, without the atom.

        >>> white = SpikedModel(15, mean=np.zeros(60), noise=np.ones(60))
        >>> white.density([1.0]).round(3)
        array([0.616])
        """
        values = np.asarray(eigenvalues, dtype=np.float64)
        inside = (values > 0) & (values < self.edge)
        density = np.zeros_like(values)
        density[inside] = np.maximum(self._transform(values[inside]).imag, 0) / np.pi
        return density

    @cached_property
    def effective_dim(self) -> float:
        """d_eff, the dimension of the equal noise whose bulk is nearest to this one.

        It predicts what a fit of Marchenko and Pastur's law to measured eigenvalues finds.
        """
        grid = self.edge * np.linspace(0, 1, _GRID + 1) ** 2
        middle = (grid[1:] + grid[:-1]) / 2
        mass = self.density(middle) * np.diff(grid)
        below = self.atom + (1 - self.atom) * np.cumsum(mass) / mass.sum()
        places = (np.arange(self.count - 1) + 0.5) / (self.count - 1)
        bulk = np.where(places <= self.atom, 0.0, np.interp(places, below, middle))
        variance = float(self.noise.sum()) / self.dim
        return self.count / nearest_gamma(bulk / variance)

    @property
    def _powers(self) -> Array:
        """p_k = N m_k²/d, without bias."""
        squares = np.square(self.mean)
        return self.count * (squares if self.bias is None else squares - self.bias) / self.dim

    @cached_property
    def _pairs(self) -> Array:
        """a_n, scaled to the mean 1, because their scale belongs to the noise."""
        if self.pair_noise is None:
            return np.ones(self.count)
        pairs = np.asarray(self.pair_noise, np.float64)
        return pairs / pairs.mean()

    def _partner(self, y: float) -> float:
        """Return the w with w A(w) = y B(y)."""
        from scipy.optimize import brentq

        wanted = y * np.sum(self.noise / (1 - y * self.noise))
        if self.pair_noise is None:
            return float(wanted / (self.count + wanted))
        most = 1 / self._pairs.max()

        def excess(w: float) -> float:
            return float(w * np.sum(self._pairs / (1 - w * self._pairs)) - wanted)

        return float(brentq(excess, 0.0, most * (1 - 1e-14), xtol=1e-15 * most))

    def _place(self, y: float) -> float:
        """Return λ(y)."""
        w = self._partner(y)
        return float(np.sum(self._pairs / (1 - w * self._pairs)) / (self.dim * y))

    def _response(self, y: float) -> float:
        """Return ⟨1/(1 − w a_n)⟩ Σ_k p_k/(1 − yσ_k²)/λ(y), which is 1 at the spike."""
        pairs = np.mean(1 / (1 - self._partner(y) * self._pairs))
        return float(pairs * np.sum(self._powers / (1 - y * self.noise)) / self._place(y))

    @cached_property
    def _edge_place(self) -> float:
        """The y at which λ(y) has its minimum."""
        from scipy.optimize import minimize_scalar

        most = 1 / self.noise.max()
        found = minimize_scalar(
            lambda log: self._place(most * np.exp(-np.exp(log))),
            bounds=(-30.0, 5.0),
            method="bounded",
            options={"xatol": 1e-10},
        )
        return float(most * np.exp(-np.exp(found.x)))

    def _transform(self, values: Array) -> NDArray[np.complex128]:
        """Return s(λ + i0) + atom/λ, continued from far above the real axis down to it.

        s = ⟨1/(−z(1 + va_n))⟩, where u = (1/d) Σ_n a_n/(−z(1 + va_n)) and
        v = (1/d) Σ_k σ_k²/(−z(1 + uσ_k²)) are found by Newton's method.
        """
        scale, a, b = self.edge, self._pairs, self.noise[self.noise > 0]
        z = values + 1j * scale
        u, v = -a.sum() / (self.dim * z), -b.sum() / (self.dim * z)
        for height in np.geomspace(scale, _HEIGHT * scale, _DESCENT):
            z = values + 1j * height
            for _ in range(4):
                over_a, over_b = a / (1 + v[:, None] * a), b / (1 + u[:, None] * b)
                first = u + over_a.sum(axis=1) / (self.dim * z)
                second = v + over_b.sum(axis=1) / (self.dim * z)
                by_v = -np.square(over_a).sum(axis=1) / (self.dim * z)
                by_u = -np.square(over_b).sum(axis=1) / (self.dim * z)
                determinant = 1 - by_u * by_v
                u, v = (
                    u - (first - by_v * second) / determinant,
                    v - (second - by_u * first) / determinant,
                )
        return np.asarray(-np.mean(1 / (1 + v[:, None] * a), axis=1) / z + self.atom / z)


def spiked_model(
    vectors: ArrayLike, eigenvalues: ArrayLike | None = None, *, equal_pairs: bool = False
) -> SpikedModel:
    """Return the spiked model of task vectors, one row each, from their first two moments.

    The mean and the variances are those of the task vectors; the noise in their mean, σ_k²/N, is
    subtracted from its strength. The variances of pairs are shrunk towards each other by as much as
    they would differ by chance.

    Parameters
    ----------
    vectors
        R_d, of shape N × d; its columns are the features, as in a closed-form embedding.
    eigenvalues
        λ_k of M*. If given, they determine the noise: σ_k² = νλ_k with one ν
        for all features, since the eigenvectors of M* spread their noise evenly over words.
    equal_pairs
        Whether all pairs have the same variance.

    >>> rng = np.random.default_rng(0)
    >>> R = 1.0 + rng.normal(size=(40, 80))
    >>> found = spiked_model(R)
    >>> bool(abs(np.linalg.eigvalsh(R @ R.T / 80)[-1] / found.spike - 1) < 0.05)
    True
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise SettingError(f"A spiked model needs at least 2 task vectors, not shape {rows.shape}.")
    noise = rows.var(axis=0, ddof=1)
    if eigenvalues is not None:
        shape = np.abs(np.asarray(eigenvalues, dtype=np.float64)[: rows.shape[1]])
        noise = shape * noise.sum() / shape.sum()
    pairs = None if equal_pairs else _pair_noise(rows)
    return SpikedModel(len(rows), rows.mean(axis=0), noise, noise / len(rows), pairs)


def _pair_noise(rows: Array) -> Array | None:
    """Return the variance of each task vector relative to their mean; None if they don't differ.

    By chance, squared lengths relative to their mean have the variance 2 Tr Σ²/(Tr Σ)², that of a
    sum of independent squares with the features' variances.
    """
    centred = rows - rows.mean(axis=0)
    lengths = np.square(centred).sum(axis=1)
    if not lengths.any():
        return None
    relative = lengths / lengths.mean()
    variances = centred.var(axis=0)
    by_chance = 2 * np.sum(variances**2) / variances.sum() ** 2
    found = relative.var(ddof=1)
    if found <= by_chance:
        return None
    return np.asarray(1 + np.sqrt(1 - by_chance / found) * (relative - 1))
