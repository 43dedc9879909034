"""Proposition 3.3: QWEM is weighted factorization of M*, solved where the coupling is rank one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import optimize

from qwem.cooccurrence import Cooccurrence
from qwem.errors import SettingError
from qwem.target import mstar, negative_sampling, rank_one, setting31, subsampling
from qwem.target.reweighting import unweighted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.target import Reweighting

    Array = NDArray[np.float64]

SIZE, DIM = 12, 3
GENERAL = {
    "none": unweighted(),
    "word2vec": subsampling(0.02) * negative_sampling(symmetrize="arithmetic"),
    "rank one without Setting 3.1": rank_one(np.linspace(1, 3, SIZE)),
}
RANK_ONE = {
    "subsampling": setting31() * subsampling(0.02),
    "any vector": setting31() * rank_one(np.geomspace(0.1, 20, SIZE)),
    "both, and smoothing": (
        setting31() * rank_one(np.linspace(1, 2, SIZE)) * subsampling(0.05) * negative_sampling()
    ),
}


def topical_counts() -> Cooccurrence:
    """Counts of words that fall into a few topics, some pairs never seen."""
    rng = np.random.default_rng(6)
    topics = rng.dirichlet(np.full(4, 0.3), SIZE)
    counts = rng.poisson(np.triu(40 * topics @ topics.T))
    counts += np.triu(counts, 1).T
    return Cooccurrence.from_matrix([f"w{i:02}" for i in range(SIZE)], counts)


def weighted_probabilities(counts: Cooccurrence, reweighting: Reweighting) -> tuple[Array, Array]:
    """Ψ⁺ P_ij and Ψ⁻ P_i P_j."""
    pairs = np.asarray(counts.symmetric.toarray(), dtype=np.float64)
    words = counts.word_counts / counts.word_counts.sum()
    return (
        reweighting.positive_weight(counts) * pairs / pairs.sum(),
        reweighting.negative_weight(counts) * np.outer(words, words),
    )


def quartic_loss(vectors: Array, positive: Array, negative: Array) -> float:
    """Equation (qwem_loss) of these weighted probabilities."""
    x = vectors @ vectors.T
    return float(np.sum(positive * (x**2 / 4 - x)) + np.sum(negative * (x**2 / 4 + x)))


@pytest.mark.parametrize("name", [*GENERAL, *RANK_ONE])
def test_the_loss_is_a_weighted_distance_to_the_target(name: str) -> None:
    counts, reweighting = topical_counts(), (GENERAL | RANK_ONE)[name]
    positive, negative = weighted_probabilities(counts, reweighting)
    matrix = mstar(counts, reweighting=reweighting, dtype=np.float64).toarray()
    coupling = positive + negative
    for seed, scale in enumerate((0.01, 1.0, 3.0)):
        vectors = scale * np.random.default_rng(seed).standard_normal((SIZE, DIM))
        x = vectors @ vectors.T
        distance = np.sum(coupling * (x - matrix) ** 2) - np.sum(coupling * matrix**2)
        np.testing.assert_allclose(
            quartic_loss(vectors, positive, negative), distance / 4, rtol=1e-9
        )


@pytest.mark.parametrize("name", [*GENERAL, *RANK_ONE])
def test_the_gradient_is_that_of_the_weighted_distance(name: str) -> None:
    counts, reweighting = topical_counts(), (GENERAL | RANK_ONE)[name]
    positive, negative = weighted_probabilities(counts, reweighting)
    matrix = mstar(counts, reweighting=reweighting, dtype=np.float64).toarray()
    vectors = np.random.default_rng(1).standard_normal((SIZE, DIM))
    numerical = np.zeros_like(vectors)
    for index in np.ndindex(*vectors.shape):
        step = np.zeros_like(vectors)
        step[index] = 1e-5
        above = quartic_loss(vectors + step, positive, negative)
        below = quartic_loss(vectors - step, positive, negative)
        numerical[index] = (above - below) / 2e-5
    expected = ((positive + negative) * (vectors @ vectors.T - matrix)) @ vectors
    scale = np.abs(expected).max()
    np.testing.assert_allclose(numerical, expected, atol=1e-6 * scale)


@pytest.mark.parametrize("name", GENERAL)
def test_a_coupling_that_is_not_rank_one_has_no_closed_form(name: str) -> None:
    target = mstar(topical_counts(), reweighting=GENERAL[name])
    with pytest.raises(SettingError, match="NP-hard"):
        target.solved_matrix()


def closed_form(counts: Cooccurrence, reweighting: Reweighting) -> Array:
    """Γ⁻¹ V Λ^½ of Γ M* Γ."""
    target = mstar(counts, reweighting=reweighting, dtype=np.float64)
    values, vectors = np.linalg.eigh(target.solved_matrix().toarray())
    assert values[-DIM] > 0
    assert target.row_scale is not None
    solution: Array = target.row_scale[:, None] * vectors[:, -DIM:] * np.sqrt(values[-DIM:])
    return solution


@pytest.mark.parametrize("name", RANK_ONE)
def test_a_rank_one_coupling_is_solved_and_nothing_beats_it(name: str) -> None:
    counts, reweighting = topical_counts(), RANK_ONE[name]
    positive, negative = weighted_probabilities(counts, reweighting)
    solution = closed_form(counts, reweighting)
    least = quartic_loss(solution, positive, negative)
    rng = np.random.default_rng(3)
    for scale in (1e-3, 0.03, 0.3, 1.0):
        for _ in range(20):
            moved = solution + scale * rng.standard_normal(solution.shape)
            assert quartic_loss(moved, positive, negative) > least

    def loss_and_gradient(flat: Array) -> tuple[float, Array]:
        vectors = flat.reshape(SIZE, DIM)
        x = vectors @ vectors.T
        slope = positive * (x / 2 - 1) + negative * (x / 2 + 1)
        return quartic_loss(vectors, positive, negative), ((slope + slope.T) @ vectors).ravel()

    ends = [
        optimize.minimize(
            loss_and_gradient,
            np.random.default_rng(seed).standard_normal(SIZE * DIM),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "maxiter": 20_000, "maxfun": 40_000},
        ).fun
        for seed in range(6)
    ]
    assert min(ends) >= least - 1e-9 * abs(least)
    np.testing.assert_allclose(min(ends), least, rtol=1e-6)


def test_the_unweighted_solution_is_not_the_weighted_one() -> None:
    """The coupling matters: Theorem 3.2's solution loses under another G."""
    counts, reweighting = topical_counts(), RANK_ONE["any vector"]
    positive, negative = weighted_probabilities(counts, reweighting)
    values, vectors = np.linalg.eigh(mstar(counts, dtype=np.float64).toarray())
    unweighted = vectors[:, -DIM:] * np.sqrt(values[-DIM:])
    best = quartic_loss(closed_form(counts, reweighting), positive, negative)
    assert quartic_loss(unweighted, positive, negative) > best + 0.01 * abs(best)
