"""What a target makes of a pair's count C and of the count E that independence would give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray


class Derivatives(NamedTuple):
    """The first and second derivative of one side of a loss, f⁺ or f⁻, at 0."""

    first: float
    second: float


LOGISTIC_PLUS = Derivatives(-0.5, 0.25)
"""Of word2vec's f⁺(x) = log(1 + e⁻ˣ)."""
LOGISTIC_MINUS = Derivatives(0.5, 0.25)
"""Of word2vec's f⁻(x) = log(1 + eˣ)."""


@dataclass(frozen=True)
class Formula:
    """An entry of a target: ``finish((a C + b E) / (c C + d E + h))``."""

    coefficients: tuple[float, float, float, float, float]
    """a, b, c, d and h."""
    unseen: float | None
    """The entry of a pair that never occurs, where it is the same for all; else None."""
    curvature: tuple[float, float]
    """How much C and E contribute to the coupling: f⁺″(0) and f⁻″(0)."""
    finish: Callable[[NDArray[Any]], None] | None = None
    """Applied in place to the fraction, which must then be 0 for C = 0; None leaves it as it is."""

    def unseen_entry(self, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the entries of pairs that never occur, by their expected count."""
        _, b, _, d, h = self.coefficients
        return b * expected / (d * expected + h)

    @classmethod
    def of_loss(cls, plus: Derivatives, minus: Derivatives, shrinkage: float = 0.0) -> Formula:
        """Return the minimiser of a loss's quadratic expansion, entry by entry (paper, eq. mstar).

        M* = −(C f⁺′ + E f⁻′) / (C f⁺″ + E f⁻″), where `shrinkage` adds that many counts to E in the
        denominator alone, a penalty on M*² that the evidence has to overcome.
        """
        require_finite("shrinkage", shrinkage)
        for derivative in (*plus, *minus):
            require_finite("A loss's derivative at 0", derivative)
        if shrinkage < 0:
            raise SettingError(f"shrinkage must not be negative, and it is {shrinkage}.")
        if plus.second < 0 or minus.second <= 0:
            raise SettingError(
                "The quadratic expansion of this loss has no minimum: it needs f⁺″(0) ≥ 0 and "
                f"f⁻″(0) > 0, and they are {plus.second:g} and {minus.second:g}."
            )
        return cls(
            (-plus.first, -minus.first, plus.second, minus.second, shrinkage * minus.second),
            unseen=-minus.first / minus.second if shrinkage == 0 else None,
            curvature=(plus.second, minus.second),
        )

    @classmethod
    def of_ratio(cls, finish: Callable[[NDArray[Any]], None], unseen: float) -> Formula:
        """Return a function of P_ij / (P_i P_j), coupled as word2vec's own loss is."""
        curvature = (LOGISTIC_PLUS.second, LOGISTIC_MINUS.second)
        return cls((1.0, 0.0, 0.0, 1.0, 0.0), unseen, curvature, finish)


def require_finite(name: str, value: float) -> None:
    """Raise `SettingError` unless `value` is a finite number."""
    if not math.isfinite(value):
        raise SettingError(f"{name} must be a finite number, not {value}.")
