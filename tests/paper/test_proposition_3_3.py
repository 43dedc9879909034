"""Proposition 3.3: QWEM is weighted factorization of M*, solved where the coupling is rank one."""

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
from qwem.errors import SettingError
from qwem.target import mstar, negative_sampling, rank_one, setting31, subsampling
from qwem.target.reweighting import unweighted

if TYPE_CHECKING:
    from qwem.target import Reweighting

SIZE, DIM = 12, 3
COUNTS = topical_counts(SIZE, topics=4, seed=6)
GENERAL = [
    unweighted(),
    subsampling(0.02) * negative_sampling(symmetrize="arithmetic"),
    rank_one(np.linspace(1, 3, SIZE)),  # without Setting 3.1
]
RANK_ONE = [
    setting31() * subsampling(0.02),
    setting31() * rank_one(np.geomspace(0.1, 20, SIZE)),
    setting31() * rank_one(np.linspace(1, 2, SIZE)) * subsampling(0.05) * negative_sampling(),
]


@pytest.mark.parametrize("reweighting", [*GENERAL, *RANK_ONE], ids=repr)
def test_loss_and_gradient_are_those_of_a_weighted_distance(reweighting: Reweighting) -> None:
    positive, negative = weighted_probabilities(COUNTS, reweighting)
    matrix = mstar(COUNTS, reweighting=reweighting, dtype=np.float64).toarray()
    coupling = positive + negative
    for seed, scale in enumerate((0.01, 1.0, 3.0)):
        vectors = scale * np.random.default_rng(seed).standard_normal((SIZE, DIM))
        defect = vectors @ vectors.T - matrix
        distance = np.sum(coupling * defect**2) - np.sum(coupling * matrix**2)
        assert quartic_loss(vectors, positive, negative) == pytest.approx(distance / 4, rel=1e-9)
        found = numerical_gradient(lambda w: quartic_loss(w, positive, negative), vectors)
        expected = (coupling * defect) @ vectors
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("reweighting", GENERAL, ids=repr)
def test_a_coupling_that_is_not_rank_one_has_no_closed_form(reweighting: Reweighting) -> None:
    with pytest.raises(SettingError, match="NP-hard"):
        mstar(COUNTS, reweighting=reweighting).solved_matrix()


@pytest.mark.parametrize("reweighting", RANK_ONE, ids=repr)
def test_a_rank_one_coupling_is_solved_and_nothing_beats_it(reweighting: Reweighting) -> None:
    weighted = weighted_probabilities(COUNTS, reweighting)
    solution = closed_form(mstar(COUNTS, reweighting=reweighting, dtype=np.float64), DIM)
    least = quartic_loss(solution, *weighted)
    assert is_least(lambda w: quartic_loss(w, *weighted), solution)
    ends = [end.fun for end in descend(*weighted, DIM, seeds=range(6))]
    assert min(ends) >= least - 1e-9 * abs(least)
    assert min(ends) == pytest.approx(least, rel=1e-6)


def test_the_unweighted_solution_is_not_the_weighted_one() -> None:
    """The coupling matters: Theorem 3.2's solution loses under another G."""
    weighted = weighted_probabilities(COUNTS, RANK_ONE[1])
    own, other = (
        quartic_loss(closed_form(mstar(COUNTS, reweighting=each, dtype=np.float64), DIM), *weighted)
        for each in (RANK_ONE[1], setting31())
    )
    assert other > own + 0.01 * abs(own)
