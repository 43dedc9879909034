"""Lemma 3.4: from an aligned start every mode grows by itself, in a sigmoid of known timing."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics.gradient_flow import spectrum_of, symmetric_matrix, tied_flow
from qwem.dynamics import closed_form

EIGENVALUES = np.array([5.0, 2.5, 2.4, 1.0, 0.3, 0.0, -0.7, -3.0, -8.0])
DIM = 4
STARTS = {
    "small": np.array([1e-3, 1e-3, 1e-3, 1e-3]),
    "uneven": np.array([1e-4, 0.3, 1e-2, 0.9]),
    "beyond the end": np.array([4.0, 2.0, 1e-2, 3.0]),
}
TIMES = np.linspace(0, 30, 40)
from_each_start = pytest.mark.parametrize("name", STARTS)


@from_each_start
def test_the_embedding_solves_the_gradient_flow(name: str) -> None:
    """U and V stay, S follows the formula: W(t) is V*S(t)U(0)ᵀ, with no rotation to undo."""
    matrix, vectors = symmetric_matrix(EIGENVALUES)
    start = STARTS[name]
    rotation, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((DIM, DIM)))
    flow = tied_flow(matrix, vectors[:, :DIM] * start @ rotation, TIMES)
    run = closed_form(
        spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM]), initial_singular_values=start
    )
    theory = np.array([run.vectors(t) @ rotation for t in TIMES])
    np.testing.assert_allclose(theory, flow, atol=1e-7)


@from_each_start
def test_the_loss_is_that_of_the_flow(name: str) -> None:
    matrix, vectors = symmetric_matrix(EIGENVALUES)
    start = STARTS[name]
    flow = tied_flow(matrix, vectors[:, :DIM] * start, TIMES)
    distances = np.sum((flow @ flow.transpose(0, 2, 1) - matrix) ** 2, axis=(1, 2))
    run = closed_form(
        spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM]), initial_singular_values=start
    )
    np.testing.assert_allclose(run.loss(TIMES), (distances - np.sum(matrix**2)) / 4, atol=1e-7)


def test_a_mode_is_half_learned_at_its_learning_time() -> None:
    """s_k²(τ_k) = λ_k/(2 − s_k²(0)/λ_k), by the integrator and by the formula."""
    matrix, vectors = symmetric_matrix(EIGENVALUES)
    start = STARTS["small"]
    run = closed_form(
        spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM]), initial_singular_values=start
    )
    times = run.learning_times
    np.testing.assert_allclose(times, np.log(EIGENVALUES[:DIM] / start**2) / EIGENVALUES[:DIM])
    flow = tied_flow(matrix, vectors[:, :DIM] * start, times)
    squares = np.array([np.sum(flow[k, :, k] ** 2) for k in range(DIM)])
    np.testing.assert_allclose(squares, EIGENVALUES[:DIM] / 2, rtol=1e-5)
