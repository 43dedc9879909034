"""Theorem 3.2: under Setting 3.1, QWEM is unweighted matrix factorization of M*."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import optimize

from qwem.cooccurrence import Cooccurrence
from qwem.target import mstar, negative_sampling, setting31

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.target import Reweighting

    Array = NDArray[np.float64]

SIZE, DIM = 12, 3
REWEIGHTINGS = {
    "paper": setting31(),
    "smoothed negatives": setting31() * negative_sampling(symmetrize="geometric"),
    "tied word2vec negatives": setting31() * negative_sampling(symmetrize="arithmetic"),
}
under_setting31 = pytest.mark.parametrize("name", REWEIGHTINGS)


def topical_counts() -> Cooccurrence:
    """Counts of words that fall into a few topics, some pairs never seen."""
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(4, 0.3), SIZE)
    rate = 40 * topics @ topics.T
    counts = rng.poisson(np.triu(rate))
    counts += np.triu(counts, 1).T
    return Cooccurrence.from_matrix([f"w{i:02}" for i in range(SIZE)], counts)


def statistics(counts: Cooccurrence) -> tuple[Array, Array]:
    pairs = np.asarray(counts.symmetric.toarray(), dtype=np.float64)
    words = counts.word_counts / counts.word_counts.sum()
    return pairs / pairs.sum(), np.outer(words, words)


def quartic_loss(vectors: Array, counts: Cooccurrence, reweighting: Reweighting) -> float:
    """Equation (qwem_loss), expectation by expectation."""
    positive_probability, negative_probability = statistics(counts)
    positive_weight = reweighting.positive_weight(counts)
    negative_weight = reweighting.negative_weight(counts)
    loss = 0.0
    for i in range(SIZE):
        for j in range(SIZE):
            x = float(vectors[i] @ vectors[j])
            loss += positive_probability[i, j] * positive_weight[i, j] * (x**2 / 4 - x)
            loss += negative_probability[i, j] * negative_weight[i, j] * (x**2 / 4 + x)
    return loss


def target_matrix(counts: Cooccurrence, reweighting: Reweighting) -> Array:
    return mstar(counts, reweighting=reweighting, dtype=np.float64).toarray()


def closed_form(matrix: Array) -> Array:
    """V Λ^½ of the largest eigenvalues."""
    values, vectors = np.linalg.eigh(matrix)
    assert values[-DIM] > 0
    return vectors[:, -DIM:] * np.sqrt(values[-DIM:])


@under_setting31
def test_the_loss_is_a_distance_to_the_target(name: str) -> None:
    """L = g/4 (‖W Wᵀ − M*‖² − ‖M*‖²); the paper's proof prints the constant with a plus."""
    counts, reweighting = topical_counts(), REWEIGHTINGS[name]
    matrix = target_matrix(counts, reweighting)
    rng = np.random.default_rng(0)
    for scale in (0.01, 1.0, 3.0):
        vectors = scale * rng.standard_normal((SIZE, DIM))
        distance = np.sum((vectors @ vectors.T - matrix) ** 2) - np.sum(matrix**2)
        np.testing.assert_allclose(
            quartic_loss(vectors, counts, reweighting), distance / 4, rtol=1e-10
        )


@under_setting31
def test_the_gradient_is_that_of_matrix_factorization(name: str) -> None:
    """∇L = g (W Wᵀ − M*) W, so that −∇L/(2g) is the paper's gradient flow."""
    counts, reweighting = topical_counts(), REWEIGHTINGS[name]
    vectors = np.random.default_rng(1).standard_normal((SIZE, DIM))
    step = 1e-5
    numerical = np.zeros_like(vectors)
    for index in np.ndindex(*vectors.shape):
        for sign in (1, -1):
            moved = vectors.copy()
            moved[index] += sign * step
            numerical[index] += sign * quartic_loss(moved, counts, reweighting) / (2 * step)
    matrix = target_matrix(counts, reweighting)
    expected = (vectors @ vectors.T - matrix) @ vectors
    np.testing.assert_allclose(numerical, expected, rtol=1e-6, atol=1e-6)


@under_setting31
def test_the_closed_form_is_a_minimum(name: str) -> None:
    counts, reweighting = topical_counts(), REWEIGHTINGS[name]
    solution = closed_form(target_matrix(counts, reweighting))
    least = quartic_loss(solution, counts, reweighting)
    rng = np.random.default_rng(2)
    for scale in (1e-3, 0.03, 0.3, 1.0):
        for _ in range(10):
            moved = solution + scale * rng.standard_normal(solution.shape)
            assert quartic_loss(moved, counts, reweighting) > least
    rotation, _ = np.linalg.qr(rng.standard_normal((DIM, DIM)))
    np.testing.assert_allclose(
        quartic_loss(solution @ rotation, counts, reweighting), least, rtol=1e-12
    )


@under_setting31
def test_descent_from_random_starts_reaches_the_closed_form_and_no_lower(name: str) -> None:
    counts, reweighting = topical_counts(), REWEIGHTINGS[name]
    matrix = target_matrix(counts, reweighting)
    solution = closed_form(matrix)
    least = quartic_loss(solution, counts, reweighting)
    p, pp = statistics(counts)
    positive = reweighting.positive_weight(counts) * p
    negative = reweighting.negative_weight(counts) * pp

    def loss_and_gradient(flat: Array) -> tuple[float, Array]:
        vectors = flat.reshape(SIZE, DIM)
        x = vectors @ vectors.T
        loss = np.sum(positive * (x**2 / 4 - x) + negative * (x**2 / 4 + x))
        slope = positive * (x / 2 - 1) + negative * (x / 2 + 1)
        return float(loss), ((slope + slope.T) @ vectors).ravel()

    for seed in range(8):
        start = np.random.default_rng(seed).standard_normal(SIZE * DIM)
        end = optimize.minimize(
            loss_and_gradient, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15}
        )
        assert end.fun >= least - 1e-9
        np.testing.assert_allclose(end.fun, least, atol=1e-6)
        found = end.x.reshape(SIZE, DIM)
        np.testing.assert_allclose(found @ found.T, solution @ solution.T, atol=1e-2)
