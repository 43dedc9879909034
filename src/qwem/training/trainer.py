"""Trainers: `init`, then `step`, for any loss, reweighting and gradient."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal.settings import require_choice
from qwem.dynamics import entry_scale
from qwem.errors import SettingError
from qwem.target import Reweighting, setting31
from qwem.training.losses import Descent, Objective, Parameters, gradient_norm, move
from qwem.training.weighting import PairWeights, pair_weights, time_per_rate

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, DTypeLike

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Vocabulary
    from qwem.dynamics.closed_form import ScaleOf
    from qwem.training.losses import Loss

StepRule = Literal["sgd", "rk4"]

_SMALLEST_IN_FLOAT32 = 1e-5


class Optimizer(Protocol):
    """Optimizer with the interface of Optax."""

    def init(self, params: Any) -> Any:
        """Return the optimizer's state at the start."""

    def update(self, updates: Any, state: Any, params: Any) -> tuple[Any, Any]:
        """Turn gradients into changes, and return them with the new state."""


@dataclass(frozen=True)
class Schedule:
    """Learning rate of each step: constant, stepwise or linear.

    ``stepwise`` is the paper's: the rate falls by 90 % at three quarters of the run, which ends at
    the time t = `until`. In the authors' code the run has a number of `steps`. The first takes ten
    times as many steps for the last quarter of the time: a run planned for 4,000 steps takes
    13,000. The second takes 4,000 steps, and ends at 77.5 % of the planned time. ``linear`` is
    word2vec's: the rate falls to zero, but not below η/10,000.

    >>> schedule = Schedule(0.1, "stepwise", until=2.0)
    >>> schedule(step=70, time=1.4), round(schedule(step=80, time=1.6), 12)
    (0.1, 0.01)
    >>> [Schedule(1.0, "linear", steps=4)(step, time=0.0) for step in (0, 1, 4)]
    [1.0, 0.75, 0.0001]
    """

    rate: float
    """η of the first step."""
    kind: Literal["constant", "stepwise", "linear"] = "constant"
    steps: int | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        require_choice("kind", self.kind, ("constant", "stepwise", "linear"))
        ends = [end for end in (self.steps, self.until) if end is not None]
        if not all(0 < number < float("inf") for number in (self.rate, *ends)):
            raise SettingError(f"The rate and the end of a schedule must be positive: {self}.")
        if len(ends) != (self.kind != "constant"):
            raise SettingError("A rate that changes needs the end of the run: steps or until.")

    def __call__(self, step: int, time: float) -> float:
        """Return the rate of step number `step`, which starts at `time`."""
        now, end = (step, self.steps) if self.until is None else (time, self.until)
        if end is None:
            return self.rate
        if self.kind == "linear":
            return self.rate * max(1 - now / end, 1e-4)
        return self.rate if now < 0.75 * end else self.rate * 0.1


class State(NamedTuple):
    """State of a training run between two steps."""

    step: int
    time: float
    """The paper's t; NaN under an Optax optimizer, whose steps have no such time."""
    key: int
    """The key of the minibatches: the next step uses batch number `step` of this key."""
    parameters: Parameters
    """W of a tied model, W and W′ of an untied one."""
    optimizer: Any = None
    """The state of the Optax optimizer; None for plain steps."""

    @property
    def vectors(self) -> jax.Array:
        """W."""
        return self.parameters[0]

    @property
    def context_vectors(self) -> jax.Array:
        """W′; W itself if they are tied."""
        return self.parameters[-1]


class Info(NamedTuple):
    """Measurements of one step."""

    loss: jax.Array
    """The loss before the step, of all pairs or of the minibatch."""
    gradient_norm: jax.Array
    rate: float
    """η; NaN under an Optax optimizer."""


