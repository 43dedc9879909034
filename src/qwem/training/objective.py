"""Objectives: a loss with its gradient, and the plain gradient step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import jax
import jax.numpy as jnp

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
        """Return the gradient alone, where it costs less."""
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
