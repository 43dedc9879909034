"""The paper's loss of small counts written out, its gradient, and descent on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import optimize

from qwem.cooccurrence import Cooccurrence
from target.count_matrices import probabilities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from qwem.target import Reweighting, Target

    Array = NDArray[np.float64]


def topical_counts(size: int, topics: int, seed: int) -> Cooccurrence:
    """Counts of words that fall into a few topics, some pairs never seen."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(topics, 0.3), size)
    counts = rng.poisson(np.triu(40 * shares @ shares.T))
    counts += np.triu(counts, 1).T
    return Cooccurrence.from_matrix([f"w{i:02}" for i in range(size)], counts)


def weighted_probabilities(counts: Cooccurrence, reweighting: Reweighting) -> tuple[Array, Array]:
    """Ψ⁺ P_ij and Ψ⁻ P_i P_j."""
    p, pp = probabilities(counts)
    return reweighting.positive_weight(counts) * p, reweighting.negative_weight(counts) * pp


def quartic_loss(vectors: Array, positive: Array, negative: Array) -> float:
    """Equation (qwem_loss) of these weighted probabilities."""
    x = vectors @ vectors.T
    return float(np.sum(positive * (x**2 / 4 - x)) + np.sum(negative * (x**2 / 4 + x)))


def numerical_gradient(loss: Callable[[Array], float], vectors: Array) -> Array:
    gradient = np.zeros_like(vectors)
    for index in np.ndindex(*vectors.shape):
        step = np.zeros_like(vectors)
        step[index] = 1e-5
        gradient[index] = (loss(vectors + step) - loss(vectors - step)) / 2e-5
    return gradient


def closed_form(target: Target, dim: int) -> Array:
    """V Λ^½ of the largest eigenvalues of M*; Γ⁻¹ V Λ^½ of those of Γ M* Γ under a coupling."""
    values, vectors = np.linalg.eigh(target.solved_matrix().toarray())
    assert values[-dim] > 0
    scale = 1.0 if target.row_scale is None else target.row_scale[:, None]
    return np.asarray(scale * vectors[:, -dim:] * np.sqrt(values[-dim:]))


def is_least(loss: Callable[[Array], float], solution: Array) -> bool:
    """Return whether nothing near the solution, nor some way off, has a lower loss."""
    rng, least = np.random.default_rng(3), loss(solution)
    return all(
        loss(solution + scale * rng.standard_normal(solution.shape)) > least
        for scale in (1e-3, 0.03, 0.3, 1.0)
        for _ in range(10)
    )


def descend(positive: Array, negative: Array, dim: int, seeds: Iterable[int]) -> list[Any]:
    """Minimize the quartic loss from random starts."""
    shape = (len(positive), dim)

    def loss_and_gradient(flat: Array) -> tuple[float, Array]:
        vectors = flat.reshape(shape)
        x = vectors @ vectors.T
        slope = positive * (x / 2 - 1) + negative * (x / 2 + 1)
        return quartic_loss(vectors, positive, negative), ((slope + slope.T) @ vectors).ravel()

    return [
        optimize.minimize(
            loss_and_gradient,
            np.random.default_rng(seed).standard_normal(shape).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "maxiter": 20_000, "maxfun": 40_000},
        )
        for seed in seeds
    ]
