"""The single choices that a `Reweighting` is a product of, one class each."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
from scipy import sparse

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Vector: TypeAlias = NDArray[np.float64]
    Matrix: TypeAlias = NDArray[Any] | sparse.csr_array[Any]


class Choice:
    """A factor of Ψ⁺ and Ψ⁻; here the neutral one, for others to override."""

    name: ClassVar[str]

    @property
    def is_symmetric(self) -> bool:
        """Whether the factors are symmetric."""
        return True

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, as plain data."""
        return {}

    def shared(self, probability: Vector) -> Vector | None:
        """Return u of a factor u_i u_j in both Ψ⁺ and Ψ⁻, or None where it is 1."""
        return None

    def negative(self, probability: Vector) -> tuple[Vector, Vector] | None:
        """Return a factor of Ψ⁻ alone as left (V × terms) and right (terms × V), or None."""
        return None

    def weighted(self, matrix: Matrix, counts: Cooccurrence) -> Matrix:
        """Return pair counts times the factor of Ψ⁺ alone."""
        return matrix


@dataclass(frozen=True)
class Setting31(Choice):
    """Both weights divided by their sum G, see `reweighting.setting31`."""

    name: ClassVar[str] = "setting31"


@dataclass(frozen=True, eq=False)
class RankOne(Choice):
    """Both weights times g_i g_j."""

    g: Vector = field(repr=False)
    name: ClassVar[str] = "rank_one"

    def __post_init__(self) -> None:
        if self.g.ndim != 1 or not np.all(np.isfinite(self.g) & (self.g > 0)):
            raise SettingError("A rank-one coupling g gᵀ needs a vector g of positive numbers.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What tells this g from others."""
        return {"g": hashlib.sha256(self.g.tobytes()).hexdigest()}

    def shared(self, probability: Vector) -> Vector:
        """Return g."""
        if self.g.size != probability.size:
            raise SettingError(
                f"A rank-one coupling for {probability.size:,} words needs a vector of that "
                f"length, not of {self.g.size:,}."
            )
        return self.g


@dataclass(frozen=True)
class Subsampling(Choice):
    """Both weights times the acceptance probabilities of the two words."""

    threshold: float
    name: ClassVar[str] = "subsampling"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.threshold) and self.threshold > 0):
            raise SettingError(f"threshold must be a positive number, not {self.threshold}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """The threshold."""
        return {"threshold": self.threshold}

    def shared(self, probability: Vector) -> Vector:
        """Return the acceptance probability of each word."""
        ratio = self.threshold / probability
        return np.minimum(1.0, ratio + np.sqrt(ratio))


@dataclass(frozen=True)
class NegativeSampling(Choice):
    """Ψ⁻ of k samples from a power of the word distribution."""

    exponent: float
    k: float
    symmetrise: Literal["geometric", "arithmetic"] | None
    name: ClassVar[str] = "negative_sampling"

    def __post_init__(self) -> None:
        if not math.isfinite(self.exponent):
            raise SettingError(f"exponent must be a finite number, not {self.exponent}.")
        if not (math.isfinite(self.k) and self.k > 0):
            raise SettingError(f"k must be a positive number of negatives, not {self.k}.")
        if self.symmetrise not in ("geometric", "arithmetic", None):
            raise SettingError(
                f"symmetrise must be 'geometric', 'arithmetic' or None, not {self.symmetrise!r}."
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """The exponent, k, and how it is made symmetric."""
        return {"exponent": self.exponent, "k": self.k, "symmetrise": self.symmetrise}

    @property
    def is_symmetric(self) -> bool:
        """Whether Ψ⁻ is symmetric: by choice, or because it does not depend on the word."""
        return self.symmetrise is not None or self.exponent == 1

    def negative(self, probability: Vector) -> tuple[Vector, Vector]:
        """Return Ψ⁻ as one separable term, or two where it is an arithmetic mean."""
        weight = self.k * probability ** (self.exponent - 1) / np.sum(probability**self.exponent)
        ones = np.ones_like(weight)
        if self.exponent == 1 or self.symmetrise == "geometric":
            left = right = np.sqrt(weight)[:, None]
        elif self.symmetrise == "arithmetic":
            left = np.stack([weight / 2, ones], axis=1)
            right = np.stack([ones, weight / 2], axis=1)
        else:
            left, right = ones[:, None], weight[:, None]
        return left, right.T


@dataclass(frozen=True, eq=False)
class DynamicWindow(Choice):
    """Ψ⁺ of windows of random size, from the mean distance of each pair."""

    mean_distance: NDArray[Any] | sparse.sparray = field(repr=False)
    name: ClassVar[str] = "dynamic_window"

    def weighted(self, matrix: Matrix, counts: Cooccurrence) -> Matrix:
        """Return counts times L + 1 − d_ij, scaled to keep their sum."""
        if counts.weights is None or len(set(counts.weights)) > 1:
            raise SettingError(
                "dynamic_window needs flat counts: counts with weights='flat', or "
                "from_matrix(..., weights=[1, 1, …]); weighted ones contain its factor already."
            )
        if self.mean_distance.shape != counts.pair_counts.shape:
            raise SettingError(
                f"The mean distances have shape {self.mean_distance.shape} and the counts "
                f"{counts.pair_counts.shape}; they need the same words in the same order."
            )
        longest = len(counts.weights)
        flat: Any = matrix * 1.0
        weighted: Any = flat * (longest + 1) - _times(flat, self.mean_distance)
        rounding = 1e-9 * flat.max()
        if min((weighted - flat).min(), (flat * longest - weighted).min()) < -rounding:
            raise SettingError(
                f"Mean distances must lie between 1 and the window, {longest}, wherever a pair "
                "occurs."
            )
        if abs(weighted - weighted.T).max() > rounding:
            raise SettingError("Mean distances must be symmetric.")
        result: Matrix = weighted * (counts.pair_counts.total / weighted.sum())
        return result


def _times(matrix: Matrix, factor: NDArray[Any] | sparse.sparray) -> Matrix:
    """Return the element-wise product, in the form of `matrix`."""
    if isinstance(matrix, np.ndarray):
        return matrix * (factor.toarray() if isinstance(factor, sparse.sparray) else factor)
    return sparse.csr_array(matrix.multiply(factor))
