"""Spiked model of task vectors: one shared direction plus noise that differs between features.

N task vectors r_n = m + Σ^½ z_n share the mean m, and z_n is white noise. Let σ_k² be the variance
on feature k, b_k = Nσ_k²/d, and p_k = N m_k²/d the strength of the mean there. As N and d grow, the
spectrum of G/d has (docs/theory/spiked-model.md)

    a bulk      whose Stieltjes transform s(z) solves  z = −1/s + (1/N) Σ_k b_k/(1 + b_k s),
    an edge     at the minimum of z(s) over −1/max b < s < 0,
    a spike     at z(s) for the s between the edge's and 0 with  −s Σ_k p_k/(1 + b_k s) = 1.

Where no such s exists the mean is too weak to show: that is the transition of Baik, Ben Arous and
Péché. With equal variances the bulk is Marchenko and Pastur's law.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from qwem._internal.results import Plain
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

# Newton's steps on the way from far above the real axis down to it, and how far above it ends.
_DESCENT = 30
_HEIGHT = 1e-5


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
    )
    count: int
    """N, the number of task vectors."""
    mean: Array = field(repr=False)
    """m, the mean task vector on each of the d features."""
    noise: Array = field(repr=False)
    """σ_k², the variance of the task vectors on each feature."""
    bias: Array | None = field(default=None, repr=False)
    """What to subtract from m_k², where the mean is estimated: σ_k²/N. None subtracts nothing."""

    def __post_init__(self) -> None:
        shapes = {np.shape(self.mean), np.shape(self.noise)}
        if len(shapes) > 1 or np.ndim(self.mean) != 1:
            raise SettingError(f"mean and noise must have one number per feature, not {shapes}.")
        if self.count < 2 or np.min(self.noise) < 0 or np.max(self.noise) <= 0:
            raise SettingError("A spiked model needs two task vectors and some noise.")

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
        return self.strength + self.count * float(np.sum(self.noise)) / self.dim

    @cached_property
    def edge(self) -> float:
        """λ₊, the upper edge of the bulk."""
        return float(self._place(self._edge_transform))

    @cached_property
    def threshold(self) -> float:
        """The strength N|m|²/d above which a mean of this direction has a spike of its own.

        For equal variances it is σ²√γ with γ = N/d (Baik, Ben Arous and Péché).
        """
        at_edge = self._response(self._edge_transform)
        return self.strength / at_edge if min(at_edge, self.strength) > 0 else np.inf

    @cached_property
    def spike(self) -> float:
        """The largest eigenvalue of G/d: the spike, or the edge where there is none."""
        if not self.has_spike:
            return self.edge
        from scipy.optimize import brentq

        found = brentq(lambda s: self._response(s) - 1.0, self._edge_transform, 0.0, xtol=1e-300)
        return float(self._place(found))

    @property
    def has_spike(self) -> bool:
        """Whether the mean is strong enough to be seen in the spectrum."""
        return self.strength > self.threshold

    @property
    def signal_in_mean(self) -> float:
        """The expected share of the mean task vector in the spike, 1ᵀG1/(N·λ_max)."""
        return min(1.0, (self.strength + float(np.sum(self.noise)) / self.dim) / self.spike)

    @property
    def snr(self) -> float:
        """The paper's signal-to-noise ratio λ_max·rank/Tr of G that the model predicts."""
        return self.spike * min(self.count, self.dim) / self.trace

    def density(self, eigenvalues: ArrayLike) -> Array:
        """Return the density of the bulk at each of these, −Im s(λ + i0)/π up to its sign.

        The eigenvalues that are exactly zero, which there are where d < N, are not in it.

        >>> white = SpikedModel(15, mean=np.zeros(60), noise=np.ones(60))
        >>> white.density([1.0]).round(3)
        array([0.616])
        """
        values = np.asarray(eigenvalues, dtype=np.float64)
        inside = (values > 0) & (values < self.edge)
        density = np.zeros_like(values)
        density[inside] = self._transform(values[inside]).imag / np.pi
        return density

    @property
    def _variances(self) -> Array:
        """b_k = Nσ_k²/d."""
        return self.count * np.asarray(self.noise, np.float64) / self.dim

    @property
    def _powers(self) -> Array:
        """p_k = N m_k²/d, without bias."""
        squares = np.square(np.asarray(self.mean, np.float64))
        return self.count * (squares if self.bias is None else squares - self.bias) / self.dim

    def _place(self, s: float) -> float:
        """Return z(s) on the real axis."""
        b = self._variances
        return float(-1 / s + np.mean(b / (1 + b * s)) * self.dim / self.count)

    def _response(self, s: float) -> float:
        """Return −s Σ_k p_k/(1 + b_k s), which is 1 at the spike."""
        return float(-s * np.sum(self._powers / (1 + self._variances * s)))

    @cached_property
    def _edge_transform(self) -> float:
        """The s at which z(s) has its minimum between −1/max b and 0."""
        from scipy.optimize import brentq

        b = self._variances
        lowest = -1 / b.max()

        def slope(s: float) -> float:  # s² times z′(s), which is increasing
            return float(1 - np.sum(np.square(b * s / (1 + b * s))) / self.count)

        return float(brentq(slope, lowest * (1 - 1e-12), lowest * 1e-12))

    def _transform(self, values: Array) -> NDArray[np.complex128]:
        """Return s(λ + i0) by Newton's method, followed from far above the real axis down to it."""
        b = self._variances[self._variances > 0]
        scale = self.edge
        s = -1 / (values + 1j * scale)
        for height in np.geomspace(scale, _HEIGHT * scale, _DESCENT):
            z = values + 1j * height
            for _ in range(3):
                ratio = b / (1 + b * s[:, None])
                value = -1 / s + ratio.sum(axis=1) / self.count - z
                slope = 1 / s**2 - np.square(ratio).sum(axis=1) / self.count
                s = s - value / slope
        return np.asarray(s)


def spiked_model(vectors: ArrayLike, eigenvalues: ArrayLike | None = None) -> SpikedModel:
    """Return the spiked model of task vectors, one row each, from their first two moments.

    The mean and the variances are those of the task vectors; the noise in their mean, σ_k²/N, is
    subtracted from its strength.

    Parameters
    ----------
    vectors
        R_d, of shape N × d; its columns are the features, as in a closed-form embedding.
    eigenvalues
        λ_k of M*. Where they are given, the noise is read off the spectrum: σ_k² = νλ_k with one ν
        for all features, since the eigenvectors of M* spread their noise evenly over words.

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
    return SpikedModel(len(rows), rows.mean(axis=0), noise, noise / len(rows))
