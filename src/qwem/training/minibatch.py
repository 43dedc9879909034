"""Gradients of minibatches of pairs drawn from the text."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal.arrays import cut_evenly
from qwem._internal.resources import thread_count
from qwem.errors import SettingError
from qwem.training.losses import LOGISTIC, QUARTIC, Descent, Loss, Objective, Parameters
from qwem.training.pairs import PairBatch, PairSampler
from qwem.training.trainer import Optimizer, Schedule, Trainer, make_trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.target import Reweighting
    from qwem.training.weighting import PairWeights

Backend = Literal["auto", "jax", "compiled"]


def stochastic(
    corpus: Corpus,
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    dim: int,
    rate: float | Schedule | None = None,
    optimizer: Optimizer | None = None,
    tied: bool = True,
    dtype: DTypeLike = np.float32,
    batch_size: int = 100_000,
    flatten: float = 0.0,
    backend: Backend = "auto",
) -> Trainer:
    """Return a trainer that uses minibatches of pairs drawn from the text, half of them positive.

    Parameters
    ----------
    corpus
        The text. It may be larger than memory.
    counts
        The counts of this text, for P_ij and P_i. Pairs are drawn with the weights by distance
        that were used for counting.
    batch_size
        The number of pairs per batch: 100,000 in the paper.
    flatten
        β between 0, which draws pairs as the paper does, and 1, which draws all words about equally
        often. The expected gradient is the same for every β. Near 1, Setting 3.1 has far less
        noise; see `qwem.training.pairs`.
    backend
        How rows are gathered and scattered: by ``"jax"``, on any device; by ``"compiled"`` loops,
        on CPUs; ``"auto"`` chooses the faster one.

    The other parameters are those of `population`.

    >>> from qwem import Cooccurrence, Corpus
    >>> corpus = Corpus.from_documents(["a b a c"])
    >>> trainer = stochastic(corpus, Cooccurrence.count(corpus, 2), dim=1, rate=0.1, batch_size=10)
    >>> trainer.step(trainer.init(init_scale=0.1))[0].step
    1
    """
    if backend not in ("auto", "jax", "compiled"):
        raise SettingError(f"backend must be auto, jax or compiled, not {backend!r}.")

    def objective(
        reweighting: Reweighting, weights: PairWeights, dtype: np.dtype[Any]
    ) -> Objective:
        sampler = PairSampler(
            corpus, counts, weights, batch_size=batch_size, flatten=flatten, dtype=dtype
        )
        on_cpu = jax.default_backend() == "cpu"
        compiled = on_cpu if backend == "auto" else backend == "compiled"
        return (CompiledObjective if compiled else JaxObjective)(sampler, loss)

    return make_trainer(
        objective,
        counts,
        loss,
        reweighting,
        dim=dim,
        rate=rate,
        optimizer=optimizer,
        method="sgd",
        tied=tied,
        dtype=dtype,
        settings={
            "gradient": "stochastic",
            "corpus": corpus.fingerprint,
            "batch_size": batch_size,
            "flatten": flatten,
        },
    )


class JaxObjective(Objective):
    """Gradient of Σ_b weight_b f±(w_i·w′_j) over the pairs b = (i, j) of a batch, in JAX.

    Its expectation is the population gradient.
    """

    def __init__(self, sampler: PairSampler, loss: Loss) -> None:
        self._sampler = sampler
        self._loss = loss

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss of batch number `step` and its gradient."""
        batch = self._sampler.batch(key, step)
        pairs = (jnp.asarray(array) for array in batch[:4])
        return _gradient(parameters, *pairs, loss=self._loss)


