"""Exact gradient flow from any start, and the distance between states up to rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.dynamics.modes import checked_times
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

# No mode grows by more than e^{8/2} in one step, which keeps the d × d systems well conditioned.
_LONGEST_STEP = 8.0


def exact_flow(
    eigenvalues: ArrayLike, start: ArrayLike, times: ArrayLike
) -> Iterator[NDArray[np.float64]]:
    """Yield the solution of dW/dt = ½(M* − WWᵀ)W at each time, up to a rotation.

    In the eigenbasis of M*, with X = V*ᵀW and a row for every eigenvalue, WWᵀ obeys a Riccati
    equation, whose solution is

        X(t)X(t)ᵀ = e^{Λt/2} X (1 + Xᵀ φ X)⁻¹ Xᵀ e^{Λt/2},  φ = (e^{Λt} − 1)/Λ,  X = X(0),

    so with 1 + XᵀφX = LLᵀ one may take X(t) = e^{Λt/2} X L⁻ᵀ. It is applied in steps short enough
    to lose no digits. The solution is exact for starts of any size and for all times.

    Parameters
    ----------
    eigenvalues
        All V eigenvalues in any order. With only the first m, the solution is that of M* without
        its other modes and without their part of the start.
    start
        V*ᵀW(0), one row for each eigenvalue.
    times
        The times of the solution, in increasing order.

    >>> list(exact_flow([4.0, -1.0], [[1.0], [1.0]], [1.0, 50.0]))[1].round(6)
    array([[2.],
           [0.]])
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    state = np.array(start, dtype=np.float64)
    at = checked_times(times)
    if values.ndim != 1 or state.ndim != 2 or len(state) != len(values):
        raise SettingError(
            f"The start must have one row for each of the {len(values)} eigenvalues, not shape "
            f"{state.shape}."
        )
    if at.ndim != 1 or not np.all(np.isfinite(at)) or np.any(np.diff(at) < 0):
        raise SettingError("times must be a list of finite numbers in increasing order.")
    return _states(values, state, at)


def _states(
    values: NDArray[np.float64], state: NDArray[np.float64], times: NDArray[np.float64]
) -> Iterator[NDArray[np.float64]]:
    fastest = max(values.max(initial=0.0), 0.0)
    for span in np.diff(times, prepend=0.0):
        steps = max(int(np.ceil(fastest * span / _LONGEST_STEP)), 1)
        for _ in range(steps if span else 0):
            state = _step(values, state, span / steps)
        yield state


def _step(
    values: NDArray[np.float64], state: NDArray[np.float64], span: float
) -> NDArray[np.float64]:
    from scipy.linalg import cholesky, solve_triangular

    safe = np.where(values == 0, 1.0, values)
    phi = np.where(values == 0, span, np.expm1(values * span) / safe)
    gram = np.eye(state.shape[1]) + state.T @ (phi[:, None] * state)
    grown = np.exp(values * span / 2)[:, None] * state
    lower = cholesky(gram, lower=True, check_finite=False)
    moved: NDArray[np.float64] = solve_triangular(
        lower, grown.T, lower=True, overwrite_b=True, check_finite=False
    ).T
    return moved


def requiv_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return min ‖W₁U − W₂‖ over orthogonal d × d matrices U: the distance between REquiv classes.

    The loss depends on embeddings only up to such U (paper, "Model equivalence classes"). The best
    U is the polar factor of W₁ᵀW₂ (Schönemann 1966). The residual is computed directly, which keeps
    small distances accurate.

    >>> requiv_distance([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]])
    0.0
    """
    left, right = (np.asarray(vectors, dtype=np.float64) for vectors in (first, second))
    if left.ndim != 2 or left.shape != right.shape:
        raise SettingError(
            "The distance up to rotation needs two matrices of the same shape, not "
            f"{left.shape} and {right.shape}."
        )
    from scipy.linalg import orthogonal_procrustes

    rotation, _ = orthogonal_procrustes(left, right)
    return float(np.linalg.norm(left @ rotation - right))
