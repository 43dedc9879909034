"""A row solved to its minimum against fixed contexts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from polish.statistics import SIZE, dense_weights, parabolic_loss, random_sides, some_counts
from qwem.polish import FixedContexts, solve_row

COUPLING = np.linspace(0.5, 2.0, SIZE)


@pytest.mark.parametrize("row", [0, 30, 89])
def test_it_is_the_minimum_of_the_loss_by_its_definition(row: int) -> None:
    """The row's part of the loss over all pairs, minimized by SciPy from its values alone."""
    counts = some_counts()
    weights = dense_weights(counts, 3.0, 0.6, 40.0, COUPLING)
    other = random_sides(1)[1].astype(np.float64)
    part = weights._replace(**{
        name: getattr(weights, name)[[row]] for name in ("positive", "negative", "evidence")
    })  # fmt: skip

    def loss(vector: np.ndarray) -> float:
        return parabolic_loss((other @ vector)[None], part) / part.negative.sum()

    expected = minimize(loss, np.zeros(other.shape[1]), method="BFGS", options={"gtol": 1e-9}).x
    words = counts.word_counts.astype(np.float64)
    pairs = counts.pair_counts.toarray().astype(np.float64)
    noise = words**0.6 / np.sum(words**0.6)
    sigmoid = 1 / (1 + np.exp(-weights.bias))
    gram = 3.0 * (other.T * (COUPLING * noise * sigmoid * (1 - sigmoid))) @ other
    evidence = 40.0 * pairs.sum() / words.sum()
    contexts = FixedContexts(
        other, weights.bias, noise, COUPLING, 3.0, evidence * gram, np.zeros(other.shape[1])
    )
    seen = np.flatnonzero(pairs[row])
    found = solve_row(contexts, seen, pairs[row, seen])
    assert np.allclose(found.vector, expected, atol=1e-4)


def test_without_text_a_word_is_the_average_word() -> None:
    other = random_sides(2)[1].astype(np.float64)
    bias, noise = np.linspace(-2, 0, SIZE), np.full(SIZE, 1 / SIZE)
    centre = np.arange(other.shape[1]) / 5
    contexts = FixedContexts(
        other, bias, noise, np.ones(SIZE), 5.0, 1e6 * np.eye(len(centre)), centre
    )
    found = solve_row(contexts, np.array([3]), np.array([1.0]))
    assert np.allclose(found.vector, centre, atol=1e-3)


def test_a_word_moves_in_the_directions_in_which_words_differ() -> None:
    other = random_sides(2)[1].astype(np.float64)
    bias, noise = np.linspace(-2, 0, SIZE), np.full(SIZE, 1 / SIZE)
    stiff = np.full(other.shape[1], 1e6)
    stiff[0] = 1e-2
    contexts = FixedContexts(
        other, bias, noise, np.ones(SIZE), 5.0, np.diag(stiff), np.zeros(other.shape[1])
    )
    one, few = (solve_row(contexts, np.array([3]), np.array([n])).vector for n in (1.0, 9.0))
    assert abs(one[0]) > 0.1
    assert np.abs(one[1:]).max() < 1e-3
    less = solve_row(contexts, np.array([3]), np.array([9.0]), dispersion=9.0).vector
    assert np.allclose(less, one, atol=1e-6)  # nine of these pairs tell as much as one
    assert not np.allclose(few, one, atol=1e-6)