@dataclass(frozen=True, eq=False)
class Trainer:
    """Training algorithm, made by `population` or `stochastic`.

    >>> from qwem import Cooccurrence
    >>> from qwem.training import population
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.1)
    >>> state, info = trainer.step(trainer.init(init_scale=0.1))
    >>> state.step
    1
    """

    vocabulary: Vocabulary
    dim: int
    tied: bool
    dtype: np.dtype[Any]
    objective: Objective = field(repr=False)
    time_per_rate: float
    """The paper's time covered by a step of rate 1: 2g for the quartic loss; see `weighting`."""
    rate: Schedule | None
    method: StepRule
    optimizer: Optimizer | None = field(repr=False)
    settings: dict[str, Any] = field(repr=False)
    """The choices that made this trainer, as plain data."""

    def init(
        self,
        init_scale: float | Literal["word2vec"] | None = None,
        *,
        scale_of: ScaleOf = "entry",
        seed: int = 0,
        vectors: ArrayLike | None = None,
        context_vectors: ArrayLike | None = None,
    ) -> State:
        """Return the state at step 0, from a random start or from given vectors.

        Parameters
        ----------
        init_scale
            The size of a random start with independent normal entries; or ``"word2vec"``, the start
            of word2vec.c: W uniform on ±1/(2d), and W′ = 0 in an untied model.
        scale_of
            What `init_scale` is the size of: each ``"entry"`` as in the paper, each word's
            ``"vector"`` as in the authors' code, or each ``"mode"``; see `entry_scale`.
        seed
            The seed of the random start, and the key of the minibatches. The same seed gives the
            same start in both precisions, up to rounding.
        vectors, context_vectors
            W(0) itself, and W′(0) in an untied model, instead of a random start.
        """
        if not 0 <= seed < 2**63:
            raise SettingError(f"seed must be a non-negative 63-bit integer, not {seed}.")
        if (init_scale is None) == (vectors is None):
            raise SettingError("Give either init_scale or vectors.")
        shape = (len(self.vocabulary), self.dim)
        if init_scale is not None:
            if context_vectors is not None:
                raise SettingError("Give context_vectors together with vectors.")
            sigma = entry_scale(init_scale, shape, scale_of)
            self._require_precision(sigma)
            random = np.random.default_rng(seed)
            if init_scale == "word2vec":
                half = 0.5 / self.dim
                starts = [random.uniform(-half, half, shape), np.zeros(shape)][: 2 - self.tied]
            else:
                starts = [sigma * random.standard_normal(shape) for _ in range(2 - self.tied)]
        else:
            starts = [np.asarray(x) for x in (vectors, context_vectors) if x is not None]
            if len(starts) != 2 - self.tied or any(x.shape != shape for x in starts):
                raise SettingError(
                    f"The start must have vectors of shape {shape}; an untied model also needs "
                    "context_vectors of that shape."
                )
            self._require_precision(max(float(np.abs(start).max()) for start in starts))
        with self.precision():
            parameters = tuple(jnp.asarray(start.astype(self.dtype)) for start in starts)
            state = None if self.optimizer is None else self.optimizer.init(parameters)
        time = 0.0 if self.optimizer is None else float("nan")
        return State(0, time, seed, parameters, state)

    def _require_precision(self, size: float) -> None:
        """Raise unless the precision is enough for a start with entries of this size."""
        if self.dtype == np.float32 and size > 0 and precision_for(size) != "float32":
            raise SettingError(
                f"A start with entries of about {size:.2g} is lost in float32, which rounds "
                "learned modes more coarsely than that; use dtype='float64'."
            )

    def step(self, state: State) -> tuple[State, Info]:
        """Take one step, and return the new state with measurements of the step."""
        rate, time, optimizer_state = float("nan"), state.time, None
        with self.precision():
            if self.optimizer is not None:
                loss, gradients = self.evaluate(state)
                parameters, optimizer_state, norm = _update(
                    state.parameters, gradients, state.optimizer, self.optimizer
                )
            elif self.rate is not None:
                rate = self.rate(state.step, state.time)
                time = state.time + self.time_per_rate * rate
                loss, norm, parameters = self.descend(state.parameters, rate, state.key, state.step)
        after = State(state.step + 1, time, state.key, parameters, optimizer_state)
        return after, Info(loss, norm, rate)

    def descend(self, parameters: Parameters, rate: float, key: int = 0, step: int = 0) -> Descent:
        """Take a plain or fourth-order step of this rate; call it within `precision`."""
        if self.method == "rk4":
            return self._runge_kutta(parameters, key, step, rate)
        return self.objective.descend(parameters, key, step, rate)

    def evaluate(self, state: State) -> tuple[jax.Array, Parameters]:
        """Return the loss and its gradient in W, or in W and W′, that the next `step` uses."""
        with self.precision():
            return self.objective.evaluate(state.parameters, state.key, state.step)

    def precision(self) -> Any:
        """Return a context manager in which JAX computes in this trainer's precision."""
        return jax.enable_x64(self.dtype == np.float64)

    def _runge_kutta(self, parameters: Parameters, key: int, step: int, rate: float) -> Descent:
        """Take a step of the classical fourth-order method."""
        loss, first = self.objective.evaluate(parameters, key, step)
        slopes = [first]
        for part in (0.5, 0.5, 1.0):
            there = move(parameters, slopes[-1], part * rate)
            slopes.append(self.objective.gradient(there, key, step))
        mean = _mean_slope(slopes)
        return Descent(loss, gradient_norm(mean), move(parameters, mean, rate))


