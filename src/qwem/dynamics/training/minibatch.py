"""The gradient of a minibatch of pairs drawn from the text."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal.resources import thread_count
from qwem.dynamics.training.pairs import Batch, PairSampler, Prefetcher, Sorting

if TYPE_CHECKING:
    from collections.abc import Callable

    from qwem.dynamics.training.exact import Parameters
    from qwem.dynamics.training.losses import Loss

Backend = Literal["auto", "jax", "compiled"]


class StochasticSource:
    """∇ of Σ_b weight_b f±(w_i·w′_j) over the pairs b = (i, j) of a batch.

    Its expectation is the population gradient. On a CPU, rows are gathered and scattered by
    compiled loops, which XLA does many times more slowly there; the loss itself is JAX in any case.
    The sums have one order whatever the number of threads.
    """

    def __init__(self, sampler: PairSampler, loss: Loss, backend: Backend) -> None:
        if backend == "auto":
            backend = "compiled" if jax.default_backend() == "cpu" else "jax"
        self._prefetcher = Prefetcher(sampler)
        self._loss = loss
        self._compiled = backend == "compiled"
        self._pool = ThreadPoolExecutor(thread_count(None), thread_name_prefix="qwem-gradient")
        weakref.finalize(self, self._pool.shutdown, wait=False)

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss of batch number `step` and its gradient."""
        batch = self._prefetcher.batch(key, step)
        if self._compiled:
            return self._compiled_gradient(parameters, batch)
        pairs = (jnp.asarray(array) for array in (batch.centers, batch.contexts, batch.weights))
        return _gradient(parameters, *pairs, loss=self._loss)

    def _compiled_gradient(
        self, parameters: Parameters, batch: Batch
    ) -> tuple[jax.Array, Parameters]:
        from qwem.dynamics.training.kernels import add_gradients, multiply_pairs

        host = [np.asarray(side) for side in parameters]
        left, right = host[0], host[-1]
        centers, contexts = batch.centers, batch.contexts
        products = np.empty(len(batch.weights), left.dtype)
        gradients = [np.zeros_like(side) for side in host]

        def multiply(words: tuple[int, int]) -> None:
            order, starts = batch.by_center
            part = order[starts[words[0]] : starts[words[1]]]
            multiply_pairs(left, right, centers, contexts, part, products)

        def add_left(words: tuple[int, int]) -> None:
            add_gradients(right, contexts, slopes, *batch.by_center, *words, gradients[0])

        def add_right(words: tuple[int, int]) -> None:
            add_gradients(left, centers, slopes, *batch.by_context, *words, gradients[-1])

        self._share_out(multiply, batch.by_center)
        loss, device_slopes = _slopes(jnp.asarray(products), jnp.asarray(batch.weights), self._loss)
        slopes = np.asarray(device_slopes)
        self._share_out(add_left, batch.by_center)
        self._share_out(add_right, batch.by_context)
        return loss, tuple(jnp.asarray(gradient) for gradient in gradients)

    def _share_out(self, work: Callable[[tuple[int, int]], None], sorting: Sorting) -> None:
        """Do `work` on all words, in ranges with about as many pairs each."""
        marks = np.linspace(0, len(sorting.order), 4 * thread_count(None) + 1)
        cuts = np.searchsorted(sorting.starts, marks)
        cuts[0], cuts[-1] = 0, len(sorting.starts) - 1
        list(self._pool.map(work, pairwise(np.unique(cuts).tolist())))


@partial(jax.jit, static_argnames="loss")
def _slopes(products: jax.Array, weights: jax.Array, loss: Loss) -> tuple[jax.Array, jax.Array]:
    """Return the loss of a batch and its slope in each inner product."""
    is_positive = jnp.arange(len(weights)) < len(weights) // 2
    costs, slopes = loss.costs(
        products, jnp.where(is_positive, weights, 0), jnp.where(is_positive, 0, weights)
    )
    return costs.sum(), slopes


@partial(jax.jit, static_argnames="loss")
def _gradient(
    parameters: Parameters,
    centers: jax.Array,
    contexts: jax.Array,
    weights: jax.Array,
    loss: Loss,
) -> tuple[jax.Array, Parameters]:
    left, right = parameters[0], parameters[-1]
    rows, columns = left[centers], right[contexts]
    total, slopes = _slopes(jnp.einsum("bd,bd->b", rows, columns), weights, loss)
    into_left = jnp.zeros_like(left).at[centers].add(slopes[:, None] * columns)
    into_right = jnp.zeros_like(right).at[contexts].add(slopes[:, None] * rows)
    if len(parameters) == 1:
        return total, (into_left + into_right,)
    return total, (into_left, into_right)
