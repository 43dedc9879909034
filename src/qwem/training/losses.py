"""Contrastive losses: what a pair's inner product costs as a positive and as a negative example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import jax
import jax.numpy as jnp

from qwem.target import derivatives_at_zero

Side: TypeAlias = Callable[[jax.Array], jax.Array]
Costs: TypeAlias = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


@dataclass(frozen=True)
class Loss:
    """The two sides f⁺ and f⁻ of a loss Σ Ψ⁺ P_ij f⁺(x_ij) + Ψ⁻ P_i P_j f⁻(x_ij), x = w·w′.

    Where the sides share work, `combined` may do both at once; see `costs`.
    """

    name: str
    positive: Side
    """f⁺, of a JAX array, element by element."""
    negative: Side
    """f⁻."""
    curvature: tuple[float, float]
    """f⁺″(0) and f⁻″(0)."""
    combined: Costs | None = None

    @property
    def mean_curvature(self) -> float:
        """The mean of f⁺″(0) and f⁻″(0): ½ for the quartic loss, ¼ for the logistic one."""
        return sum(self.curvature) / 2

    @property
    def relative_curvature(self) -> tuple[float, float]:
        """The curvatures as parts of their mean: what Setting 3.1 weighs the two sides by."""
        plus, minus = self.curvature
        return plus / self.mean_curvature, minus / self.mean_curvature

    def costs(
        self, x: jax.Array, positive: jax.Array, negative: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return a f⁺(x) + b f⁻(x) and its derivative in x, for weights a and b of the two sides.

        >>> QUARTIC.costs(jnp.float32(2), jnp.float32(1), jnp.float32(0))[1].item()
        0.0
        """
        if self.combined is not None:
            return self.combined(x, positive, negative)
        one = jnp.ones_like(x)
        plus, plus_slope = jax.jvp(self.positive, (x,), (one,))
        minus, minus_slope = jax.jvp(self.negative, (x,), (one,))
        return positive * plus + negative * minus, positive * plus_slope + negative * minus_slope


def contrastive(f_plus: Side, f_minus: Side, name: str = "contrastive") -> Loss:
    """Return the loss of any smooth f⁺ and f⁻, functions of JAX arrays, element by element.

    >>> round(contrastive(lambda x: -x, lambda x: x + x**2 / 2).curvature[1], 6)
    1.0
    """
    with jax.enable_x64(True):
        plus, minus = (derivatives_at_zero(_of_number(side)) for side in (f_plus, f_minus))
    return Loss(name, f_plus, f_minus, (plus.second, minus.second))


def _of_number(side: Side) -> Callable[[float], float]:
    return lambda x: float(side(jnp.asarray(x)))


def _logistic(
    x: jax.Array, positive: jax.Array, negative: jax.Array
) -> tuple[jax.Array, jax.Array]:
    # One exponential does for both sides: f⁺(x) = f⁻(x) − x, and e^{−|x|} can't overflow.
    small = jnp.exp(-jnp.abs(x))
    sigmoid = jnp.where(x >= 0, 1, small) / (1 + small)
    softplus = jnp.maximum(x, 0) + jnp.log1p(small)
    both = positive + negative
    return both * softplus - positive * x, both * sigmoid - positive


LOGISTIC = Loss("logistic", lambda x: jax.nn.softplus(-x), jax.nn.softplus, (0.25, 0.25), _logistic)
"""word2vec's own: f⁺ = log(1 + e⁻ˣ), f⁻ = log(1 + eˣ)."""

QUARTIC = Loss("quartic", lambda x: x * x / 4 - x, lambda x: x * x / 4 + x, (0.5, 0.5))
"""QWEM's f± = x²/4 ∓ x (paper, eq. qwem_loss): the logistic loss to second order, doubled and
without its constant."""
