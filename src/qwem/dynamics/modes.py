"""Growth of eigenmodes, and conditions of Result 3.5: how small a random start must be.

Each mode grows along a sigmoid (Lemma 3.4). For a random start, the theory describes R, the upper
triangular factor of W(t)ᵀV* = QR, which determines W up to a rotation. Its diagonal r_k follows the
curves of Lemma 3.4, and the elements above the diagonal must stay small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def damping(growth: Array, eigenvalues: Array | float, initial: Array | float) -> Array:
    """Return s(0)/s(t) element by element, for the exponents γt given as `growth` (Lemma 3.4).

    It is (e^{−γt} + s²(0) (1 − e^{−γt})/λ)^½, where γ is the rate of s²: the eigenvalue λ itself in
    the tied model. Neither term can overflow, s²(0) is not formed, and nothing cancels.
    """
    learned = initial * np.sqrt(-np.expm1(-growth)) / np.sqrt(eigenvalues)
    return np.hypot(np.exp(-growth / 2), learned)


def checked_times(times: ArrayLike) -> NDArray[np.float64]:
    """Return times as an array, after checking that none is negative."""
    array = np.asarray(times, dtype=np.float64)
    if not np.all(array >= 0):
        raise SettingError("Times must be non-negative numbers; training starts at time 0.")
    return array


class Peak(NamedTuple):
    """Times and sizes of the maxima of |R_ij| above the diagonal."""

    times: NDArray[np.float64]
    sizes: NDArray[np.float64]


def triangular_factor(projection: ArrayLike) -> NDArray[np.float64]:
    """Return R of WᵀV* = QR with a non-negative diagonal, for the d × m matrix WᵀV*.

    >>> triangular_factor([[0.0, 2.0], [-3.0, 1.0]])
    array([[ 3., -1.],
           [ 0.,  2.]])
    """
    triangular = np.linalg.qr(np.asarray(projection, dtype=np.float64), mode="r")
    signs = np.where(np.diagonal(triangular) < 0, -1.0, 1.0)
    return signs[:, None] * triangular + 0.0  # turns −0 into 0


def triangular_velocity(triangular: ArrayLike, eigenvalues: ArrayLike) -> NDArray[np.float64]:
    """Return the exact dR/dt = ½ (RΛ − R̃R) of the gradient flow (paper, eq. Rdot).

    R̃ is R Rᵀ with the elements above the diagonal doubled and those below it set to zero. R is
    d × m with one column for each eigenvalue. The flow of W needs all m = V of them.

    >>> triangular_velocity([[1.0, 0.5], [0.0, 1.0]], [4.0, 2.0])
    array([[ 1.375 , -0.3125],
           [ 0.    ,  0.5   ]])
    """
    r, values = _checked_triangular(triangular, eigenvalues)
    gram = r @ r.T
    return (r * values - (np.triu(gram) + np.triu(gram, 1)) @ r) / 2


def off_diagonal(
    times: ArrayLike, eigenvalues: ArrayLike, initial: ArrayLike
) -> NDArray[np.float64]:
    """Return R(t) to first order in the elements above its diagonal, shape (…, d, m).

    R_ij²(t) = R_ij²(0) r_j⁴(t)/r_j⁴(0) · r_i²(t)/r_i²(0) · e^{−(λ_i+λ_j)t} for i < j ≤ d, the
    solution of 2Ṙ_ij = (λ_j − r_i² − 2r_j²) R_ij. Columns beyond the d-th have no r_j, and its
    factors are 1. The diagonal is r_k(t).

    Parameters
    ----------
    times
        One time or many, all finite.
    eigenvalues
        The m largest eigenvalues, in decreasing order.
    initial
        R(0), d × m; or the number σ for the paper's estimate R_ij(0) = σ, with one row for each
        positive eigenvalue.

    >>> off_diagonal(0.0, [4.0, 2.0], 1e-3)
    array([[0.001, 0.001],
           [0.   , 0.001]])
    """
    at, (start, values) = checked_times(times), _checked_triangular(initial, eigenvalues)
    if not np.all(np.isfinite(at)):
        raise SettingError("The off-diagonal solution needs finite times.")
    rows = np.arange(len(start))
    top, diagonal = values[: len(start)], np.diagonal(start)
    damped = damping(np.multiply.outer(at, top), top, diagonal)
    gaps = top[:, None] - values
    growth = np.exp(-np.multiply.outer(at, np.maximum(gaps, 0)) / 2) / damped[..., None]
    # (r_j²(t)/r_j²(0)) e^{−λ_j t}: one until mode j is learned, then falling.
    unlearned = np.square(np.exp(-np.multiply.outer(at, top) / 2) / damped)
    growth[..., :, : len(start)] *= unlearned[..., None, :]
    growth[..., rows, rows] = 1 / damped
    return start * growth


def off_diagonal_peak(eigenvalues: ArrayLike, initial: ArrayLike) -> Peak:
    """Return the maximum over time of `off_diagonal` and its time, for i < j, as d × m matrices.

    The derivative of |R_ij| vanishes where λ_j = r_i² + 2r_j², or λ_j = r_i² in the columns beyond
    the d-th. The right side grows with time, so there is one such time, or none after t = 0. The
    paper neglects r_j, and then

        R_ij² = R_ij²(0) (1 − λ_j/λ_i) (λ_iλ_j / (r_i²(0) (λ_i − λ_j)))^{λ_j/λ_i},

    which falls like σ^{2(λ_i − λ_j)/λ_i}. (It prints this without the factor 1 − λ_j/λ_i, and with
    R_ij(0) = r_i(0) = σ.) This estimate is too large for close eigenvalues, and does not exist for
    equal ones. The peak returned here is the exact maximum of `off_diagonal` in both cases. The
    full flow, in which modes also slow each other down, has a lower peak where eigenvalues are
    close.

    >>> peak = off_diagonal_peak([4.0, 2.0], 1e-3)
    >>> peak.sizes[0, 1].round(4), peak.times[0, 1].round(3)
    (np.float64(0.0316), np.float64(3.799))
    """
    start, values = _checked_triangular(initial, eigenvalues)
    rows = len(start)
    left, right = np.broadcast_arrays(values[:rows, None], values)
    first = np.broadcast_to(np.diagonal(start)[:, None], left.shape)
    # Columns beyond the d-th grow as if their own mode stayed at zero.
    second = np.zeros_like(left)
    second[:, :rows] = np.diagonal(start)
    times = _peak_times(left, right, first, second)
    with np.errstate(invalid="ignore"):
        gaps = np.where(left == right, 0.0, times * (left - right))  # 0 · ∞ is 0 here
    damped = damping(times * left, left, first)
    sizes = np.abs(start) * np.exp(-gaps / 2) / damped
    own = right[:, :rows]
    unlearned = np.exp(-times[:, :rows] * own / 2) / damping(
        times[:, :rows] * own, own, second[:, :rows]
    )
    sizes[:, :rows] *= np.square(unlearned)
    above = np.triu(np.ones(start.shape, dtype=bool), 1)
    return Peak(np.where(above, times, 0.0), np.where(above, sizes, 0.0))


def _peak_times(left: Array, right: Array, first: Array, second: Array) -> Array:
    """Return when r_i² + 2r_j² reaches λ_j, element by element; 0 if it starts above."""
    positive = np.maximum(right, np.finfo(np.float64).tiny)
    later = (right > 0) & (np.square(first) + 2 * np.square(second) < right)
    # r_i² alone reaches λ_j at the end of these intervals, or 2r_j² does.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        alone = np.log(positive) + np.log(left - np.square(first)) - np.log(left - right)
        ends = [
            (alone - 2 * np.log(first)) / left,
            (np.log(positive - np.square(second)) - 2 * np.log(second)) / positive,
        ]
        first_end = np.fmin(*ends)  # NaN means never reached
    times = np.where(later, first_end, 0.0)
    # Without r_j, the end of the interval is the root.
    searched = later & np.triu(second > 0, 1)
    a, b, r, q = (array[searched] for array in (left, positive, first, second))
    low, high = np.zeros_like(a), times[searched]
    for _ in range(60):
        middle = (low + high) / 2
        reached = np.square(r / damping(middle * a, a, r))
        reached += 2 * np.square(q / damping(middle * b, b, q))
        low, high = np.where(reached < b, (middle, high), (low, middle))
    times[searched] = high
    return times


def log_scale_bounds(eigenvalues: ArrayLike, tolerance: float | None = None) -> Array:
    """Return, for each pair i < j, the bound below which log σ² must stay for the theory to hold.

    This is the paper's −λ_j/(λ_i − λ_j) · log(λ_iλ_j/(λ_i − λ_j)), where its estimate of
    max_t R_ij² is 1. With a `tolerance`, it is where the estimate of max_t |R_ij| is that fraction
    of √λ_j, the value of r_i at that moment; this condition does not depend on the units of M*. The
    estimate neglects r_j, which lowers the peak (`off_diagonal_peak`). The bound is therefore
    sufficient and, for close eigenvalues, stricter than necessary. Elements that are not pairs, and
    pairs with λ_j ≤ 0, have the bound +∞. Equal eigenvalues have −∞: no start is small enough.

    >>> log_scale_bounds([4.0, 2.0, 1.0]).round(3)
    array([[   inf, -1.386, -0.096],
           [   inf,    inf, -0.693],
           [   inf,    inf,    inf]])
    """
    if tolerance is not None and not 0 < tolerance < 1:
        raise SettingError(f"tolerance must be between 0 and 1, not {tolerance}.")
    values = _ordered(eigenvalues)
    left, right = values[:, None], values
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = left - right
        bounds = -right / gap * np.log(left * right / gap)
        if tolerance is not None:
            bounds += left / gap * np.log(tolerance**2 * right * left / gap)
    bounded = np.triu(np.broadcast_to(right > 0, gap.shape), 1)
    return np.where(bounded, np.where(gap > 0, bounds, -np.inf), np.inf)


def _ordered(eigenvalues: ArrayLike) -> Array:
    values = np.asarray(eigenvalues, dtype=np.float64)
    if values.ndim != 1 or not np.all(np.isfinite(values)) or np.any(np.diff(values) > 0):
        raise SettingError("The theory of R needs finite eigenvalues in decreasing order.")
    return values


def _checked_triangular(triangular: ArrayLike, eigenvalues: ArrayLike) -> tuple[Array, Array]:
    values = _ordered(eigenvalues)
    r = np.asarray(triangular, dtype=np.float64)
    if r.ndim == 0:
        r = np.triu(np.full((np.count_nonzero(values > 0), len(values)), float(r)))
    if r.ndim != 2 or r.shape[1] != len(values) or len(r) > len(values) or np.tril(r, -1).any():
        raise SettingError(
            f"R must be upper triangular, with one column for each of the {len(values)} "
            f"eigenvalues and at most as many rows, not of shape {r.shape}."
        )
    if not (np.all(np.diagonal(r) > 0) and np.all(values[: len(r)] > 0)):
        raise SettingError("R must have a positive diagonal, and its rows positive eigenvalues.")
    return r, values
