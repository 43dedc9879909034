"""Kernel of the map of topics: the layout of words in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import njit

Array = np.ndarray[Any, Any]

EPOCHS, REPELLED, REPULSION = 200, 10, 10.0
"""The number of epochs, of repelling points per attraction, and the strength of repulsion."""


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
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

    It runs the epochs between the fractions `begin` and `end` of all. A link of chance c attracts
    in a fraction c of the epochs. Each time, its first point is also repelled by random points, as
    in UMAP (McInnes, Healy and Melville 2018), but with the Cauchy kernel and the strong repulsion
    of t-SNE, which keeps more neighbours (Böhm, Berens and Kobak 2022). The repulsions are summed
    before the point moves, so that they can be computed independently. It runs in one thread, so
    the seed determines the result.
    """
    state = np.uint64(seed) * np.uint64(2) + np.uint64(0x9E3779B97F4A7C15)
    count = np.uint64(places.shape[0])
    one, least, strength = np.float32(1), np.float32(0.001), np.float32(2 * REPULSION)
    for epoch in range(int(begin * EPOCHS), int(end * EPOCHS)):
        step = np.float32(1 - epoch / EPOCHS)
        for link in range(heads.size):
            # Spread the epochs of a link evenly over all.
            if int((epoch + 1) * chances[link]) == int(epoch * chances[link]):
                continue
            i, j = heads[link], tails[link]
            x, y = places[i, 0], places[i, 1]
            dx, dy = x - places[j, 0], y - places[j, 1]
            pull = np.float32(-2) / (one + dx * dx + dy * dy)
            mx, my = _clipped(pull * dx) * step, _clipped(pull * dy) * step
            x, y = x + mx, y + my
            places[j, 0] -= mx
            places[j, 1] -= my
            push_x, push_y = np.float32(0), np.float32(0)
            for _ in range(REPELLED):
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                # The upper half of the state times the count: a whole number below the count.
                other = ((state >> np.uint64(32)) * count) >> np.uint64(32)
                dx, dy = x - places[other, 0], y - places[other, 1]
                square = dx * dx + dy * dy
                push = strength / ((least + square) * (one + square))
                push_x += _clipped(push * dx)
                push_y += _clipped(push * dy)
            places[i, 0] = x + push_x * step
            places[i, 1] = y + push_y * step


@njit(inline="always")
def _clipped(value: Any) -> Any:
    return min(np.float32(4), max(np.float32(-4), value))
