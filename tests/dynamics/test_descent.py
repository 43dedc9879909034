"""Gradient descent with finite steps, against descent on matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dynamics.gradient_flow import spectrum_of, symmetric_matrix
from qwem.dynamics import closed_form, descent_values, edge_of_stability, learning_steps
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

VALUES = np.array([6.0, 3.0, 1.5, -0.5, -2.0])
DIM = 3


def tied_steps(matrix: Array, start: Array, time_step: float, steps: int) -> Array:
    """W ← W − η∇L for L = ¼‖WWᵀ − M‖², with η = Δt/2."""
    w = start
    for _ in range(steps):
        w = w - time_step / 2 * (w @ w.T - matrix) @ w
    return w


def untied_steps(
    matrix: Array, start: Array, context: Array, time_step: float, steps: int
) -> tuple[Array, Array]:
    w, c = start, context
    for _ in range(steps):
        defect = (w @ c.T - matrix) / 2
        w, c = w - time_step / 2 * defect @ c, c - time_step / 2 * defect.T @ w
    return w, c


@pytest.mark.parametrize("time_step", [0.02, 0.3, 0.45, 0.6])
def test_aligned_modes_follow_the_map(time_step: float) -> None:
    """At small steps, near the edge 2/λ₁ = 0.33, and beyond it, where modes oscillate."""
    matrix, vectors = symmetric_matrix(VALUES)
    start = np.array([1e-2, 0.5, 2.0])
    run = closed_form(spectrum_of(VALUES[:DIM], vectors[:, :DIM]), initial_singular_values=start)
    for steps in (1, 7, 25):
        found = descent_values(run, time_step, steps)
        w = tied_steps(matrix, vectors[:, :DIM] * start, time_step, steps)
        overlap = vectors[:, :DIM].T @ w
        np.testing.assert_allclose(found, np.abs(np.diagonal(overlap)), rtol=1e-9)


def test_untied_modes_follow_the_map_at_half_the_gain() -> None:
    values = np.array([6.0, -3.0, 1.5, -0.5])
    matrix, vectors = symmetric_matrix(values)
    run = closed_form(
        spectrum_of(values[:3], vectors[:, :3], signed=True),
        initial_singular_values=[0.1, 0.2, 0.3],
    )
    w, c = untied_steps(matrix, run.vectors(0.0), run.context_vectors(0.0), 0.3, 20)
    found = np.sqrt(np.linalg.svd(w @ c.T, compute_uv=False)[:3])
    np.testing.assert_allclose(np.sort(descent_values(run, 0.3, 20))[::-1], found, rtol=1e-9)


def test_small_steps_are_the_flow_to_first_order() -> None:
    _, vectors = symmetric_matrix(VALUES)
    spectrum = spectrum_of(VALUES[:DIM], vectors[:, :DIM])
    run = closed_form(spectrum, initial_singular_values=[1e-3, 1e-3, 1e-3])
    time, errors = 3.0, []
    for steps in (1_000, 2_000):
        found = descent_values(run, time / steps, steps)
        errors.append(np.abs(found - run.singular_values(time)).max())
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)


def test_a_mode_is_half_learned_after_its_learning_steps() -> None:
    _, vectors = symmetric_matrix(VALUES)
    spectrum = spectrum_of(VALUES[:DIM], vectors[:, :DIM])
    run = closed_form(spectrum, initial_singular_values=np.full(DIM, 1e-20))
    time_step = 0.2
    expected = learning_steps(run, time_step)
    squares = descent_values(run, time_step, np.arange(400)) ** 2
    found = np.argmax(squares > VALUES[:DIM] / 2, axis=0)
    np.testing.assert_allclose(found, expected, atol=1.5)
    assert np.all(expected > 1.02 * run.learning_times / time_step)


@pytest.mark.parametrize("smallest", [-1.0, -30.0])
@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_descent_stays_at_the_minimum_up_to_the_edge(smallest: float, tied: bool) -> None:
    """A small disturbance of the minimum dies out just below the edge and grows just above it."""
    values = np.array([6.0, 3.0, 1.5, smallest] if tied else [6.0, 3.0, 1.5, -1.0])
    matrix, vectors = symmetric_matrix(values)
    edge = edge_of_stability(values, tied=tied)
    assert edge == pytest.approx(min(1 / 3, 4 / (6 - smallest)) if tied else 2 / 3)
    minimum = vectors[:, :2] * np.sqrt(values[:2])
    noise = 1e-6 * np.random.default_rng(0).standard_normal((2, 4, 2))
    distances = {}
    for factor in (0.98, 1.02):
        if tied:
            w = tied_steps(matrix, minimum + noise[0], factor * edge, 400)
            product = w @ w.T
        else:
            w, c = untied_steps(matrix, minimum + noise[0], minimum + noise[1], factor * edge, 400)
            product = w @ c.T
        distances[factor] = np.abs(product - minimum @ minimum.T).max()
    assert distances[0.98] < 1e-6
    assert not distances[1.02] < 1e-3


def test_beyond_the_edge_a_mode_oscillates_and_beyond_twice_the_edge_it_diverges() -> None:
    run = closed_form(spectrum_of(np.array([2.0]), np.eye(3)[:, :1]), initial_singular_values=[0.1])
    late = np.arange(2_000, 2_050)
    for factor, spread in ((0.95, 0.0), (1.1, 0.3)):
        found = descent_values(run, factor * 2 / 2.0, late)[:, 0]
        assert np.ptp(found) == pytest.approx(spread, abs=0.2 if spread else 1e-9)
    assert np.all(descent_values(run, 1.99, late) < 3)
    assert not np.all(np.isfinite(descent_values(run, 2.1, [50, 500])))


def test_wrong_input_is_refused() -> None:
    run = closed_form(spectrum_of(np.array([2.0]), np.eye(3)[:, :1]), initial_singular_values=[0.1])
    for time_step, steps in ((0.0, 3), (0.1, -1), (0.1, 1.5)):
        with pytest.raises(SettingError):
            descent_values(run, time_step, steps)
    with pytest.raises(SettingError, match="finite"):
        edge_of_stability([np.nan])
