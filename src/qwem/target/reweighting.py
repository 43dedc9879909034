"""The reweighting coefficients Ψ⁺ and Ψ⁻ of word pairs, as products of factors.

A `Reweighting` is a product of factors, each of which acts on Ψ⁻ or on both, as in the paper's
appendix on reweighting hyperparameters. The factor of Ψ⁺ for windows of random size is part of the
counts (``weights="dynamic"``). The coupling G = Ψ⁺ P_ij + Ψ⁻ P_i P_j follows from
the factors, without computing a matrix.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from qwem.cooccurrence.contexts import acceptance
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from qwem.cooccurrence import Cooccurrence

Vector: TypeAlias = NDArray[np.float64]
Coupling: TypeAlias = Vector | Literal["general"] | None
"""G: None if it is constant, the vector g if G = g gᵀ, otherwise ``"general"``."""


@dataclass(frozen=True)
class Factor:
    """One factor of Ψ⁻ or of both Ψ⁺ and Ψ⁻; factors of equal name and parameters are equal."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    """The parameters as plain data; an array is recorded by its hash."""
    shared: Callable[[Vector], Vector] | None = field(default=None, compare=False)
    """Maps P_i to u, where u_i u_j multiplies both Ψ⁺ and Ψ⁻."""
    negative: Callable[[Vector], tuple[Vector, Vector]] | None = field(default=None, compare=False)
    """Maps P_i to left (V × terms) and right (terms × V), whose product multiplies Ψ⁻."""
    is_symmetric: bool = True


@dataclass(frozen=True)
class Reweighting:
    """A product of factors of Ψ⁺ and Ψ⁻; the empty product is 1 for all pairs.

    >>> setting31() * subsampling()
    Reweighting(setting31 * subsampling)
    """

    factors: tuple[Factor, ...] = ()

    def __post_init__(self) -> None:
        if sum(factor.name == _SETTING31 for factor in self.factors) > 1:
            raise SettingError("A product of reweightings can contain Setting 3.1 only once.")

    def __mul__(self, other: Reweighting) -> Reweighting:
        return Reweighting(self.factors + other.factors)

    def __repr__(self) -> str:
        return f"Reweighting({' * '.join(f.name for f in self.factors) or 'unweighted'})"

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The factors and their parameters, as plain data."""
        return [{"name": factor.name, **factor.parameters} for factor in self.factors]

    @property
    def is_symmetric(self) -> bool:
        """Whether Ψ⁺ and Ψ⁻ are symmetric, as an eigendecomposition needs."""
        return all(factor.is_symmetric for factor in self.factors)

    @property
    def is_setting31(self) -> bool:
        """Whether Setting 3.1 is among the factors."""
        return any(factor.name == _SETTING31 for factor in self.factors)

    def positive_weight(
        self,
        counts: Cooccurrence,
        rows: slice = slice(None),
        curvature: tuple[float, float] = (1.0, 1.0),
    ) -> Vector:
        """Return Ψ⁺ for the pairs of some words (`rows`) with all words, as a dense array.

        `curvature`, the second derivatives at 0 of the two sides of a loss, is used by Setting 3.1
        only.
        """
        return self._weights(counts, rows, curvature)[1]

    def negative_weight(
        self,
        counts: Cooccurrence,
        rows: slice = slice(None),
        curvature: tuple[float, float] = (1.0, 1.0),
    ) -> Vector:
        """Return Ψ⁻ for the pairs of some words (`rows`) with all words, as a dense array."""
        negative, shared = self._weights(counts, rows, curvature)
        return negative * shared

    def coupling(
        self, counts: Cooccurrence, curvature: tuple[float, float] = (1.0, 1.0)
    ) -> Coupling:
        """Return G = Ψ⁺ P_ij f⁺″(0) + Ψ⁻ P_i P_j f⁻″(0), if there is a closed form for it.

        Under Setting 3.1 it is a constant times the factors common to Ψ⁺ and Ψ⁻. Otherwise, if the
        positive side of the loss is not curved (f⁺″(0) = 0, as in SimCLR), only P_i P_j and its
        factors remain, and G is separable if they are. In all other cases it is ``"general"``.
        """
        probability = word_probability(counts)
        shared = [f.shared(probability) for f in self.factors if f.shared is not None]
        if self.is_setting31:
            return np.multiply.reduce(shared) if shared else None
        left, right = self._negative_terms(probability)
        if curvature[0] == 0 and left.shape[1] == 1 and self.is_symmetric:
            base = np.sqrt(curvature[1] * left[:, 0] * right[0]) * probability
            return np.multiply.reduce([base, *shared])
        return "general"

    def expected_counts(self, counts: Cooccurrence) -> tuple[Vector, Vector]:
        """Return ΣC · P_i P_j times the negative-only part of Ψ⁻, as factors: E = left @ right."""
        probability = word_probability(counts)
        left, right = self._negative_terms(probability)
        scale = np.sqrt(counts.symmetric.total) * probability
        return np.ascontiguousarray(scale[:, None] * left), np.ascontiguousarray(right * scale)

    def _negative_terms(self, probability: Vector) -> tuple[Vector, Vector]:
        """Return the product of the negative-only factors, each a sum of separable terms."""
        left, right = np.ones((probability.size, 1)), np.ones((1, probability.size))
        for factor in self.factors:
            if factor.negative is not None:
                a, b = factor.negative(probability)
                left = (left[:, :, None] * a[:, None, :]).reshape(probability.size, -1)
                right = (right[:, None, :] * b[None, :, :]).reshape(-1, probability.size)
        return left, right

    def _weights(
        self, counts: Cooccurrence, rows: slice, curvature: tuple[float, float]
    ) -> tuple[Vector, Vector]:
        """Return the negative-only and the common factor (with Setting 3.1)."""
        probability = word_probability(counts)
        left, right = self._negative_terms(probability)
        negative = left[rows] @ right
        shared = np.ones_like(negative)
        if self.is_setting31:
            found: Any = counts.symmetric.matrix[rows]
            pairs = (found.toarray() if sparse.issparse(found) else found) / counts.symmetric.total
            independent = np.outer(probability[rows], probability)
            shared /= curvature[0] * pairs + curvature[1] * negative * independent
        for factor in self.factors:
            if factor.shared is not None:
                u = factor.shared(probability)
                shared *= np.outer(u[rows], u)
        return negative, shared


