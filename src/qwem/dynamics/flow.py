"""Gradient flow from any start, and gradient descent with finite steps.

A step W ← W − η∇L advances the paper's time by Δt = 2η (quartic loss, g = 1), the `time_step` here.
From an aligned start W = V*S, the step keeps V* and multiplies

    s_k ← s_k (1 + ½Δt (λ_k − s_k²)),

or with ¼Δt in the untied model. Lemma 3.4 is the limit Δt → 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.dynamics.modes import checked_times
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from qwem.dynamics.closed_form import ClosedFormDynamics

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
        All V eigenvalues in any order. If only the first m are given, the other modes are left out
        of M* and of the start.
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


def descent_values(
    run: ClosedFormDynamics, time_step: float, steps: ArrayLike
) -> NDArray[np.float64]:
    """Return s_k after each of the given numbers of gradient-descent steps, shape (…, d).

    The start and the modes are those of `run`. The flow at the same times is
    ``run.singular_values(time_step * steps)``.

    >>> from qwem.dynamics import closed_form
    >>> from qwem.spectrum import factorize
    >>> spectrum = factorize(np.diag([4.0, 1.0]), dim=2, words=["a", "b"])
    >>> run = closed_form(spectrum, initial_singular_values=[0.1, 0.1])
    >>> descent_values(run, 0.1, [0, 30]).round(2), run.singular_values(3.0).round(2)
    (array([[0.1, 0.1],
           [2. , 0.4]]), array([2.  , 0.41]))
    """
    _require_positive(time_step)
    counts = np.asarray(steps)
    if not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 0):
        raise SettingError("steps must be non-negative whole numbers.")
    sizes = np.abs(run.spectrum.eigenvalues)
    gain = time_step / 2 * run.rates / sizes
    values = np.array(run.initial_singular_values)
    wanted, places = np.unique(counts.ravel(), return_inverse=True)
    found = np.empty((len(wanted), len(sizes)))
    taken = 0
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the edge it may diverge
        for row, count in enumerate(wanted):
            for _ in range(int(count) - taken):
                values = values * (1 + gain * (sizes - np.square(values)))
            taken = int(count)
            found[row] = np.abs(values)
    return found[places].reshape(*counts.shape, len(sizes))


def learning_steps(run: ClosedFormDynamics, time_step: float) -> NDArray[np.float64]:
    """Return the number of steps after which each mode is half learned, for small starts.

    A step multiplies a small mode by 1 + ½λ_kΔt, and the flow by e^{½λ_kΔt} in the same time. The
    number of steps is therefore ln(λ_k/s_k²(0)) / (2 ln(1 + ½λ_kΔt)), and finite steps learn later
    than the flow.

    >>> from qwem.dynamics import closed_form
    >>> from qwem.spectrum import factorize
    >>> spectrum = factorize(np.diag([4.0, 1.0]), dim=2, words=["a", "b"])
    >>> run = closed_form(spectrum, initial_singular_values=[1e-4, 1e-4])
    >>> learning_steps(run, 0.1).round(1), (run.learning_times / 0.1).round(1)
    (array([ 54.3, 188.8]), array([ 49.5, 184.2]))
    """
    _require_positive(time_step)
    growth = np.log1p(time_step / 2 * run.rates)
    return run.learning_times * run.rates / (2 * growth)


def edge_of_stability(eigenvalues: ArrayLike, *, tied: bool = True) -> float:
    """Return the largest time step Δt at which gradient descent stays at the minimum.

    Near the minimum WWᵀ = V*ΛV*ᵀ, a change of a learned mode k is multiplied by 1 − λ_kΔt per step,
    and a change of W from mode k towards a mode m that is not learned by 1 − ½(λ_k − λ_m)Δt. Both
    are stable up to

        Δt = min(2/λ_max, 4/(λ_max − λ_min)).

    M* of real text has one eigenvalue λ_min far below −λ_max, and then the second term decides. An
    untied model is stable up to 4/max|λ|. A single mode stays bounded up to twice the first term:
    between Δt = 2/λ and 4/λ it oscillates around √λ, and beyond that it diverges.

    Parameters
    ----------
    eigenvalues
        The eigenvalues of the whole target, or only the largest and the smallest.
    tied
        Whether W′ = W.

    >>> edge_of_stability([4.0, 1.0, -2.0]), edge_of_stability([4.0, 1.0, -12.0])
    (0.5, 0.25)
    """
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.size == 0 or not np.all(np.isfinite(values)):
        raise SettingError("The edge of stability needs finite eigenvalues.")
    largest, smallest = float(values.max()), float(min(values.min(), 0.0))
    if not tied:
        largest = max(largest, -smallest)
        return 4 / largest if largest > 0 else np.inf
    if largest <= 0:
        return 4 / -smallest if smallest < 0 else np.inf
    return min(2 / largest, 4 / (largest - smallest))


def _require_positive(time_step: float) -> None:
    if not (np.isfinite(time_step) and time_step > 0):
        raise SettingError(f"time_step must be a positive number, not {time_step}.")
