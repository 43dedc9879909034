"""Window weights: what a pair of words counts for, by its distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.checks import require_whole
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WINDOW = 10_000
MAX_WEIGHT = 2**63 - 1


def window_weights(window: int, weights: str | Sequence[int] = "dynamic") -> tuple[int, ...]:
    """Return the weight of a pair at each distance from 1 to `window`.

    >>> window_weights(3), window_weights(3, "flat"), window_weights(2, [5, 1])
    ((3, 2, 1), (1, 1, 1), (5, 1))
    """
    require_whole("window", window, least=1, most=MAX_WINDOW)
    if isinstance(weights, str):
        if weights == "dynamic":
            return tuple(range(window, 0, -1))
        if weights == "flat":
            return (1,) * window
        raise SettingError(
            f"`weights` must be 'dynamic', 'flat' or a weight for each distance, not {weights!r}."
        )
    if len(weights) != window:
        raise SettingError(f"A window of {window} needs {window} weights, not {len(weights)}.")
    if not all(0 <= weight <= MAX_WEIGHT and weight == int(weight) for weight in weights):
        raise SettingError(
            f"`weights` must be whole numbers from 0 to {MAX_WEIGHT:,}, not {list(weights)}."
        )
    return tuple(map(int, weights))
