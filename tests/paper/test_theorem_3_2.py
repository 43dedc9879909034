"""Theorem 3.2: under Setting 3.1, QWEM is unweighted matrix factorization of M*."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from paper.quadratic import (
    closed_form,
    descend,
    is_least,
    numerical_gradient,
    quartic_loss,
    topical_counts,
    weighted_probabilities,
)
from qwem.target import mstar, negative_sampling, setting31

if TYPE_CHECKING:
    from qwem.target import Reweighting

SIZE, DIM = 12, 3
COUNTS = topical_counts(SIZE, topics=4, seed=5)
under_setting31 = pytest.mark.parametrize(
    "reweighting",
    [
        setting31(),
        setting31() * negative_sampling(symmetrize="geometric"),
        setting31() * negative_sampling(symmetrize="arithmetic"),
    ],
    ids=["the paper's", "smoothed negatives", "tied word2vec negatives"],
)


@under_setting31
def test_the_loss_is_a_distance_to_the_target(reweighting: Reweighting) -> None:
    """L = g/4 (‖W Wᵀ − M*‖² − ‖M*‖²); the paper's proof prints the constant with a plus."""
    weighted = weighted_probabilities(COUNTS, reweighting)
    matrix = mstar(COUNTS, reweighting=reweighting, dtype=np.float64).toarray()
    rng = np.random.default_rng(0)
    for scale in (0.01, 1.0, 3.0):
        vectors = scale * rng.standard_normal((SIZE, DIM))
        distance = np.sum((vectors @ vectors.T - matrix) ** 2) - np.sum(matrix**2)
        assert quartic_loss(vectors, *weighted) == pytest.approx(distance / 4, rel=1e-10)


@under_setting31
def test_the_gradient_is_that_of_matrix_factorization(reweighting: Reweighting) -> None:
    """∇L = g (W Wᵀ − M*) W, so that −∇L/(2g) is the paper's gradient flow."""
    weighted = weighted_probabilities(COUNTS, reweighting)
    matrix = mstar(COUNTS, reweighting=reweighting, dtype=np.float64).toarray()
    vectors = np.random.default_rng(1).standard_normal((SIZE, DIM))
    found = numerical_gradient(lambda w: quartic_loss(w, *weighted), vectors)
    np.testing.assert_allclose(
        found, (vectors @ vectors.T - matrix) @ vectors, rtol=1e-6, atol=1e-6
    )


@under_setting31
def test_descent_reaches_the_closed_form_and_no_lower(reweighting: Reweighting) -> None:
    """The minimum is V*Λ^½, up to rotations."""
    weighted = weighted_probabilities(COUNTS, reweighting)
    solution = closed_form(mstar(COUNTS, reweighting=reweighting, dtype=np.float64), DIM)
    least = quartic_loss(solution, *weighted)
    assert is_least(lambda w: quartic_loss(w, *weighted), solution)
    rotation, _ = np.linalg.qr(np.random.default_rng(2).standard_normal((DIM, DIM)))
    assert quartic_loss(solution @ rotation, *weighted) == pytest.approx(least, rel=1e-12)
    for end in descend(*weighted, DIM, seeds=range(8)):
        assert end.fun >= least - 1e-9
        assert end.fun == pytest.approx(least, abs=1e-6)
        found = end.x.reshape(SIZE, DIM)
        np.testing.assert_allclose(found @ found.T, solution @ solution.T, atol=1e-2)
