"""Gradient flow by a general-purpose ODE solver: what every formula of the room is held to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import solve_ivp

from qwem.corpus import Vocabulary
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def integrate(velocity: Callable[[Array], Array], start: Array, times: Array) -> Array:
    """Return the states at `times`, with errors far below the size of the start."""
    solution = solve_ivp(
        lambda _, flat: velocity(flat.reshape(start.shape)).ravel(),
        (0.0, times[-1]),
        start.ravel(),
        method="DOP853",
        t_eval=times,
        rtol=1e-11,
        atol=1e-11 * np.abs(start).max(),
    )
    assert solution.success
    return solution.y.T.reshape(len(times), *start.shape)


def tied_flow(matrix: Array, start: Array, times: Array) -> Array:
    """dW/dt = ½(M − WWᵀ)W."""
    return integrate(lambda w: (matrix @ w - w @ (w.T @ w)) / 2, start, times)


def untied_flow(matrix: Array, start: Array, context: Array, times: Array) -> tuple[Array, Array]:
    """−½ the gradient of ¼‖WCᵀ − M‖² in both factors, which may have different numbers of rows."""
    rows = len(matrix)

    def velocity(both: Array) -> Array:
        w, c = both[:rows], both[rows:]
        defect = matrix - w @ c.T
        return np.concatenate([defect @ c, defect.T @ w]) / 4

    states = integrate(velocity, np.concatenate([start, context]), times)
    return states[:, :rows], states[:, rows:]


def symmetric_matrix(eigenvalues: Array, seed: int = 0) -> tuple[Array, Array]:
    """Return a matrix with these eigenvalues, and its eigenvectors in their order."""
    square = np.random.default_rng(seed).standard_normal((len(eigenvalues), len(eigenvalues)))
    vectors, _ = np.linalg.qr(square)
    return (vectors * eigenvalues) @ vectors.T, vectors


def spectrum_of(eigenvalues: Array, eigenvectors: Array, *, signed: bool = False) -> Spectrum:
    """Return the given pairs as a spectrum, exact to rounding."""
    size = len(eigenvectors)
    return Spectrum(
        eigenvalues=eigenvalues,
        eigenvectors=eigenvectors,
        residuals=np.zeros(len(eigenvalues)),
        vocabulary=Vocabulary(tuple(f"w{i}" for i in range(size)), np.zeros(size, dtype=np.int64)),
        tol=1e-12,
        signed=signed,
    )


def singular_values(states: Array) -> Array:
    return np.asarray(np.linalg.svd(states, compute_uv=False), dtype=np.float64)
