"""Random counts for the tests of the target room, and the plain statistics of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st

from qwem.cooccurrence import Cooccurrence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def from_triangle(triangle: Sequence[int], word_counts: Sequence[int]) -> Cooccurrence:
    """Counts with this upper triangle; words are named by their place after ordering."""
    size = len(word_counts)
    matrix = np.zeros((size, size), dtype=np.int64)
    matrix[np.triu_indices(size)] = triangle
    matrix += np.triu(matrix, 1).T
    order = np.argsort(-np.asarray(word_counts), kind="stable")
    words = [f"w{i:03}" for i in range(size)]
    return Cooccurrence.from_matrix(
        words, matrix[np.ix_(order, order)], np.asarray(word_counts)[order]
    )


@st.composite
def cooccurrences(draw: st.DrawFn, max_size: int = 7) -> Cooccurrence:
    """Small counts, many of them zero, with word counts of their own."""
    size = draw(st.integers(2, max_size))
    pairs = size * (size + 1) // 2
    count = st.one_of(st.just(0), st.integers(0, 9), st.integers(0, 10**6))
    triangle = draw(st.lists(count, min_size=pairs, max_size=pairs).filter(any))
    word_counts = draw(st.lists(st.integers(1, 10**5), min_size=size, max_size=size))
    return from_triangle(triangle, word_counts)


def random_counts(size: int, seed: int = 0, density: float = 0.5) -> Cooccurrence:
    """Counts of a given size, with a Zipf-like range of words."""
    rng = np.random.default_rng(seed)
    word_counts = np.sort(rng.zipf(1.5, size).clip(max=10**6))[::-1] + 5
    pairs = size * (size + 1) // 2
    triangle = rng.poisson(20, pairs) * (rng.random(pairs) < density)
    return from_triangle(triangle.tolist(), word_counts.tolist())


def probabilities(counts: Cooccurrence) -> tuple[Array, Array]:
    """P_ij and P_i P_j, by their definitions."""
    pairs = np.asarray(counts.symmetric.toarray(), dtype=np.float64)
    words = counts.word_counts / counts.word_counts.sum()
    return pairs / pairs.sum(), np.outer(words, words)


def brute_force_pairs(documents: list[list[int]], size: int, weight: Any, window: int) -> Array:
    """Sum weight(distance) over all ordered pairs of places at most `window` apart."""
    matrix = np.zeros((size, size))
    for document in documents:
        for i, center in enumerate(document):
            for j, context in enumerate(document):
                if 0 < abs(i - j) <= window:
                    matrix[center, context] += weight(abs(i - j))
    return matrix
