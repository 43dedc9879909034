"""Contexts of words in folds: whether they differ between slices of a text, and by how much.

The mean context of a word is the mean of the context vectors of its neighbours, Σ_j C_ij y_j / Σ_j
C_ij: in a model p(j | i) ∝ q_j exp(w_i·y_j) it says everything that the counts say about w_i. It is
linear in the counts, so the mean contexts of any slices of a text follow from those of its folds.
The mean over all words of a fold, or of a slice, is subtracted first: what a text is about moves
the contexts of all its words alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.arrays import blocks, for_each
from qwem._internal.kernels import multiply
from qwem._internal.resources import require_memory
from qwem.cooccurrence import context_matrix
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Array: TypeAlias = NDArray[np.float64]
    Labels: TypeAlias = NDArray[np.int64]

CLASS_WORDS = 500
"""Words of similar frequency whose permutations are pooled."""

FEWEST_ORDERS = 20
"""With fewer different assignments of folds to slices there is no test."""

# Entries of the arrays of a block of words.
_BLOCK = 1 << 22


class Changes(NamedTuple):
    """How much the associations of each word differ between two slices."""

    change: Array
    """1 − the correlation of a word's associations in the two slices, without the bias of noise.
    NaN where the associations in either slice are not clearly different from none."""
    error: Array
    """The jackknife's standard error over folds."""


@dataclass(frozen=True, eq=False)
class FoldTest:
    """Assignment of folds to slices, as observed and at random."""

    fold: Labels
    """The fold of the test that each counted fold is a part of, −1 for none."""
    stratum: Labels
    """The stratum of each fold of the test: folds are exchanged within strata only."""
    slices: Array
    """One row per assignment, the observed one first: the slice of each fold, or its score."""
    trend: bool = False
    """Whether the numbers are scores, such as years, and a trend is tested."""

    def ratios(self, sums: Array, pairs: Array, centres: Array, totals: Array) -> Array:
        """Return the ratio of each word for each assignment.

        Given are the sums of contexts and the pairs of each word in each counted fold, the mean
        context of all words there, and the pairs of all words.

        This is the pseudo-F of Anderson (2001): with n_k pairs of a word in fold k and mean context
        x_k there, and n, x those of a slice, it is the mean over slices of n |x − x̄|², divided by
        the mean over folds of n_k |x_k − x|², each by its degrees of freedom. It is about 1 for a
        word that is used in the same way, and 0 for one that occurs in one slice only, or in too
        few folds. A trend has the squared slope over scores in place of the differences, and with
        strata x̄ is the mean of a stratum.
        """
        merged = np.equal.outer(self.fold, np.arange(len(self.stratum))).astype(np.float64)
        pairs = pairs @ merged
        centre = merged.T @ (totals[:, None] * centres) / (merged.T @ totals)[:, None]
        sums = np.einsum("ikc,km->imc", sums, merged, optimize=True)
        sums -= pairs[:, :, None] * centre
        total = np.maximum(pairs.sum(axis=1), 1)
        shares = pairs / total[:, None]
        strata = np.equal.outer(self.stratum, np.unique(self.stratum)).astype(np.float64)
        of_stratum = shares @ strata
        inside = np.divide(
            shares, of_stratum @ strata.T, out=np.zeros_like(shares), where=shares > 0
        )
        sums = sums - inside[:, :, None] * np.einsum(
            "imc,ms,ns->inc", sums, strata, strata, optimize=True
        )
        products = sums @ sums.transpose(0, 2, 1) / total[:, None, None]
        own = np.einsum("ikk->ik", products)
        scatter = np.divide(own, shares, out=np.zeros_like(own), where=shares > 0).sum(axis=1)
        parts = products, shares, strata, of_stratum
        groups = 2
        if self.trend:
            between = self._between(self.slices, parts)
        else:
            names = np.unique(self.slices[0])
            groups = len(names)
            found = [self._between(self.slices == name, parts) for name in names]
            between = np.mean(found, axis=0) * (groups - 1)
        within = np.maximum(scatter - between, 1e-9 * scatter)
        freedom = np.count_nonzero(shares, axis=1) - groups - strata.shape[1] + 1
        ratios: Array = np.divide(
            freedom * between / (groups - 1),
            within,
            out=np.zeros_like(between),
            where=(within > 0) & (freedom > 0),
        )
        return ratios

    def _between(self, scores: NDArray[Any], parts: tuple[Array, Array, Array, Array]) -> Array:
        """Return |Σ z_k s_k|² / Σ n_k (z_k − z̄)² for scores z, z̄ being the mean of a stratum."""
        products, shares, strata, of_stratum = parts
        z = np.asarray(scores, dtype=np.float64)
        outer = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        squares = outer @ products.reshape(len(products), -1).T
        means = np.einsum("rk,ik,ks->ris", z, shares, strata, optimize=True)
        spread = z**2 @ shares.T - np.divide(
            means**2, of_stratum, out=np.zeros_like(means), where=of_stratum > 0
        ).sum(axis=2)
        # Scores of any size: a spread of rounding alone is none.
        least = 1e-9 * max(1.0, float((z**2).max()))
        return np.divide(squares, spread, out=np.zeros_like(squares), where=spread > least)


