"""Sigmoidal growth of an eigenmode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def damping(
    times: NDArray[np.float64],
    eigenvalues: NDArray[np.float64],
    initial: NDArray[np.float64],
    rates: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return s(0)/s(t) for every time and mode (Lemma 3.4), shape (…, modes).

    It is (e^{−γt} + s²(0) (1 − e^{−γt})/λ)^½, where γ is the rate of s²: the eigenvalue λ itself in
    the tied model. Neither term can overflow, s²(0) is not formed, and nothing cancels.
    """
    return damping_at(np.multiply.outer(times, rates), eigenvalues, initial)


def damping_at(
    growth: NDArray[np.float64],
    eigenvalues: NDArray[np.float64],
    initial: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return s(0)/s(t) element by element, for the exponents γt given as `growth`."""
    learned = initial * np.sqrt(-np.expm1(-growth)) / np.sqrt(eigenvalues)
    return np.hypot(np.exp(-growth / 2), learned)


def checked_times(times: ArrayLike) -> NDArray[np.float64]:
    """Return times as an array, after checking that none is negative."""
    array = np.asarray(times, dtype=np.float64)
    if not np.all(array >= 0):
        raise SettingError(
            "Times must be numbers that are not negative; training starts at time 0."
        )
    return array
