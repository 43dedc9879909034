"""Weights of word pairs in the form a trainer computes with, and the unit of time they imply.

The coupling of a loss is G_ij = Ψ⁺ P_ij f⁺″(0) + Ψ⁻ P_i P_j f⁻″(0), in units of the mean curvature
(f⁺″(0) + f⁻″(0))/2, so that for the paper's loss it is the paper's G. The paper's time is that of
the flow dW/dt = −∇L/(2g) of the quartic loss, whose mean curvature c is ½. A loss of another
curvature is, to second order, the quartic one times 2c; so in general dW/dt = −∇L/(4cg), and a
step W ← W − η∇L advances time by

    Δt = 4 c g η:   2gη for the quartic loss, gη for the logistic one.

It is the same for untied weights, where L has two gradients, and for minibatches, whose loss is an
unbiased estimate of L. Under Setting 3.1, g = 1. Where G isn't constant, g is its mean over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import blocks
from qwem.target import Reweighting, negative_sampling, setting31, subsampling

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from qwem.cooccurrence import Cooccurrence
    from qwem.training.losses import Loss

    Vector = NDArray[np.float64]


_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class Weighting:
    """Ψ⁺ P_ij = s C_ij u_i u_j / n and Ψ⁻ P_i P_j = s E_ij u_i u_j, with E = left @ right.

    C are counts, n their sum, u the factor that Ψ⁺ and Ψ⁻ share, and s is 1, or under Setting 3.1
    1/(a C_ij/n + b E_ij) with the curvatures a and b.
    """

    counts: NDArray[Any] | sparse.csr_array[Any]
    total: float
    left: Vector
    right: Vector
    shared: Vector
    curvature: tuple[float, float] | None
    """a and b under Setting 3.1, else None."""
    mean_coupling: float
    """g."""
    is_symmetric: bool


def weigh(counts: Cooccurrence, reweighting: Reweighting, loss: Loss) -> Weighting:
    """Bring a reweighting into the form above."""
    total = float(counts.pair_counts.total)
    left, right = (side / np.sqrt(total) for side in reweighting.expected_counts(counts))
    # The coupling of Setting 3.1 times a product is exactly the factor that its sides share.
    normalised = reweighting if reweighting.is_setting31 else setting31() * reweighting
    coupling = normalised.coupling(counts)
    shared = coupling if isinstance(coupling, np.ndarray) else np.ones(len(left))
    weighted = reweighting.weighted_counts(counts)
    a, b = loss.relative_curvature
    if reweighting.is_setting31:
        mean = float(shared.mean() ** 2)
    else:
        positive = weighted_sum(weighted, shared) / total
        negative = float((shared @ left) @ (right @ shared))
        mean = (a * positive + b * negative) / len(left) ** 2
    return Weighting(
        weighted,
        total,
        left,
        right,
        shared,
        (a, b) if reweighting.is_setting31 else None,
        mean,
        reweighting.is_symmetric,
    )


def weighted_sum(counts: NDArray[Any] | sparse.csr_array[Any], factor: Vector) -> float:
    """Return Σ C_ij u_i u_j, some rows at a time: integers are not widened all at once."""
    size = len(factor)
    parts = blocks(size, size, most=_BLOCK_ENTRIES)
    return float(sum(factor[rows] @ (counts[rows] @ factor) for rows in parts))


def time_per_rate(weighting: Weighting, loss: Loss) -> float:
    """Return 4cg, the paper's time that a step of rate 1 takes."""
    return 4 * loss.mean_curvature * weighting.mean_coupling


def word2vec_weighting(
    threshold: float = 1e-3, exponent: float = 0.75, k: float = 5.0
) -> Reweighting:
    """Return word2vec's Ψ⁺ and Ψ⁻: subsampling, and k negatives from P_j^exponent.

    Its windows of random size are in the counts already (``weights="dynamic"``). Ψ⁻ is asymmetric
    as in word2vec: contexts are drawn, centers are not. Subsampling weighs both sides (paper,
    appendix on reweighting hyperparameters), so a negative j is drawn in proportion to a_j q_j, and
    a positive pair has k Σ a_j q_j / Σ a_j P_j of them: on English with a threshold of 1e-5, some
    1.6 k.

    >>> word2vec_weighting()
    Reweighting(subsampling * negative_sampling)
    """
    return subsampling(threshold) * negative_sampling(exponent, k, symmetrise=None)