_SETTING31 = "setting31"


def setting31() -> Reweighting:
    """Ψ⁺ = Ψ⁻ = 1/(P_ij + P_i P_j), the paper's example of Setting 3.1: the coupling G is constant.

    In a product with factors of only one of Ψ⁺ and Ψ⁻, it divides by the sum that these give,
    Ψ⁺ P_ij + Ψ⁻ P_i P_j, so that G stays constant as Setting 3.1 demands. Factors of both
    (`subsampling`, `rank_one`) multiply G.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> setting31().coupling(counts) is None
    True
    """
    return Reweighting((Factor(_SETTING31),))


def unweighted() -> Reweighting:
    """Ψ⁺ = Ψ⁻ = 1: no reweighting, the unit of the product."""
    return Reweighting()


def rank_one(g: ArrayLike) -> Reweighting:
    """Ψ⁺ = Ψ⁻ = g_i g_j for a positive vector g: with Setting 3.1, G = g gᵀ (Proposition 3.3).

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> (setting31() * rank_one([3.0, 1.0])).coupling(counts)
    array([3., 1.])
    """
    vector = np.array(g, dtype=np.float64)
    if vector.ndim != 1 or not np.all(np.isfinite(vector) & (vector > 0)):
        raise SettingError("A rank-one coupling g gᵀ needs a vector g of positive numbers.")

    def shared(probability: Vector) -> Vector:
        if vector.size != probability.size:
            raise SettingError(
                f"A rank-one coupling for {probability.size:,} words needs a vector of that "
                f"length, not of {vector.size:,}."
            )
        return vector

    return Reweighting((Factor("rank_one", {"g": _digest(vector)}, shared=shared),))


