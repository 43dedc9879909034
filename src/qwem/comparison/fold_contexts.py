"""Contexts of words: whether they differ between two corpora by more than chance.

The mean context of a word is the mean of the context vectors of its neighbours, Σ_j C_ij y_j / Σ_j
C_ij: in a model p(j | i) ∝ q_j exp(w_i·y_j) it says everything that the counts say about w_i. It is
linear in the counts. So the mean contexts of any parts of a text follow from those of its folds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qwem._internal.blocks import blocks, for_each
from qwem._internal.resources import require_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Array: TypeAlias = NDArray[np.float64]

CLASS_WORDS = 500
"""Words of similar frequency whose permutations are pooled."""


@dataclass(frozen=True, eq=False)
class FoldContexts:
    """The contexts of every word in the folds of two corpora, as far as a test needs them."""

    products: Array
    """For each word i, the inner products of s_k = Σ_j C_ij y_j in fold k, less the word's pairs
    there times its mean context, over any two folds; divided by its pairs in all folds."""
    shares: Array
    """For each word, which part of its pairs is in each fold."""
    middle: int
    """How many folds the first corpus has."""

    @classmethod
    def of(
        cls,
        first: Sequence[Cooccurrence],
        second: Sequence[Cooccurrence],
        context: NDArray[np.float32],
        threads: int | None = None,
    ) -> FoldContexts:
        """Return the contexts of words in the folds of two corpora.

        `context` has the vectors of contexts, one for each word or for each word, slot and side.
        """
        from qwem._internal.sparse_product import multiply
        from qwem.cooccurrence import context_matrix

        folds = [*first, *second]
        pairs = np.array([fold.pair_sums for fold in folds], dtype=np.float64).T
        total = np.maximum(pairs.sum(axis=1), 1)
        shares = pairs / total[:, None]
        size, dim = len(pairs), context.shape[1]
        in_slots = len(context) > size
        require_memory(4 * len(folds) * size * dim, "The contexts of all folds", "use fewer folds")
        sums = np.empty((size, len(folds), dim), np.float32)
        for place, fold in enumerate(folds):
            matrix = context_matrix(fold, threads) if in_slots else fold.symmetric.tocsr()
            sums[:, place] = multiply(matrix, context, threads)
        products = np.empty((size, len(folds), len(folds)))

        def work(words: slice) -> None:
            wide = sums[words].astype(np.float64)
            wide -= shares[words, :, None] * wide.sum(axis=1, keepdims=True)
            products[words] = wide @ wide.transpose(0, 2, 1) / total[words, None, None]

        for_each(work, blocks(size, len(folds) * dim), threads)
        return cls(products, shares, len(first))

    def ratio(self) -> Array:
        """Return how much larger the differences between two corpora are than between folds.

        This is the pseudo-F of Anderson (2001): with n_k pairs of a word in fold k and mean context
        x_k there, and n, x those of a corpus, it is the sum over the two corpora of n |x − x̄|²,
        divided by the mean over all folds of n_k |x_k − x|² (with two degrees of freedom less than
        folds that have the word). It is about 1 for a word that is used in the same way, and 0 for
        one that a corpus does not have, or that is in two folds only.
        """
        inside = np.arange(self.shares.shape[1]) < self.middle
        return self.ratios(inside[None])[0]

    def dealt_anew(self, permutations: int, seed: int) -> Array:
        """Return the ratios of all words for random dealings of the folds to the two corpora."""
        rng = np.random.default_rng([seed, 2])
        inside = np.arange(self.shares.shape[1]) < self.middle
        return self.ratios(rng.permuted(np.tile(inside, (permutations, 1)), axis=1))

    def ratios(self, inside: NDArray[np.bool_]) -> Array:
        """Return the ratios for some dealings, of which each row says what the first corpus has."""
        chosen = inside.astype(np.float64)
        share = chosen @ self.shares.T
        both = share * (1 - share)
        # |Σ s_k|² over the folds of the first corpus; those of the second add up to its opposite.
        weights = chosen[:, :, None] * chosen[:, None, :]
        squares = weights.reshape(len(inside), -1) @ self.products.reshape(len(self.shares), -1).T
        between = np.divide(squares, both, out=np.zeros_like(both), where=both > 1e-9)
        within = np.maximum(self._scatter - between, 1e-9 * self._scatter)
        freedom = np.broadcast_to(np.count_nonzero(self.shares, axis=1) - 2, both.shape)
        ratios: Array = np.divide(
            freedom * between, within, out=np.zeros_like(both), where=(within > 0) & (freedom > 0)
        )
        return ratios

    @cached_property
    def _scatter(self) -> Array:
        """Σ_k n_k |x_k − x̄|² over all folds."""
        own = np.einsum("ikk->ik", self.products)
        scatter: Array = np.divide(
            own, self.shares, out=np.zeros_like(own), where=self.shares > 0
        ).sum(axis=1)
        return scatter


def pooled_p_values(observed: Array, drawn: Array, counts: NDArray[np.integer]) -> Array:
    """Return p-values of statistics, given those under random dealings, one row per dealing.

    Each word's statistics are standardized by mean and spread of the observed and the drawn ones
    together, so that all are treated alike. They are then compared with the standardized ones
    of words of similar frequency under all dealings, because a few dealings give few different
    values for one word.
    """
    pooled = np.vstack([observed, drawn])
    spread = pooled.std(axis=0)
    centred = pooled - pooled.mean(axis=0)
    scores = np.divide(centred, spread, out=np.zeros_like(pooled), where=spread > 0)
    p_values = np.empty(len(observed))
    order = np.argsort(-counts, kind="stable")
    for words in np.array_split(order, max(1, len(order) // CLASS_WORDS)):
        chance = np.sort(scores[1:, words], axis=None)
        larger = len(chance) - np.searchsorted(chance, scores[0, words] - 1e-12)
        p_values[words] = (1 + larger) / (1 + len(chance))
    return p_values
