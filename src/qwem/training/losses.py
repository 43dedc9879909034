"""Contrastive losses f⁺ and f⁻ of an inner product, and objectives: a loss with its gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp

from qwem.target.targets import derivatives_at_zero

PairCost: TypeAlias = Callable[[jax.Array], jax.Array]
"""f⁺ or f⁻, applied to a JAX array element by element."""

Costs: TypeAlias = Callable[[jax.Array, jax.Array, jax.Array], tuple[jax.Array, jax.Array]]


@dataclass(frozen=True)
class Loss:
    """Contrastive loss Σ Ψ⁺ P_ij f⁺(x_ij) + Ψ⁻ P_i P_j f⁻(x_ij) of inner products x_ij = w_i·w′_j.

    `combined`, if given, computes f⁺ and f⁻ together, because they share work; see `costs`.
    """

    name: str
    positive: PairCost
    """f⁺, applied to a JAX array element by element."""
    negative: PairCost
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
        """The curvatures divided by their mean, which weigh P_ij and P_i P_j under Setting 3.1."""
        plus, minus = self.curvature
        return plus / self.mean_curvature, minus / self.mean_curvature

    def costs(
        self, x: jax.Array, positive: jax.Array, negative: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return a f⁺(x) + b f⁻(x) and its derivative in x, with a = `positive`, b = `negative`.

        >>> QUARTIC.costs(jnp.float32(2), jnp.float32(1), jnp.float32(0))[1].item()
        0.0
        """
        if self.combined is not None:
            return self.combined(x, positive, negative)
        one = jnp.ones_like(x)
        plus, plus_slope = jax.jvp(self.positive, (x,), (one,))
        minus, minus_slope = jax.jvp(self.negative, (x,), (one,))
        return positive * plus + negative * minus, positive * plus_slope + negative * minus_slope


def contrastive(f_plus: PairCost, f_minus: PairCost, name: str = "contrastive") -> Loss:
    """Return the loss of any smooth f⁺ and f⁻, applied to JAX arrays element by element.

    >>> round(contrastive(lambda x: -x, lambda x: x + x**2 / 2).curvature[1], 6)
    1.0
    """
    with jax.enable_x64(True):
        plus, minus = (derivatives_at_zero(_of_number(cost)) for cost in (f_plus, f_minus))
    return Loss(name, f_plus, f_minus, (plus.second, minus.second))


def _of_number(cost: PairCost) -> Callable[[float], float]:
    return lambda x: float(cost(jnp.asarray(x)))


def _logistic(
    x: jax.Array, positive: jax.Array, negative: jax.Array
) -> tuple[jax.Array, jax.Array]:
    # One exponential serves f⁺ and f⁻, since f⁺(x) = f⁻(x) − x; e^{−|x|} can't overflow.
    small = jnp.exp(-jnp.abs(x))
    sigmoid = jnp.where(x >= 0, 1, small) / (1 + small)
    softplus = jnp.maximum(x, 0) + jnp.log1p(small)
    both = positive + negative
    return both * softplus - positive * x, both * sigmoid - positive


LOGISTIC = Loss("logistic", lambda x: jax.nn.softplus(-x), jax.nn.softplus, (0.25, 0.25), _logistic)
"""word2vec's loss: f⁺ = log(1 + e⁻ˣ), f⁻ = log(1 + eˣ)."""

QUARTIC = Loss("quartic", lambda x: x * x / 4 - x, lambda x: x * x / 4 + x, (0.5, 0.5))
"""QWEM's loss f± = x²/4 ∓ x (paper, eq. qwem_loss): the logistic loss to second order, doubled,
without its constant."""


Parameters = tuple[jax.Array, ...]
"""W of a tied model, W and W′ of an untied one."""


class Descent(NamedTuple):
    """Result of a plain step: the loss and gradient norm before it, the parameters after it."""

    loss: jax.Array
    gradient_norm: jax.Array
    parameters: Parameters


class Objective(ABC):
    """Loss with its gradient, exact or of minibatches."""

    @abstractmethod
    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss, or an estimate of it, and its gradient."""

    def gradient(self, parameters: Parameters, key: int, step: int) -> Parameters:
        """Return the gradient alone, which may be cheaper than with the loss."""
        return self.evaluate(parameters, key, step)[1]

    def descend(self, parameters: Parameters, key: int, step: int, rate: float) -> Descent:
        """Take the step W ← W − η∇L."""
        loss, gradients = self.evaluate(parameters, key, step)
        return Descent(loss, gradient_norm(gradients), move(parameters, gradients, rate))


@jax.jit
def move(parameters: Parameters, gradients: Parameters, rate: float) -> Parameters:
    """Return the parameters minus η times their gradients."""
    return jax.tree.map(lambda p, g: p - jnp.asarray(rate, p.dtype) * g, parameters, gradients)


@jax.jit
def gradient_norm(gradients: Parameters) -> jax.Array:
    """Return the Frobenius norm of all gradients together."""
    return jnp.sqrt(jnp.sum(jnp.stack([jnp.vdot(side, side) for side in gradients])))
