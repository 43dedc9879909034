"""Weights of word pairs in the form that trainers use, and the unit of time that they imply.

The coupling of a loss is G_ij = Ψ⁺ P_ij f⁺″(0) + Ψ⁻ P_i P_j f⁻″(0), in units of the mean curvature
c = (f⁺″(0) + f⁻″(0))/2. For the paper's loss, whose c is ½, it is the paper's G. The paper's time
is that of the flow dW/dt = −∇L/(2g) of the quartic loss. To second order, any other loss is the
quartic one times 2c. In general the flow is therefore dW/dt = −∇L/(4cg), and a step W ← W − η∇L
advances time by

    Δt = 4 c g η:   2gη for the quartic loss, gη for the logistic one.

The same holds for untied weights, where L has two gradients, and for minibatches, whose loss is an
unbiased estimate of L. Under Setting 3.1, g = 1. Where G is not constant, g is its mean over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qwem._internal.arrays import blocks
from qwem.errors import SettingError
from qwem.target import Reweighting, negative_sampling, setting31, subsampling

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from qwem.cooccurrence import Cooccurrence
    from qwem.training.losses import Loss

    Vector = NDArray[np.float64]


_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class PairWeights:
    """Weights Ψ⁺ P_ij = s_ij C_ij u_i u_j / n and Ψ⁻ P_i P_j = s_ij E_ij u_i u_j of all pairs.

    C are the counts, n is their sum, E = left @ right, and u is the factor that Ψ⁺ and Ψ⁻ share.
    s_ij is 1, or 1/(a C_ij/n + b E_ij) under Setting 3.1 with the curvatures a and b. Shrinkage α
    adds `evidence` = α/2n to every C_ij/n; E includes it already.
    """

    counts: NDArray[Any] | sparse.csr_array[Any]
    total: float
    left: Vector
    right: Vector
    shared: Vector
    curvature: tuple[float, float] | None
    """a and b under Setting 3.1, otherwise None."""
    mean_coupling: float
    """g."""
    is_symmetric: bool
    evidence: float = 0.0

    def toarrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Ψ⁺ P_ij and Ψ⁻ P_i P_j of all pairs."""
        counts: Any = self.counts
        seen = counts if isinstance(counts, np.ndarray) else counts.toarray()
        positive, negative = seen / self.total + self.evidence, self.left @ self.right
        scale = np.outer(self.shared, self.shared)
        if self.curvature is not None:
            a, b = self.curvature
            scale = scale / (a * positive + b * negative)
        return positive * scale, negative * scale


def pair_weights(
    counts: Cooccurrence, reweighting: Reweighting, loss: Loss, shrinkage: float = 0.0
) -> PairWeights:
    """Return the weights of all pairs under a reweighting."""
    if not (np.isfinite(shrinkage) and shrinkage >= 0):
        raise SettingError(f"shrinkage must be zero or a positive number, not {shrinkage}.")
    total = float(counts.symmetric.total)
    evidence = shrinkage / 2 / total
    left, right = (side / np.sqrt(total) for side in reweighting.expected_counts(counts))
    if evidence:
        left = np.pad(left, ((0, 0), (0, 1)), constant_values=np.sqrt(evidence))
        right = np.pad(right, ((0, 1), (0, 0)), constant_values=np.sqrt(evidence))
    # Under Setting 3.1 the coupling is the factor that Ψ⁺ and Ψ⁻ share.
    normalized = reweighting if reweighting.is_setting31 else setting31() * reweighting
    coupling = normalized.coupling(counts)
    shared = coupling if isinstance(coupling, np.ndarray) else np.ones(len(left))
    a, b = loss.relative_curvature
    if reweighting.is_setting31:
        mean = float(shared.mean() ** 2)
    else:
        positive = (
            weighted_sum(counts.symmetric.matrix, shared) / total + evidence * shared.sum() ** 2
        )
        negative = float((shared @ left) @ (right @ shared))
        mean = (a * positive + b * negative) / len(left) ** 2
    return PairWeights(
        counts.symmetric.matrix,
        total,
        left,
        right,
        shared,
        (a, b) if reweighting.is_setting31 else None,
        mean,
        reweighting.is_symmetric,
        evidence,
    )


def weighted_sum(counts: NDArray[Any] | sparse.csr_array[Any], factor: Vector) -> float:
    """Return Σ C_ij u_i u_j, converting a block of integer rows at a time."""
    size = len(factor)
    parts = blocks(size, size, most=_BLOCK_ENTRIES)
    return float(sum(factor[rows] @ (counts[rows] @ factor) for rows in parts))


def time_per_rate(weights: PairWeights, loss: Loss) -> float:
    """Return 4cg, the paper's time covered by a step of rate 1."""
    return 4 * loss.mean_curvature * weights.mean_coupling


def word2vec_reweighting(
    subsample: float = 1e-3,
    exponent: float = 0.75,
    negatives: float = 5.0,
    normalization: Literal["samples", "words"] = "samples",
) -> Reweighting:
    """Return word2vec's Ψ⁺ and Ψ⁻: subsampling, and negatives drawn from P_j^exponent.

    Its windows of random size are part of the counts (``weights="dynamic"``). Ψ⁻ is asymmetric, as
    in word2vec: contexts are drawn, centres are not. Subsampling multiplies both Ψ⁺ and Ψ⁻ (paper,
    appendix on reweighting hyperparameters), so a negative j is drawn in proportion to a_j q_j,
    where a_j is the probability of keeping word j and q_j ∝ P_j^exponent. Each positive pair has
    `negatives` · Σ a_j q_j / Σ a_j P_j negatives: about 1.6 times `negatives` for English text and
    subsample=1e-5. `normalization` is that of `negative_sampling`; ``"words"`` is the paper's
    formula.

    >>> word2vec_reweighting()
    Reweighting(subsampling * negative_sampling)
    """
    return subsampling(subsample) * negative_sampling(exponent, negatives, None, normalization)
