"""Mixing of modes by uneven weights, against the numerical minimum of the weighted loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import integrate, optimize

from dynamics.gradient_flow import symmetric_matrix
from qwem.dynamics import effective_target, mode_mixing, rank_one_part, weighted_modes
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

VALUES = np.array([6.0, 4.0, 2.5, 1.5, 0.5, -0.5, -1.0, -3.0])
SIZE, DIM = len(VALUES), 3


def uneven(size: float) -> Array:
    noise = np.random.default_rng(1).standard_normal((SIZE, SIZE))
    return 1 + size * (noise + noise.T) / 4


def weighted_minimum(matrix: Array, coupling: Array) -> Array:
    """Minimize ¼ Σ G (WWᵀ − M)² from the unweighted minimum."""
    values, vectors = np.linalg.eigh(matrix)
    start = vectors[:, -DIM:] * np.sqrt(values[-DIM:])

    def loss(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(SIZE, DIM)
        defect = w @ w.T - matrix
        return float(np.sum(coupling * defect**2) / 4), ((coupling * defect) @ w).ravel()

    options = {"gtol": 1e-12, "ftol": 1e-16, "maxiter": 5_000}
    found = optimize.minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    w: Array = found.x.reshape(SIZE, DIM)
    return w


def overlaps(matrix: Array, vectors: Array) -> Array:
    basis = np.linalg.eigh(matrix)[1][:, ::-1]
    left = np.linalg.svd(vectors, full_matrices=False)[0]
    found = basis.T @ left
    return found * np.sign(np.diagonal(found))


@pytest.mark.parametrize("scale", [None, 1.0])
def test_mixing_is_first_order_in_the_unevenness(scale: float | None) -> None:
    """Half the unevenness has half the mixing, and a quarter of the error of its prediction."""
    matrix, _ = symmetric_matrix(VALUES)
    errors, sizes = [], []
    for unevenness in (0.02, 0.01):
        coupling = uneven(unevenness)
        measured = overlaps(matrix, weighted_minimum(matrix, coupling))
        predicted = mode_mixing(matrix, coupling, DIM, scale)
        errors.append(np.abs(measured - predicted).max())
        sizes.append(np.abs(measured - np.eye(SIZE)[:, :DIM]).max())
    assert sizes[0] / sizes[1] == pytest.approx(2, rel=0.1)
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)
    assert errors[1] < 0.1 * sizes[1]


def test_the_effective_target_has_the_weighted_minimum() -> None:
    matrix, _ = symmetric_matrix(VALUES)
    errors = []
    for unevenness in (0.02, 0.01):
        coupling = uneven(unevenness)
        w = weighted_minimum(matrix, coupling)
        values, vectors = np.linalg.eigh(effective_target(matrix, coupling, DIM))
        solved = (vectors[:, -DIM:] * values[-DIM:]) @ vectors[:, -DIM:].T
        errors.append(np.abs(solved - w @ w.T).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)


def test_repeating_it_reaches_the_weighted_minimum() -> None:
    """For weights that differ by a factor of several, as EM with g = max G."""
    matrix, _ = symmetric_matrix(VALUES)
    coupling = np.exp(2 * (uneven(1.0) - 1))
    w = weighted_minimum(matrix, coupling)
    relative = coupling / coupling.max()
    solved = np.zeros_like(matrix)
    for _ in range(3_000):
        values, vectors = np.linalg.eigh(relative * matrix + (1 - relative) * solved)
        solved = (vectors[:, -DIM:] * values[-DIM:]) @ vectors[:, -DIM:].T
    defects = coupling * (solved - matrix) ** 2
    assert defects.sum() <= np.sum(coupling * (w @ w.T - matrix) ** 2) * (1 + 1e-6)


def test_the_part_of_rank_one_is_solved_exactly() -> None:
    """Proposition 3.3 with g = `rank_one_part`, and the rest of the weights to first order."""
    matrix, _ = symmetric_matrix(VALUES)
    g = np.linspace(0.5, 2, SIZE)
    np.testing.assert_allclose(rank_one_part(np.outer(g, g)), g)
    errors = []
    for unevenness in (0.02, 0.01):
        coupling = np.outer(g, g) * uneven(unevenness)
        part = rank_one_part(coupling)
        root = np.sqrt(part)
        scaled = root[:, None] * matrix * root
        values, vectors = np.linalg.eigh(
            effective_target(scaled, coupling / np.outer(part, part), DIM)
        )
        w = vectors[:, -DIM:] * np.sqrt(values[-DIM:]) / root[:, None]
        numerical = weighted_minimum(matrix, coupling)
        errors.append(np.abs(w @ w.T - numerical @ numerical.T).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.4)
    assert errors[1] < 1e-3


def test_constant_weights_mix_nothing() -> None:
    matrix, _ = symmetric_matrix(VALUES)
    mixing = mode_mixing(matrix, np.full((SIZE, SIZE), 7.0), DIM)
    np.testing.assert_allclose(mixing, np.eye(SIZE)[:, :DIM], atol=1e-12)


def test_wrong_input_is_refused() -> None:
    matrix, _ = symmetric_matrix(VALUES)
    lopsided = np.ones((SIZE, SIZE))
    lopsided[0, 1] = 2
    for coupling, dim in ((lopsided, 2), (-np.ones_like(matrix), 2), (np.ones((2, 2)), 2),
                          (np.ones_like(matrix), 6), (np.ones_like(matrix), 0)):  # fmt: skip
        with pytest.raises(SettingError):
            effective_target(matrix, coupling, dim)
    with pytest.raises(SettingError, match="positive"):
        rank_one_part(np.zeros((2, 2)))


def test_an_asymmetric_coupling_has_no_rank_one_part() -> None:
    with pytest.raises(SettingError, match="must be symmetric"):
        rank_one_part([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(SettingError, match="square matrix of positive numbers"):
        rank_one_part([[1.0, 2.0]])


def test_weighted_losses_first_learn_what_the_weights_make_large() -> None:
    """The flow under weights that differ by a factor of twenty, from a small start."""
    matrix, _ = symmetric_matrix(VALUES)
    spread = np.exp(np.random.default_rng(2).uniform(-1.5, 1.5, SIZE))
    coupling = np.outer(spread, spread) * uneven(0.5)
    modes = weighted_modes(matrix, coupling, dim=2)
    g, (first, second) = coupling.mean(), modes.rates
    start = 1e-6 * np.random.default_rng(3).standard_normal((SIZE, DIM))
    initial = float(np.linalg.norm(start.T @ modes.vectors[:, 0]))
    learned = np.log(modes.sizes[0] / initial**2) / first
    times = np.linspace(0, learned, 30)
    found = weighted_flow(matrix, coupling / g, start, times)
    values = np.array([np.linalg.svd(w, compute_uv=False)[0] for w in found])
    expected = modes.singular_value(times, initial)
    np.testing.assert_allclose(values[10:], expected[10:], rtol=0.02)
    leading = np.linalg.svd(found[-1])[0][:, 0]
    assert (leading @ modes.vectors[:, 0]) ** 2 > 0.98
    assert (leading @ np.linalg.eigh(matrix)[1][:, -1]) ** 2 < 0.9  # not the first mode of M*
    assert first > 1.2 * second


def weighted_flow(matrix: Array, coupling: Array, start: Array, times: Array) -> Array:
    """Integrate dW/dt = ½ (G∘(M − WWᵀ)) W."""

    def velocity(_: float, flat: Array) -> Array:
        w = flat.reshape(start.shape)
        return ((coupling * (matrix - w @ w.T)) @ w / 2).ravel()

    solved = integrate.solve_ivp(
        velocity, (0, times[-1]), start.ravel(), t_eval=times, rtol=1e-9, atol=1e-14
    )
    return np.moveaxis(solved.y.reshape(*start.shape, -1), -1, 0)
