"""A row solved to its minimum against fixed contexts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from polish.statistics import SIZE, dense_weights, parabolic_loss, random_sides, some_contexts
from qwem.polish.loss import Contexts, solve_row


@pytest.mark.parametrize("kinds", [1, 2, 3])
@pytest.mark.parametrize("row", [0, 30, 89])
def test_it_is_the_minimum_of_the_loss_by_its_definition(row: int, kinds: int) -> None:
    """The row's part of the loss over all contexts, minimized by SciPy from its values alone."""
    matrix, counts = some_contexts(kinds)
    weights = dense_weights(counts, 3.0, 0.6, 40.0, matrix=matrix)
    other = random_sides(1, kinds=kinds)[1]
    part = weights._replace(**{
        name: getattr(weights, name)[[row]] for name in ("positive", "negative", "evidence")
    })  # fmt: skip

    def loss(vector: np.ndarray) -> float:
        return parabolic_loss((other @ vector)[None], part) / part.negative.sum()

    expected = minimize(loss, np.zeros(other.shape[1]), method="BFGS", options={"gtol": 1e-9}).x
    noise = weights.negative[row] / weights.negative[row].sum()
    contexts = Contexts(other, weights.bias, noise, 3.0)
    evidence = 40.0 * matrix.sum() / counts.word_counts.sum()
    seen = np.flatnonzero(matrix[row])
    found, _ = solve_row(contexts, seen, matrix[row, seen], evidence=evidence)
    assert np.allclose(found, expected, atol=1e-4)
    prior: Any = {"precision": evidence * contexts.gram}
    found, _ = solve_row(contexts, seen, matrix[row, seen], **prior)
    assert np.allclose(found, expected, atol=1e-4), "evidence is a prior"


def some_contexts_of(other: np.ndarray) -> Contexts:
    return Contexts(other, np.linspace(-2, 0, SIZE), np.full(SIZE, 1 / SIZE), 5.0)


def test_without_text_a_word_is_the_average_word() -> None:
    contexts = some_contexts_of(random_sides(2)[1])
    centre = np.arange(contexts.vectors.shape[1]) / 5
    found, _ = solve_row(
        contexts, np.array([3]), np.array([1.0]), precision=1e6 * np.eye(len(centre)), mean=centre
    )
    assert np.allclose(found, centre, atol=1e-3)


def test_a_word_moves_in_the_directions_in_which_words_differ() -> None:
    contexts = some_contexts_of(random_sides(2)[1])
    stiff = np.full(contexts.vectors.shape[1], 1e6)
    stiff[0] = 1e-2
    prior: Any = {"precision": np.diag(stiff)}
    one, few = (solve_row(contexts, np.array([3]), np.array([n]), **prior)[0] for n in (1.0, 9.0))
    assert abs(one[0]) > 0.1
    assert np.abs(one[1:]).max() < 1e-3
    less, _ = solve_row(contexts, np.array([3]), np.array([9.0]), dispersion=9.0, **prior)
    assert np.allclose(less, one, atol=1e-6)  # nine of these pairs tell as much as one
    assert not np.allclose(few, one, atol=1e-6)