def fold_test(
    slices: NDArray[Any],
    folds: Labels,
    strata: Labels,
    permutations: int,
    seed: int,
    trend: bool = False,
) -> FoldTest:
    """Return a test, given the slice (or score) and the stratum of each fold of the test.

    All assignments are tried where there are no more than `permutations`.
    """
    observed = np.asarray(slices, dtype=np.float64)
    rng = np.random.default_rng([seed, 2])
    places = [np.flatnonzero(strata == stratum) for stratum in np.unique(strata)]
    different = prod(_orders(observed[place]) for place in places)
    if permutations and different < FEWEST_ORDERS:
        raise SettingError(
            f"There are only {different} ways to assign the folds to the slices, too few for "
            "p-values; use more folds (which need more documents or groups), or permutations=0."
        )
    if not permutations:
        drawn = observed[None]
    elif len(places) == 1 and len(set(observed.tolist())) == 2 and different <= permutations + 1:
        size = int((observed == observed[0]).sum())
        chosen = np.array(list(combinations(range(len(observed)), size)))
        inside = np.zeros((len(chosen), len(observed)), dtype=bool)
        np.put_along_axis(inside, chosen, True, axis=1)
        # The observed assignment need not be the first of all.
        order = np.argsort((inside != (observed == observed[0])).sum(axis=1), kind="stable")
        drawn = np.where(inside[order], observed[0], observed[observed != observed[0]][0])
    else:
        drawn = np.tile(observed, (permutations + 1, 1))
        for place in places:
            drawn[1:, place] = rng.permuted(drawn[1:, place], axis=1)
    return FoldTest(folds, strata, drawn, trend)


def _orders(slices: Array) -> int:
    """Return in how many different ways the slices of some folds can be assigned."""
    _, counts = np.unique(slices, return_counts=True)
    if len(counts) == 2:
        return comb(len(slices), int(counts[0]))
    return factorial(len(slices)) // prod(map(factorial, counts.tolist()))


def fold_statistics(
    counts: Sequence[Cooccurrence],
    context: NDArray[np.float32],
    tests: Sequence[FoldTest],
    compared: tuple[Array, Array],
) -> tuple[list[Array], Changes]:
    """Return the ratios of all words in each test, and how much their associations changed.

    Parameters
    ----------
    counts
        The counts of each fold.
    context
        The context vectors y, one for each word, or for each word, slot and side.
    tests
        For each the result has one row per assignment and one column per word.
    compared
        The weight of each fold in the two slices whose change is measured.
    """
    size, dim = len(counts[0].vocabulary), context.shape[1]
    require_memory(4 * len(counts) * size * dim, "The contexts of all folds", "use fewer folds")
    sums = np.empty((size, len(counts), dim), np.float32)
    pairs, frequencies = np.empty((size, len(counts))), np.empty((len(counts), len(context)))
    for place, fold in enumerate(counts):
        in_slots = len(context) > size
        matrix = context_matrix(fold) if in_slots else fold.symmetric.tocsr()
        sums[:, place] = multiply(matrix, context)
        pairs[:, place] = matrix.sum(axis=1)
        frequencies[place] = np.bincount(matrix.indices, matrix.data, minlength=len(context))
    totals = pairs.sum(axis=0)
    centres = frequencies @ context / totals[:, None]
    sides = [weights * totals / (weights @ totals) for weights in compared]
    middles = np.sum([np.outer(side > 0, side @ centres) for side in sides], axis=0)
    metric = _metric(context, frequencies.sum(axis=0))
    ratios = [np.empty((len(test.slices), size)) for test in tests]
    changes = Changes(np.empty(size), np.empty(size))

    def work(words: slice) -> None:
        wide = sums[words].astype(np.float64)
        for test, found in zip(tests, ratios, strict=True):
            found[:, words] = test.ratios(wide, pairs[words], centres, totals)
        turned = (wide - pairs[words, :, None] * middles) @ metric
        own = _changes(turned @ turned.transpose(0, 2, 1), pairs[words], compared)
        changes.change[words], changes.error[words] = own

    widest = max([len(counts) * dim, *(4 * test.slices.size for test in tests)])
    for_each(work, blocks(size, widest, most=_BLOCK))
    return ratios, changes