def precision_for(init_scale: float) -> Literal["float32", "float64"]:
    """Return the precision that a random start with this σ needs.

    Rounding the entries of W adds noise to all modes. In float32 the noise is about 1e-7 of the
    learned modes. Modes that are yet to be learned grow from it instead of from a smaller start.

    >>> precision_for(1e-2), precision_for(1e-12)
    ('float32', 'float64')
    """
    return "float32" if init_scale >= _SMALLEST_IN_FLOAT32 else "float64"


def make_trainer(
    objective_of: Callable[[Reweighting, PairWeights, np.dtype[Any]], Objective],
    counts: Cooccurrence,
    loss: Loss,
    reweighting: Reweighting | None,
    *,
    dim: int,
    rate: float | Schedule | None,
    optimizer: Optimizer | None,
    method: StepRule,
    tied: bool,
    dtype: DTypeLike,
    shrinkage: float = 0.0,
    settings: dict[str, Any],
) -> Trainer:
    """Return a trainer after checking its settings; `objective_of` makes the objective."""
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise SettingError(f"dtype must be float32 or float64, not {dtype}.")
    if not 1 <= dim <= len(counts.vocabulary):
        raise SettingError(
            f"dim must be between 1 and the number of words, {len(counts.vocabulary):,}, not {dim}."
        )
    if (rate is None) == (optimizer is None):
        raise SettingError("Give either a rate or an Optax optimizer.")
    if method not in ("sgd", "rk4") or (method == "rk4" and rate is None):
        raise SettingError(f"method must be sgd, or rk4 with a rate, not {method!r}.")
    if isinstance(rate, int | float):
        rate = Schedule(float(rate))
    reweighting = setting31() if reweighting is None else reweighting
    weights = pair_weights(counts, reweighting, loss, shrinkage)
    with jax.enable_x64(dtype == np.float64):
        objective = objective_of(reweighting, weights, dtype)
    common = {
        "counts": counts.fingerprint,
        "loss": loss.name,
        "reweighting": reweighting.settings,
        "shrinkage": shrinkage,
        "dim": dim,
        "tied": tied,
        "dtype": dtype.name,
        "method": "optax" if rate is None else method,
        "rate": None if rate is None else asdict(rate),
    }
    return Trainer(
        vocabulary=counts.vocabulary,
        dim=dim,
        tied=tied,
        dtype=dtype,
        objective=objective,
        time_per_rate=time_per_rate(weights, loss),
        rate=rate,
        method=method,
        optimizer=optimizer,
        settings={**common, **settings},
    )


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