def subsampling(subsample: float = 1e-3) -> Reweighting:
    """Ψ⁺ = Ψ⁻ = a_i a_j with word2vec's acceptance a_i = min(1, √(t/P_i) + t/P_i), t = `subsample`.

    It cancels in every target and remains in the coupling: with Setting 3.1, G = a aᵀ. Dropping
    words *before* windows are drawn is different: see `subsample` in `Cooccurrence.count`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> (setting31() * subsampling(0.1)).coupling(counts).round(3)
    array([0.498, 1.   ])
    """
    acceptance(np.ones(1), subsample)  # refuse a bad value now, not at first use

    def shared(probability: Vector) -> Vector:
        return acceptance(probability, subsample)

    return Reweighting((Factor("subsampling", {"subsample": subsample}, shared=shared),))


def negative_sampling(
    exponent: float = 0.75,
    negatives: float = 5.0,
    symmetrize: Literal["geometric", "arithmetic"] | None = "geometric",
    normalization: Literal["samples", "words"] = "samples",
) -> Reweighting:
    """Ψ⁻ for k = `negatives` samples drawn from P_j^exponent: k P_j^(exponent − 1) / Z.

    `normalization` chooses Z. With ``"samples"`` it is Σ P^exponent, so that the distribution of
    samples sums to one and every positive pair has k negatives. With ``"words"`` it is the paper's,
    the mean V⁻¹ Σ P^(exponent − 1) over words, so that Ψ⁻ averaged over words is k. The few
    frequent words have a smaller Ψ⁻; for 10,000 words that follow Zipf's law, every positive pair
    then has 0.47 k negatives.

    Ψ⁻ is asymmetric, and a target needs a symmetric one: ``"geometric"``, √(Ψ⁻_ij Ψ⁻_ji), keeps it
    separable and is context-distribution smoothing shared by both words; ``"arithmetic"``, the mean
    of Ψ⁻_ij and Ψ⁻_ji, leaves the loss of a tied model as it is. With None it stays asymmetric, for
    training only.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> negative_sampling(exponent=1.0, negatives=2.0).negative_weight(counts)[0, 1].round(6).item()
    2.0
    """
    if not math.isfinite(exponent):
        raise SettingError(f"exponent must be a finite number, not {exponent}.")
    if not (math.isfinite(negatives) and negatives > 0):
        raise SettingError(f"negatives must be a positive number, not {negatives}.")
    if symmetrize not in ("geometric", "arithmetic", None):
        raise SettingError(
            f"symmetrize must be 'geometric', 'arithmetic' or None, not {symmetrize!r}."
        )

    if normalization not in ("samples", "words"):
        raise SettingError(f"normalization must be samples or words, not {normalization!r}.")

    def terms(probability: Vector) -> tuple[Vector, Vector]:
        power = probability ** (exponent - 1)
        average = power @ probability if normalization == "samples" else power.mean()
        weight = negatives * power / average
        ones = np.ones_like(weight)
        if exponent == 1 or symmetrize == "geometric":
            left = right = np.sqrt(weight)[:, None]
        elif symmetrize == "arithmetic":
            left = np.stack([weight / 2, ones], axis=1)
            right = np.stack([ones, weight / 2], axis=1)
        else:
            left, right = ones[:, None], weight[:, None]
        return left, right.T

    parameters: dict[str, Any] = {
        "exponent": exponent,
        "negatives": negatives,
        "symmetrize": symmetrize,
    }
    if normalization != "samples":
        parameters["normalization"] = normalization
    symmetric = symmetrize is not None or exponent == 1
    return Reweighting(
        (Factor("negative_sampling", parameters, negative=terms, is_symmetric=symmetric),)
    )


def word_probability(counts: Cooccurrence) -> Vector:
    """Return P_i, the relative frequency of each word; none may be zero."""
    occurrences = counts.word_counts.astype(np.float64)
    if not np.all(occurrences > 0):
        word = counts.vocabulary.words[int(np.argmin(occurrences))]
        raise SettingError(
            f"The word {word!r} never occurs, or subsampling dropped it; leave it out of the "
            "vocabulary, for instance by `Corpus.recode`, or subsample less."
        )
    if counts.symmetric.total == 0:
        raise SettingError("No pair of words occurs in these counts; count a longer text.")
    return occurrences / occurrences.sum()


def _digest(array: NDArray[Any]) -> str:
    """Return a hash that identifies this array in the settings of an artefact."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
