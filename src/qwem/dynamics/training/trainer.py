"""Trainers: `init` then `step`, whatever the loss, the weighting and the source of gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from qwem.dynamics.training.exact import Parameters, Source, population_source
from qwem.dynamics.training.losses import QUARTIC, Loss
from qwem.dynamics.training.minibatch import Backend, StochasticSource
from qwem.dynamics.training.pairs import PairSampler
from qwem.dynamics.training.schedule import Stepwise
from qwem.dynamics.training.weighting import Weighting, time_per_rate, weigh
from qwem.errors import SettingError
from qwem.target import Reweighting, setting31

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary

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
        with self.precision():
            parameters = parameters_of(state)
            loss, gradients = self.evaluate(state)
            optimizer_state, rate, time = None, float("nan"), state.time
            if self.optimizer is not None:
                parameters, optimizer_state, norm = _update(
                    parameters, gradients, state.optimizer, self.optimizer
                )
            elif self.rate is not None:
                rate = self.rate(state.time)
                time = state.time + self.time_per_rate * rate
                if self.method == "rk4":
                    gradients = self._runge_kutta(parameters, gradients, state, rate)
                parameters, norm = _descend(parameters, gradients, rate)
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

    def _runge_kutta(
        self, parameters: Parameters, first: Parameters, state: State, rate: float
    ) -> Parameters:
        """Return the mean slope of a step of the classical fourth-order method."""
        slopes = [first]
        for part in (0.5, 0.5, 1.0):
            moved, _ = _descend(parameters, slopes[-1], part * rate)
            slopes.append(self.source.evaluate(moved, state.key, state.step)[1])
        return _mean_slope(slopes)


def parameters_of(state: State) -> Parameters:
    """Return W, or W and W′."""
    if state.context_vectors is None:
        return (state.vectors,)
    return state.vectors, state.context_vectors


def population(
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    dim: int,
    rate: float | Stepwise | None = None,
    optimizer: Optimizer | None = None,
    method: Method = "sgd",
    tied: bool = True,
    dtype: DTypeLike = np.float32,
) -> Trainer:
    """Return a trainer by the exact gradient of the loss over all pairs.

    Parameters
    ----------
    counts
        How often words meet.
    loss
        `QUARTIC`, `LOGISTIC`, or `contrastive` of any f⁺ and f⁻.
    reweighting
        Ψ⁺ and Ψ⁻; by default `setting31`. word2vec's are `word2vec_weighting`.
    dim
        d.
    rate
        η of W ← W − η∇L, a number or a schedule such as `stepwise`.
    optimizer
        Any Optax optimiser, instead of a rate.
    method
        ``"sgd"``, or ``"rk4"``, which follows the gradient flow to fourth order in η at the price
        of four gradients a step.
    tied
        Whether W′ = W, as in the paper.
    dtype
        float32 or float64, whatever JAX's own configuration.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.1)
    >>> state, info = trainer.step(trainer.init(init_scale=0.1))
    >>> state.step, state.time
    (1, 0.2)
    """
    with jax.enable_x64(np.dtype(dtype) == np.float64):
        reweighting, weighting, common = _common(
            counts, loss, reweighting, dim, rate, optimizer, method, tied, dtype
        )
        source = population_source(counts, reweighting, weighting, loss, np.dtype(dtype))
    common["settings"] |= {"source": "population"}
    return Trainer(source=source, **common)


def stochastic(
    corpus: Corpus,
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    dim: int,
    rate: float | Stepwise | None = None,
    optimizer: Optimizer | None = None,
    tied: bool = True,
    dtype: DTypeLike = np.float32,
    batch_size: int = 100_000,
    flatten: float = 0.0,
    backend: Backend = "auto",
) -> Trainer:
    """Return a trainer by minibatches of pairs, half of them positive, drawn from the text.

    Parameters
    ----------
    corpus
        The text, which may be larger than memory.
    counts
        The pairs of this text, for P_ij and P_i; drawn pairs are spread over distances as counted.
    batch_size
        Pairs in a batch: 100,000 in the paper.
    flatten
        β from 0, pairs drawn as in the paper, to 1, all words about equally often; the expectation
        of the gradient stays what it is. Near 1, Setting 3.1 has far less noise; see `pairs`.
    backend
        Who gathers and scatters rows: ``"jax"``, ``"compiled"`` loops for CPUs, or what suits.

    The other parameters are those of `population`.

    >>> from qwem import Cooccurrence, Corpus
    >>> corpus = Corpus.from_documents(["a b a c"])
    >>> trainer = stochastic(corpus, Cooccurrence.count(corpus, 2), dim=1, rate=0.1, batch_size=10)
    >>> trainer.step(trainer.init(init_scale=0.1))[0].step
    1
    """
    if backend not in ("auto", "jax", "compiled"):
        raise SettingError(f"backend must be auto, jax or compiled, not {backend!r}.")
    _, weighting, common = _common(
        counts, loss, reweighting, dim, rate, optimizer, "sgd", tied, dtype
    )
    sampler = PairSampler(
        corpus, counts, weighting, batch_size=batch_size, flatten=flatten, dtype=dtype
    )
    common["settings"] |= {
        "source": "stochastic",
        "corpus": corpus.fingerprint,
        "batch_size": batch_size,
        "flatten": flatten,
    }
    return Trainer(source=StochasticSource(sampler, loss, backend), **common)


def _common(
    counts: Cooccurrence,
    loss: Loss,
    reweighting: Reweighting | None,
    dim: int,
    rate: float | Stepwise | None,
    optimizer: Optimizer | None,
    method: Method,
    tied: bool,
    dtype: DTypeLike,
) -> tuple[Reweighting, Weighting, dict[str, Any]]:
    """Return what all trainers have, after a look at the settings."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise SettingError(f"dtype must be float32 or float64, not {np.dtype(dtype)}.")
    if not 1 <= dim <= len(counts.vocabulary):
        raise SettingError(
            f"dim must lie between 1 and the {len(counts.vocabulary):,} words, not be {dim}."
        )
    if (rate is None) == (optimizer is None):
        raise SettingError("Give a rate or an Optax optimizer, and not both.")
    if method not in ("sgd", "rk4") or (method == "rk4" and rate is None):
        raise SettingError(f"method must be sgd, or rk4 with a rate, not {method!r}.")
    if rate is not None and not isinstance(rate, Stepwise):
        rate = Stepwise(float(rate))
    reweighting = setting31() if reweighting is None else reweighting
    weighting = weigh(counts, reweighting, loss)
    settings = {
        "counts": counts.fingerprint,
        "loss": loss.name,
        "reweighting": reweighting.settings,
        "dim": dim,
        "tied": tied,
        "dtype": np.dtype(dtype).name,
        "method": "optax" if rate is None else method,
        "rate": None if rate is None else [rate.rate, str(rate.drop_at), rate.factor],
    }
    common = {
        "vocabulary": counts.vocabulary,
        "dim": dim,
        "tied": tied,
        "dtype": np.dtype(dtype),
        "time_per_rate": time_per_rate(weighting, loss),
        "rate": rate,
        "method": method,
        "optimizer": optimizer,
        "settings": settings,
    }
    return reweighting, weighting, common


@jax.jit
def _descend(
    parameters: Parameters, gradients: Parameters, rate: float
) -> tuple[Parameters, jax.Array]:
    moved = jax.tree.map(lambda p, g: p - jnp.asarray(rate, p.dtype) * g, parameters, gradients)
    return moved, _norm(gradients)


@partial(jax.jit, static_argnames="optimizer")
def _update(
    parameters: Parameters,
    gradients: Parameters,
    state: Any,
    optimizer: Optimizer,
) -> tuple[Parameters, Any, jax.Array]:
    changes, state = optimizer.update(gradients, state, parameters)
    moved = jax.tree.map(lambda p, change: p + change.astype(p.dtype), parameters, changes)
    return moved, state, _norm(gradients)


def _norm(gradients: Parameters) -> jax.Array:
    return jnp.sqrt(jnp.sum(jnp.stack([jnp.vdot(side, side) for side in gradients])))


@jax.jit
def _mean_slope(slopes: list[Parameters]) -> Parameters:
    return jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, *slopes)
