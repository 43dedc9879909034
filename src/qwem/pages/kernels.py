"""Kernels of the pages: products and lengths of all words, and the neighbour map."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import njit

Array = np.ndarray[Any, Any]

EPOCHS, REPELLED, REPULSION = 200, 10, 10.0
"""How often links attract, by how many points each repels, and how strongly."""


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def products_and_squares(
    rows: Array, direction: Array, squared_weights: Array, products: Array, squares: Array
) -> None:
    """Write Σ_k r_ik u_k and Σ_k r_ik² w_k² for each row i, over the first dimensions.

    One pass over the rows gives both, because reading them from memory is what takes the time.
    """
    dim = direction.size
    for i in range(rows.shape[0]):
        product = np.float32(0)
        square = np.float32(0)
        for k in range(dim):
            entry = np.float32(rows[i, k])
            product += entry * direction[k]
            square += entry * entry * squared_weights[k]
        products[i] = product
        squares[i] = square


@njit(nogil=True, cache=True, error_model="numpy")
def improve_layout(
    places: Array,
    heads: Array,
    tails: Array,
    chances: Array,
    begin: float,
    end: float,
    seed: int,
) -> None:
    """Move points so that linked ones come near each other and others stay apart, in place.

    It runs from one part of all epochs to another. A link of chance c attracts in a share c of the
    epochs, and each time the first point is repelled by random ones, as in UMAP (McInnes, Healy and
    Melville 2018), but with the Cauchy kernel and the strong repulsion of t-SNE, which keeps more
    neighbours (Böhm, Berens and Kobak 2022). It runs in one thread, so a seed has one result.
    """
    state = np.uint64(seed) * np.uint64(2) + np.uint64(0x9E3779B97F4A7C15)
    count = np.uint64(places.shape[0])
    for epoch in range(int(begin * EPOCHS), int(end * EPOCHS)):
        step = 1.0 - epoch / EPOCHS
        for link in range(heads.size):
            # Spread the epochs of a link evenly over all.
            if int((epoch + 1) * chances[link]) == int(epoch * chances[link]):
                continue
            i, j = heads[link], tails[link]
            dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            pull = -2 / (1 + dx * dx + dy * dy)
            mx, my = _clipped(pull * dx) * step, _clipped(pull * dy) * step
            places[i, 0] += mx
            places[i, 1] += my
            places[j, 0] -= mx
            places[j, 1] -= my
            for _ in range(REPELLED):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                other = np.int64((state >> np.uint64(11)) % count)
                if other == i:
                    continue
                dx, dy = places[i, 0] - places[other, 0], places[i, 1] - places[other, 1]
                square = dx * dx + dy * dy
                push = REPULSION * 2 / ((0.001 + square) * (1 + square))
                places[i, 0] += _clipped(push * dx) * step
                places[i, 1] += _clipped(push * dy) * step


@njit(inline="always")
def _clipped(value: Any) -> Any:
    return min(4.0, max(-4.0, value))
