"""The gradient of a minibatch of pairs drawn from the text."""

from __future__ import annotations

import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal.blocks import cut_evenly
from qwem._internal.resources import thread_count
from qwem.training.losses import LOGISTIC, QUARTIC, Loss
from qwem.training.pairs import Batch, PairSampler, Prefetcher
from qwem.training.source import Descent, Parameters, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Backend = Literal["auto", "jax", "compiled"]

_ALIGNMENT = 64
_BLOCKS = 8


def minibatch_source(sampler: PairSampler, loss: Loss, backend: Backend) -> Source:
    """Return the gradient of Σ_b weight_b f±(w_i·w′_j) over the pairs b = (i, j) of a batch.

    Its expectation is the population gradient.
    """
    if backend == "auto":
        backend = "compiled" if jax.default_backend() == "cpu" else "jax"
    return (CompiledSource if backend == "compiled" else JaxSource)(sampler, loss)


class JaxSource(Source):
    """Rows gathered and scattered by JAX, on any device."""

    def __init__(self, sampler: PairSampler, loss: Loss) -> None:
        self._prefetcher = Prefetcher(sampler)
        self._loss = loss

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss of batch number `step` and its gradient."""
        batch = self._prefetcher.batch(key, step)
        pairs = (jnp.asarray(array) for array in batch[:4])
        return _gradient(parameters, *pairs, loss=self._loss)


class CompiledSource(Source):
    """Compiled loops for CPUs, where XLA gathers and scatters many times more slowly.

    A step reads each pair's rows twice: once sorted by center, for its product and the center's
    gradient, and once sorted by context. Both sorts were made in the background. All gradients are
    those at the old vectors, and go straight into the new rows. The sums have one order whatever
    the number of threads.
    """

    def __init__(self, sampler: PairSampler, loss: Loss, threads: int | None = None) -> None:
        self._prefetcher = Prefetcher(sampler)
        self._loss = loss
        self._threads = thread_count(threads)
        self._memory = _Memory()
        self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="qwem-gradient")
        weakref.finalize(self, self._pool.shutdown, wait=False)

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss of batch number `step` and its gradient."""
        descent = self._run(parameters, self._prefetcher.batch(key, step), None)
        return descent.loss, descent.parameters

    def descend(self, parameters: Parameters, key: int, step: int, rate: float) -> Descent:
        """Take the step W ← W − η∇L on batch number `step`."""
        return self._run(parameters, self._prefetcher.batch(key, step), rate)

    def _run(self, parameters: Parameters, batch: Batch, rate: float | None) -> Descent:
        """Return the parameters after a step, or without a rate their gradients."""
        from qwem.training.kernels import fit_centers, fit_words
        from qwem.training.pairs.kernels import take

        host = [np.asarray(side) for side in parameters]
        left, right, tied = host[0], host[-1], len(host) == 1
        moves, eta = rate is not None, rate or 0.0
        results = [self._memory.empty_like(side) for side in host]
        norms = np.zeros((len(host), len(left)))
        starts, by_context = batch.center_starts, batch.by_context
        slopes = np.empty(len(batch.weights), left.dtype)

        if self._loss in (LOGISTIC, QUARTIC):
            losses = np.empty(len(left))

            def fit(words: tuple[int, int]) -> None:
                fit_centers(
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

        self._share_out(fit, starts)
        sorted_slopes = np.empty_like(slopes)

        def fit_contexts(words: tuple[int, int]) -> None:
            first, last = by_context.starts[words[0]], by_context.starts[words[1]]
            take(slopes, by_context.order, first, last, sorted_slopes)
            half = eta, moves, tied, norms[-1], results[-1]
            pairs = batch.centers_by_context, sorted_slopes, by_context.starts
            fit_words(right, left, *pairs, words, *half)

        self._share_out(fit_contexts, by_context.starts)
        loss, norm = (jnp.asarray(x, left.dtype) for x in (losses.sum(), np.sqrt(norms.sum())))
        return Descent(loss, norm, tuple(jax.device_put(side) for side in results))

    def _slopes(
        self, left: NDArray[Any], right: NDArray[Any], batch: Batch
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the costs and slopes of all pairs under a loss that only JAX knows."""
        from qwem.training.kernels import multiply_pairs

        products = np.empty(len(batch.weights), left.dtype)

        def multiply(words: tuple[int, int]) -> None:
            multiply_pairs(left, right, batch.contexts, batch.center_starts, words, products)

        self._share_out(multiply, batch.center_starts)
        found = _costs(*map(jnp.asarray, (products, batch.is_positive, batch.weights)), self._loss)
        costs, slopes = (np.asarray(array) for array in found)
        return costs, slopes

    def _share_out(
        self, work: Callable[[tuple[int, int]], None], starts: NDArray[np.int32]
    ) -> None:
        """Do `work` on all words, in ranges with about as many pairs each."""
        list(self._pool.map(work, cut_evenly(starts, 8 * self._threads)))


def _references(blocks: list[NDArray[np.uint8]]) -> list[int]:
    """Return how often each block is referred to: by every array in it, JAX's too, and here."""
    return [sys.getrefcount(block) for block in blocks]


# What is left where nobody else refers to a block depends on the version of Python.
_OWN_REFERENCES = _references([np.empty(0, np.uint8)])[0]


class _Memory:
    """Memory for arrays that come and go with each step: fresh pages would cost as much as sums."""

    def __init__(self) -> None:
        self._blocks: list[NDArray[np.uint8]] = []

    def empty_like(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array in unused memory, at an address where JAX takes it over uncopied."""
        block = self._unused(array.nbytes + _ALIGNMENT)
        offset = -block.ctypes.data % _ALIGNMENT
        return block[offset : offset + array.nbytes].view(array.dtype).reshape(array.shape)

    def _unused(self, size: int) -> NDArray[np.uint8]:
        for block, references in zip(self._blocks, _references(self._blocks), strict=True):
            if block.size == size and references == _OWN_REFERENCES:
                return block
        block = np.empty(size, np.uint8)
        # States that somebody keeps keep their memory; it need not be looked at for ever.
        self._blocks = [*self._blocks[-_BLOCKS + 1 :], block]
        return block


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
    centers: jax.Array,
    contexts: jax.Array,
    is_positive: jax.Array,
    weights: jax.Array,
    loss: Loss,
) -> tuple[jax.Array, Parameters]:
    left, right = parameters[0], parameters[-1]
    rows, columns = left[centers], right[contexts]
    costs, slopes = _costs(jnp.einsum("bd,bd->b", rows, columns), is_positive, weights, loss)
    into_left = jnp.zeros_like(left).at[centers].add(slopes[:, None] * columns)
    into_right = jnp.zeros_like(right).at[contexts].add(slopes[:, None] * rows)
    if len(parameters) == 1:
        return costs.sum(), (into_left + into_right,)
    return costs.sum(), (into_left, into_right)