class CompiledObjective(Objective):
    """The gradient of `JaxObjective` by compiled loops, many times faster than XLA on CPUs.

    A step reads each pair's rows twice: sorted by centre, for the inner product and the gradient of
    the centre, and sorted by context. Both orders are prepared in the background. All gradients are
    computed at the old vectors and written directly into the new rows. The order of the sums does
    not depend on the number of threads.
    """

    def __init__(self, sampler: PairSampler, loss: Loss) -> None:
        self._sampler = sampler
        self._loss = loss
        self._threads = thread_count()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="qwem-gradient")
        weakref.finalize(self, self._pool.shutdown, wait=False)

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss of batch number `step` and its gradient."""
        descent = self._run(parameters, self._sampler.batch(key, step), None)
        return descent.loss, descent.parameters

    def descend(self, parameters: Parameters, key: int, step: int, rate: float) -> Descent:
        """Take the step W ← W − η∇L on batch number `step`."""
        return self._run(parameters, self._sampler.batch(key, step), rate)

    def _run(self, parameters: Parameters, batch: PairBatch, rate: float | None) -> Descent:
        """Return the parameters after a step of this rate; without a rate, the gradients."""
        from qwem.training.kernels import fit_centres, fit_words

        host = [np.asarray(side) for side in parameters]
        left, right, tied = host[0], host[-1], len(host) == 1
        moves, eta = rate is not None, rate or 0.0
        results = [np.empty_like(side) for side in host]
        norms = np.zeros((len(host), len(left)))
        starts, by_context = batch.centre_starts, batch.by_context
        slopes = np.empty(len(batch.weights), left.dtype)

        if self._loss in (LOGISTIC, QUARTIC):
            losses = np.empty(len(left))

            def fit(words: tuple[int, int]) -> None:
                fit_centres(
                    left,
                    right,
                    batch.contexts,
                    batch.weights,
                    batch.is_positive,
                    starts,
                    words,
                    self._loss is LOGISTIC,
                    eta,
                    moves and not tied,
                    slopes,
                    losses,
                    norms[0],
                    results[0],
                )
        else:
            losses, slopes = self._slopes(left, right, batch)

            def fit(words: tuple[int, int]) -> None:
                half = eta, moves and not tied, False, norms[0], results[0]
                fit_words(left, right, batch.contexts, slopes, starts, words, *half)

        self._run_in_threads(fit, starts)
        pairs = batch.centres_by_context, slopes[by_context.order], by_context.starts

        def fit_contexts(words: tuple[int, int]) -> None:
            half = eta, moves, tied, norms[-1], results[-1]
            fit_words(right, left, *pairs, words, *half)

        self._run_in_threads(fit_contexts, by_context.starts)
        loss, norm = (jnp.asarray(x, left.dtype) for x in (losses.sum(), np.sqrt(norms.sum())))
        return Descent(loss, norm, tuple(jax.device_put(side) for side in results))

    def _slopes(
        self, left: NDArray[Any], right: NDArray[Any], batch: PairBatch
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the costs and slopes of all pairs under a loss without a compiled form."""
        from qwem.training.kernels import multiply_pairs

        products = np.empty(len(batch.weights), left.dtype)

        def multiply(words: tuple[int, int]) -> None:
            multiply_pairs(left, right, batch.contexts, batch.centre_starts, words, products)

        self._run_in_threads(multiply, batch.centre_starts)
        found = _costs(*map(jnp.asarray, (products, batch.is_positive, batch.weights)), self._loss)
        costs, slopes = (np.asarray(array) for array in found)
        return costs, slopes

    def _run_in_threads(
        self, work: Callable[[tuple[int, int]], None], starts: NDArray[np.int32]
    ) -> None:
        """Call `work` on ranges of words that have about equally many pairs."""
        list(self._pool.map(work, cut_evenly(starts, 8 * self._threads)))


@partial(jax.jit, static_argnames="loss")
def _costs(
    products: jax.Array, is_positive: jax.Array, weights: jax.Array, loss: Loss
) -> tuple[jax.Array, jax.Array]:
    """Return the cost of each pair, and its slope in the inner product."""
    positive, negative = jnp.where(is_positive, weights, 0), jnp.where(is_positive, 0, weights)
    return loss.costs(products, positive, negative)


@partial(jax.jit, static_argnames="loss")
def _gradient(
    parameters: Parameters,
    centres: jax.Array,
    contexts: jax.Array,
    is_positive: jax.Array,
    weights: jax.Array,
    loss: Loss,
) -> tuple[jax.Array, Parameters]:
    left, right = parameters[0], parameters[-1]
    rows, columns = left[centres], right[contexts]
    costs, slopes = _costs(jnp.einsum("bd,bd->b", rows, columns), is_positive, weights, loss)
    into_left = jnp.zeros_like(left).at[centres].add(slopes[:, None] * columns)
    into_right = jnp.zeros_like(right).at[contexts].add(slopes[:, None] * rows)
    if len(parameters) == 1:
        return costs.sum(), (into_left + into_right,)
    return costs.sum(), (into_left, into_right)
