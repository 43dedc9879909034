"""Chance: the task vectors of random words, and of the same words paired at random."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.arrays import blocks
from qwem.interpretation.task_vectors import slabs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

# Classes of similar frequency: the 64 most frequent words, and then each class ends at √2 times the
# rank at which it begins, so that its frequencies differ by a factor of about √2.
_FIRST_CLASS = 64

# Entries of the task vectors that are computed together.
_BATCH_ENTRIES = 1 << 19


def shares_of_mean(vectors: NDArray[np.floating], dims: Sequence[int]) -> Array:
    """Return N|r̄_d|²/Tr G_d for each d: the share of the mean in the task vectors' squared length.

    It equals SNR × signal in mean / rank. It is 1 where all task vectors are the same, and 1/N on
    average where their directions are random. Leading axes of `vectors` hold several tasks.

    >>> shares_of_mean(np.array([[2.0, 1.0], [2.0, -1.0]]), (1, 2))
    array([1. , 0.8])
    """
    starts = [slab.start for slab in slabs(dims)]
    used = vectors[..., : dims[-1]].astype(np.float64)
    means = used.shape[-2] * used.mean(axis=-2) ** 2
    squares = np.einsum("...nk,...nk->...k", used, used)
    signal, total = (
        np.add.reduceat(each, starts, axis=-1).cumsum(axis=-1) for each in (means, squares)
    )
    return np.divide(signal, total, out=np.zeros_like(signal), where=total > 0)


def shares_of_other_words(
    vectors: NDArray[np.float32],
    pairs: tuple[Rows, Rows],
    dims: Sequence[int],
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Return `shares_of_mean` of tasks whose words are replaced by others of similar frequency.

    Each word of the task is replaced by a random word of its class, and different words by
    different ones. So a word that occurs in several pairs still does. There is one row per draw.
    """
    words, places = np.unique(np.concatenate(pairs), return_inverse=True)
    chosen = np.empty((draws, len(words)), dtype=np.int64)
    for members, begin, end in _classes(words, len(vectors)):
        chosen[:, members] = begin + _distinct(draws, len(members), end - begin, rng)
    first, second = np.split(chosen[:, places], 2, axis=1)
    batches = blocks(draws, len(pairs[0]) * dims[-1], most=_BATCH_ENTRIES)
    used = vectors[:, : dims[-1]]
    return np.concatenate(
        [shares_of_mean(used[second[batch]] - used[first[batch]], dims) for batch in batches]
    )


def pairing_products(
    sources: NDArray[np.float32],
    targets: NDArray[np.float32],
    dims: Sequence[int],
    draws: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return Σ_n a_n·b_n for each d, for the task and for `draws` random pairings of its words.

    The a_n are the rows of `sources`, and the b_n those of `targets`.
    In Tr G = Σ|a|² + Σ|b|² − 2Σ a·b, another pairing changes the last term alone, and it does not
    change the mean task vector. So this sum orders pairings as `shares_of_mean` does.
    """
    count = len(sources)
    pairings = rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
    inner = np.zeros((count, count))
    observed, others = [], []
    for slab in slabs(dims):
        first = sources[:, slab].astype(np.float64)
        inner = inner + first @ targets[:, slab].T.astype(np.float64)
        observed.append(np.trace(inner))
        others.append(inner[np.arange(count), pairings].sum(axis=1))
    return np.array(observed), np.array(others).T


def p_value_of_largest(observed: Array, chance: Array) -> float:
    """Return the p-value of the largest standardized value over all d.

    For each d, values are standardized by the mean and spread of draws and observation together.
    The largest value over d of the observation is then compared with those of the draws. Since the
    draws and the observation are treated alike, the p-value is exact for any number of d and draws.

    >>> p_value_of_largest(np.array([3.0]), np.array([[0.0], [1.0], [2.0]]))
    0.25
    """
    pooled = np.vstack([observed, chance])
    spread = pooled.std(axis=0)
    centred = pooled - pooled.mean(axis=0)
    scores = np.divide(centred, spread, out=np.zeros_like(pooled), where=spread > 0)
    largest = scores.max(axis=1)
    # A draw that repeats the observation counts as equal, whatever the order of its sums.
    return float(np.mean(largest >= largest[0] - 1e-9))


def _classes(words: Rows, vocab_size: int) -> Iterator[tuple[Rows, int, int]]:
    """Yield for each class of similar frequency the places of its words and its ranks."""
    begin, end = 0, min(_FIRST_CLASS, vocab_size)
    while begin < vocab_size:
        members = np.flatnonzero((words >= begin) & (words < end))
        if len(members):
            yield members, begin, end
        begin, end = end, min(int(np.ceil(end * np.sqrt(2))), vocab_size)


def _distinct(draws: int, count: int, size: int, rng: np.random.Generator) -> Rows:
    """Return `draws` rows of `count` different numbers below `size`, all rows equally likely."""
    if count**2 > size:
        return np.array([rng.choice(size, count, replace=False) for _ in range(draws)])
    # Few numbers rarely repeat. Drawing only the rows that do again is exact, and faster.
    rows = rng.integers(size, size=(draws, count))
    repeated = np.arange(draws)
    while len(repeated):
        ordered = np.sort(rows[repeated], axis=1)
        repeated = repeated[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        rows[repeated] = rng.integers(size, size=(len(repeated), count))
    return rows