def _metric(context: NDArray[np.float32], frequencies: Array) -> Array:
    """Return the matrix after which inner products of mean contexts are those of associations.

    To first order the mean context of a word w is Σ y, with the covariance Σ of context vectors
    over all text, w having the log odds w·y_j with word j. The covariance of the log odds of two
    words over all text is wᵀΣw′, an inner product of mean contexts after Σ^−½.
    """
    shares = frequencies / frequencies.sum()
    centred = context.astype(np.float64)
    centred -= shares @ centred
    values, vectors = np.linalg.eigh(centred.T @ (shares[:, None] * centred))
    kept = values > 1e-9 * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _changes(products: Array, pairs: Array, compared: tuple[Array, Array]) -> Changes:
    """Return how much words changed, given inner products of their sums over any two folds.

    Noise of different folds is independent. So products of different folds estimate squared
    lengths without bias, and products of two slices need no correction. The jackknife leaves out
    one fold of either slice at a time.
    """
    from scipy.stats import t as student

    first, second = compared
    inner, lengths = [], []
    for one in (first, second):
        weighted = pairs * one
        # Σ over pairs of different folds, of products and of weights, and each fold's part of it.
        rows = one * (np.einsum("ikl,l->ik", products, one) - np.einsum("ikk->ik", products) * one)
        weights = weighted * (weighted.sum(axis=1, keepdims=True) - weighted)
        lengths.append((_without(rows, 2), _without(weights, 2)))
        inner.append(weighted)
    across = first * np.einsum("ikl,l->ik", products, second)
    back = second * np.einsum("ikl,k->il", products, first)
    crossed = across.sum(axis=1, keepdims=True) - np.column_stack(
        [np.zeros(len(products)), across + back]
    )
    sizes = [_without(each, 1) for each in inner]
    squares = [_quotient(top, bottom) for top, bottom in lengths]
    both = np.sqrt(np.prod([np.where(each > 0, each, np.nan) for each in squares], axis=0))
    values = 1 - _quotient(crossed, sizes[0] * sizes[1]) / both
    sides = first > 0, second > 0
    error = np.sqrt(sum(_variance(values[:, 1:], side) for side in sides))
    clear = np.isfinite(error)
    for square, side in zip(squares, sides, strict=True):
        spread = np.sqrt(_variance(square[:, 1:], side))
        least = student.ppf(0.975, max(1, side.sum() - 1)) * spread
        clear &= np.isfinite(spread) & (square[:, 0] > least)
    return Changes(np.where(clear, values[:, 0], np.nan), np.where(clear, error, np.nan))


def _quotient(top: Array, bottom: Array) -> Array:
    """Return top / bottom, NaN where that has no value."""
    return np.asarray(np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom > 1e-9))


def _without(parts: Array, times: int) -> Array:
    """Return a sum of parts, and the sums without each part, which counts so many times."""
    total = parts.sum(axis=1, keepdims=True)
    return np.column_stack([total, total - times * parts])


def _variance(left_out: Array, side: NDArray[np.bool_]) -> Array:
    """Return the jackknife's variance over the folds of one slice."""
    own = left_out[:, side]
    count = own.shape[1]
    return np.asarray((count - 1) / count * ((own - own.mean(axis=1, keepdims=True)) ** 2).sum(1))


def pooled_p_values(ratios: Array, counts: NDArray[np.integer]) -> Array:
    """Return p-values of the first row of statistics, given those of random assignments below it.

    Each word's statistics are standardized by mean and spread over all rows, so that all are
    treated alike. The first is then compared with the standardized ones of words of similar
    frequency in all other rows, because a few assignments give few different values for one word.
    """
    spread = ratios.std(axis=0)
    centred = ratios - ratios.mean(axis=0)
    scores = np.divide(centred, spread, out=np.zeros_like(ratios), where=spread > 0)
    p_values = np.empty(ratios.shape[1])
    order = np.argsort(-counts, kind="stable")
    for words in np.array_split(order, max(1, len(order) // CLASS_WORDS)):
        chance = np.sort(scores[1:, words], axis=None)
        larger = len(chance) - np.searchsorted(chance, scores[0, words] - 1e-12)
        p_values[words] = (1 + larger) / (1 + len(chance))
    return p_values
