"""Trainers: `init` then `step`, whatever the loss, the weighting and the source of gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from qwem.errors import SettingError
from qwem.training.source import Descent, Parameters, Source, gradient_norm, move

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from qwem.corpus import Vocabulary
    from qwem.training.schedule import Stepwise

Method = Literal["sgd", "rk4"]


class Optimizer(Protocol):
    """What an Optax optimiser can do."""

    def init(self, params: Any) -> Any:
        """Return the optimiser's state at the start."""

    def update(self, updates: Any, state: Any, params: Any) -> tuple[Any, Any]:
        """Turn gradients into changes, and return the new state with them."""


class State(NamedTuple):
    """Where training is."""

    step: int
    time: float
    """The paper's t; NaN under an Optax optimiser, whose steps have no such time."""
    key: int
    """What minibatches are drawn by: batch number `step` of this stream is the next."""
    vectors: jax.Array
    context_vectors: jax.Array | None
    """W′; None where it is tied to W."""
    optimizer: Any
    """The state of the Optax optimiser; None for plain steps."""


class Info(NamedTuple):
    """What a step saw."""

    loss: jax.Array
    """The loss before the step, of the whole or of the minibatch."""
    gradient_norm: jax.Array
    rate: float
    """η; NaN under an Optax optimiser."""


@dataclass(frozen=True, eq=False)
class Trainer:
    """A training algorithm; made by `population` or `stochastic`."""

    vocabulary: Vocabulary
    dim: int
    tied: bool
    dtype: np.dtype[Any]
    source: Source = field(repr=False)
    time_per_rate: float
    """The paper's time that a step of rate 1 takes: 2g for the quartic loss; see `weighting`."""
    rate: Stepwise | None
    method: Method
    optimizer: Optimizer | None = field(repr=False)
    settings: dict[str, Any] = field(repr=False)
    """What made it, as plain data."""

    def init(
        self,
        init_scale: float | None = None,
        *,
        seed: int = 0,
        vectors: ArrayLike | None = None,
        context_vectors: ArrayLike | None = None,
    ) -> State:
        """Return the state at step 0: entries N(0, σ²) with σ = `init_scale`, or given vectors.

        `seed` is also the key of the minibatches. The same seed gives the same start in either
        precision, but for rounding.
        """
        if not 0 <= seed < 2**63:
            raise SettingError(f"seed must be a non-negative 63-bit integer, not {seed}.")
        if (init_scale is None) == (vectors is None):
            raise SettingError("Give init_scale or vectors, and not both.")
        shape = (len(self.vocabulary), self.dim)
        if init_scale is not None:
            if not (np.isfinite(init_scale) and init_scale > 0) or context_vectors is not None:
                raise SettingError(
                    f"init_scale must be a positive number, not {init_scale}, and stand alone."
                )
            random = np.random.default_rng(seed)
            starts = [init_scale * random.standard_normal(shape) for _ in range(2 - self.tied)]
        else:
            given = [np.asarray(x) for x in (vectors, context_vectors) if x is not None]
            if len(given) != 2 - self.tied or any(x.shape != shape for x in given):
                raise SettingError(
                    f"A start needs vectors of shape {shape}, and context_vectors of the same "
                    "shape where the model is untied."
                )
            starts = given
        with self.precision():
            parameters = tuple(jnp.asarray(start.astype(self.dtype)) for start in starts)
            state = None if self.optimizer is None else self.optimizer.init(parameters)
        time = 0.0 if self.optimizer is None else float("nan")
        return State(0, time, seed, parameters[0], None if self.tied else parameters[1], state)

    def step(self, state: State) -> tuple[State, Info]:
        """Return the state after one step, and what the step saw."""
        rate, time = float("nan"), state.time
        parameters, optimizer_state = parameters_of(state), None
        with self.precision():
            if self.optimizer is not None:
                loss, gradients = self.evaluate(state)
                parameters, optimizer_state, norm = _update(
                    parameters, gradients, state.optimizer, self.optimizer
                )
            elif self.rate is not None:
                rate = self.rate(state.time)
                time = state.time + self.time_per_rate * rate
                descend = self._runge_kutta if self.method == "rk4" else self.source.descend
                loss, norm, parameters = descend(parameters, state.key, state.step, rate)
        context = None if self.tied else parameters[1]
        after = State(state.step + 1, time, state.key, parameters[0], context, optimizer_state)
        return after, Info(loss, norm, rate)

    def evaluate(self, state: State) -> tuple[jax.Array, Parameters]:
        """Return what `step` would see: the loss, and its gradient in W, or in W and W′."""
        with self.precision():
            return self.source.evaluate(parameters_of(state), state.key, state.step)

    def precision(self) -> Any:
        """Return a context in which JAX computes in this trainer's precision."""
        return jax.enable_x64(self.dtype == np.float64)

    def _runge_kutta(self, parameters: Parameters, key: int, step: int, rate: float) -> Descent:
        """Take a step of the classical fourth-order method."""
        loss, first = self.source.evaluate(parameters, key, step)
        slopes = [first]
        for part in (0.5, 0.5, 1.0):
            there = move(parameters, slopes[-1], part * rate)
            slopes.append(self.source.evaluate(there, key, step)[1])
        mean = _mean_slope(slopes)
        return Descent(loss, gradient_norm(mean), move(parameters, mean, rate))


def parameters_of(state: State) -> Parameters:
    """Return W, or W and W′."""
    if state.context_vectors is None:
        return (state.vectors,)
    return state.vectors, state.context_vectors


@partial(jax.jit, static_argnames="optimizer")
def _update(
    parameters: Parameters,
    gradients: Parameters,
    state: Any,
    optimizer: Optimizer,
) -> tuple[Parameters, Any, jax.Array]:
    changes, state = optimizer.update(gradients, state, parameters)
    moved = jax.tree.map(lambda p, change: p + change.astype(p.dtype), parameters, changes)
    return moved, state, gradient_norm(gradients)


@jax.jit
def _mean_slope(slopes: list[Parameters]) -> Parameters:
    return jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, *slopes)
