"""Derivatives at 0 of the two sides of a contrastive loss, f⁺ and f⁻."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

_NODES = 19
_AGREEMENT = 1e-8
_NEGLIGIBLE = 1e-10


class Derivatives(NamedTuple):
    """The first and second derivative of one side of a loss, f⁺ or f⁻, at 0."""

    first: float
    second: float


LossSide: TypeAlias = "Callable[[float], Any] | Derivatives"
"""f⁺ or f⁻: a function of a number, or its derivatives at 0 where these are known."""

LOGISTIC_PLUS = Derivatives(-0.5, 0.25)
"""Of word2vec's f⁺(x) = log(1 + e⁻ˣ)."""
LOGISTIC_MINUS = Derivatives(0.5, 0.25)
"""Of word2vec's f⁻(x) = log(1 + eˣ)."""


def derivatives_at_zero(function: LossSide) -> Derivatives:
    """Return the first two derivatives of a smooth function at 0.

    They are those of the polynomial through 19 Chebyshev nodes on [−h, h]. The interval is halved
    from h = 1 until two in a row agree to 1e-8 of the derivatives' size; then analytic functions
    are exact to about 1e-11 of it, and a derivative below 1e-10 of it is taken for 0. A function
    with a kink at 0 never agrees, and is refused.

    >>> round(derivatives_at_zero(np.cos).second, 10)
    -1.0
    """
    if isinstance(function, Derivatives):
        return function
    previous = None
    for halvings in range(12):
        current = _differentiate(function, 0.5**halvings)
        if previous is not None and current is not None:
            size = max(1e-3, *map(abs, current))
            if all(abs(a - b) <= _AGREEMENT * size for a, b in zip(previous, current, strict=True)):
                return Derivatives(*(d if abs(d) > _NEGLIGIBLE * size else 0.0 for d in current))
        previous = current
    raise SettingError(
        "A side of the loss has no first and second derivative at 0 that could be found to 1e-8; "
        "give a smooth function of a number, or its Derivatives(first, second)."
    )


def _differentiate(function: Callable[[float], Any], reach: float) -> Derivatives | None:
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    with np.errstate(all="ignore"):
        values = np.array([float(function(float(reach * node))) for node in nodes])
    if not np.all(np.isfinite(values)):
        return None
    series = np.polynomial.chebyshev.Chebyshev.fit(nodes, values, _NODES - 1, domain=[-1, 1])
    first, second = series.deriv(1)(0.0), series.deriv(2)(0.0)
    return Derivatives(float(first / reach), float(second / reach**2))
