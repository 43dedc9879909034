"""The gradient of a minibatch of pairs drawn from the text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from qwem.dynamics.training.pairs import PairSampler, Prefetcher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.dynamics.training.losses import Loss
    from qwem.dynamics.training.exact import Parameters

Backend = Literal["auto", "jax", "compiled"]

_SHARES = 2
"""Parts of a batch whose gradients are added up; their number must not depend on the threads."""


class StochasticSource:
    """∇ of Σ_b weight_b f±(w_i·w′_j) over the pairs b = (i, j) of a batch.

    Its expectation is the population gradient. On a CPU, rows are gathered and scattered by
    compiled loops, which XLA does many times more slowly there; the loss itself is JAX in any case.
    """

    def __init__(self, sampler: PairSampler, loss: Loss, backend: Backend) -> None:
        if backend == "auto":
            backend = "compiled" if jax.default_backend() == "cpu" else "jax"
        self._prefetcher = Prefetcher(sampler)
        self._loss = loss
        self._compiled = backend == "compiled"

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss of batch number `step` and its gradient."""
        batch = self._prefetcher.batch(key, step)
        if not self._compiled:
            return _gradient(parameters, *map(jnp.asarray, batch), self._loss)
        return self._compiled_gradient(parameters, *batch)

    def _compiled_gradient(
        self,
        parameters: Parameters,
        centers: NDArray[np.int32],
        contexts: NDArray[np.int32],
        weights: NDArray[Any],
    ) -> tuple[jax.Array, Parameters]:
        from qwem.dynamics.training.kernels import add_gradients, multiply_pairs

        host = [np.asarray(side) for side in parameters]
        left, right = host[0], host[-1]
        products = np.empty(len(weights), left.dtype)
        parts = np.array_split(np.arange(len(weights)), _SHARES)
        shares = [slice(int(part[0]), int(part[-1]) + 1) for part in parts if len(part)]

        def multiply(share: slice) -> None:
            multiply_pairs(left, right, centers[share], contexts[share], products[share])

        def add(share: slice) -> list[NDArray[Any]]:
            gradients = [np.zeros_like(side) for side in host]
            add_gradients(
                left,
                right,
                centers[share],
                contexts[share],
                slopes[share],
                gradients[0],
                gradients[-1],
            )
            return gradients

        with ThreadPoolExecutor(_SHARES) as pool:
            list(pool.map(multiply, shares))
            loss, device_slopes = _slopes(jnp.asarray(products), jnp.asarray(weights), self._loss)
            slopes = np.asarray(device_slopes)
            first, *others = pool.map(add, shares)
        for other in others:
            for total, part in zip(first, other, strict=True):
                total += part
        return loss, tuple(jnp.asarray(total) for total in first)


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
