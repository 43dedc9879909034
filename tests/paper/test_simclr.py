"""Appendix, relation to SimCLR: its loss is a contrastive one, with a rank-one coupling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import optimize

from paper.quadratic import closed_form, is_least, topical_counts
from qwem.target import contrastive_target, simclr_target
from qwem.target.reweighting import unweighted
from target.count_matrices import probabilities

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SIZE, DIM = 8, 2
temperatures = pytest.mark.parametrize("beta", [0.5, 1.0, 4.0])


COUNTS = topical_counts(SIZE, topics=3, seed=3)


def expanded_loss(similarity: Array, beta: float) -> float:
    """The paper's large-batch loss, before the exponential is expanded."""
    p, pp = probabilities(COUNTS)
    return float(np.sum(p * -beta * similarity) + np.sum(pp * np.exp(beta * similarity)))


@temperatures
def test_the_target_and_its_coupling_are_the_quadratic_part_of_the_loss(beta: float) -> None:
    """L(S) = ½ Σ G (S − M*)² + const up to third order, with G = g gᵀ."""
    target = simclr_target(COUNTS, beta, dtype=np.float64)
    matrix = target.toarray()
    assert isinstance(target.coupling, np.ndarray)
    weight = np.outer(target.coupling, target.coupling)
    p, pp = probabilities(COUNTS)
    np.testing.assert_allclose(matrix, (p / pp - 1) / beta)
    np.testing.assert_allclose(weight, beta**2 * pp)

    direction = np.random.default_rng(0).standard_normal((SIZE, SIZE))
    direction += direction.T

    def quadratic(similarity: Array) -> float:
        return float(0.5 * np.sum(weight * ((similarity - matrix) ** 2 - matrix**2)))

    errors = [
        abs(expanded_loss(t * direction, beta) - 1 - quadratic(t * direction)) for t in (1e-2, 5e-3)
    ]
    assert errors[0] < 1e-2 * abs(quadratic(1e-2 * direction)) + 1e-4
    np.testing.assert_allclose(errors[0] / errors[1], 8, rtol=0.1)


def exact_loss(similarity: Array, beta: float) -> float:
    """The paper's loss for large batches, with the logarithm, and anchors drawn from P_i."""
    p, pp = probabilities(COUNTS)
    words = np.sqrt(np.diagonal(pp))
    logs = np.log(np.exp(beta * similarity) @ words)
    return float(-beta * np.sum(p * similarity) + words @ logs)


def second_order(similarity: Array, beta: float) -> float:
    """½ Σ G (S − E_k S)² − Σ G S M with the paper's target M; the mean over k costs nothing."""
    target = simclr_target(COUNTS, beta, dtype=np.float64)
    matrix, words = target.toarray(), np.sqrt(np.diagonal(probabilities(COUNTS)[1]))
    weight = beta**2 * np.outer(words, words)
    linear = weight * similarity * matrix
    centred = similarity - (similarity @ words)[:, None]
    return float(0.5 * np.sum(weight * centred**2) - np.sum(linear))


@temperatures
def test_the_paper_drops_a_term_of_second_order(beta: float) -> None:
    """Halved similarities have an eighth of the error with the term, and a quarter without."""
    p, pp = probabilities(COUNTS)
    features = np.random.default_rng(4).standard_normal((SIZE, DIM)) + 1
    similarity = features @ features.T
    matrix = (p / pp - 1) / beta

    def papers(similarity: Array) -> float:
        return float(0.5 * beta**2 * np.sum(pp * ((similarity - matrix) ** 2 - matrix**2)))

    errors = {
        name: [exact_loss(h * similarity, beta) - form(h * similarity) for h in (2e-3, 1e-3)]
        for name, form in (
            ("full", lambda s: second_order(s, beta)),
            ("paper", papers),
        )
    }
    assert errors["full"][0] / errors["full"][1] == pytest.approx(8, rel=0.05)
    assert errors["paper"][0] / errors["paper"][1] == pytest.approx(4, rel=0.05)
    # For centred features the paper's form is enough.
    words = np.sqrt(np.diagonal(pp))
    features -= words @ features
    similarity = features @ features.T
    assert papers(similarity) == pytest.approx(second_order(similarity, beta))


@temperatures
def test_the_target_is_that_of_the_whole_second_order(beta: float) -> None:
    """The minimum of the full quadratic loss is the closed form, whose features are centred."""
    target = simclr_target(COUNTS, beta, dtype=np.float64)
    solution = closed_form(target, DIM)
    words = COUNTS.word_counts / COUNTS.word_counts.sum()
    np.testing.assert_allclose(words @ solution, 0, atol=1e-9)

    matrix, weight = target.toarray(), beta**2 * np.outer(words, words)

    def loss(flat: Array) -> tuple[float, Array]:
        """`second_order`, and its gradient."""
        features = flat.reshape(SIZE, DIM)
        similarity = features @ features.T
        centred = similarity - (similarity @ words)[:, None]
        slope = weight * (centred - matrix)  # the mean of `centred` over words is zero
        value = 0.5 * np.sum(weight * centred**2) - np.sum(weight * similarity * matrix)
        return float(value), ((slope + slope.T) @ features).ravel()

    least = second_order(solution @ solution.T, beta)
    assert loss(solution.ravel())[0] == pytest.approx(least, rel=1e-12)
    rng = np.random.default_rng(0)
    found = min(
        optimize.minimize(loss, rng.standard_normal(SIZE * DIM), jac=True).fun for _ in range(4)
    )
    assert found == pytest.approx(least, rel=1e-6)


@temperatures
def test_it_is_the_contrastive_target_of_its_two_sides(beta: float) -> None:
    same = contrastive_target(
        COUNTS, lambda x: -beta * x, lambda x: np.exp(beta * x), reweighting=unweighted()
    )
    target = simclr_target(COUNTS, beta)
    np.testing.assert_allclose(same.toarray(), target.toarray(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(same.coupling, target.coupling)  # type: ignore[arg-type]


@temperatures
def test_the_closed_form_minimizes_the_quadratic_loss(beta: float) -> None:
    p, pp = probabilities(COUNTS)

    def loss(features: Array) -> float:
        similarity = features @ features.T
        negative = similarity + beta / 2 * similarity**2
        return float(np.sum(-p * similarity) + np.sum(pp * negative))

    assert is_least(loss, closed_form(simclr_target(COUNTS, beta, dtype=np.float64), DIM))
