"""Contexts of words: the mean vector of the words around them, by occurrence or by fold.

By occurrence, for regression. À la carte embedding (Khodak et al. 2018): the vector of a word is
about A u, where u is the mean vector of the words around it, and A is one matrix for all words. The
mean over all contexts of a word is a ratio of its pair counts, so A follows from the counts by
least squares.

By fold, to compare slices of a text. The mean context of a word is the mean of the context vectors
of its neighbours, Σ_j C_ij y_j / Σ_j C_ij: the sufficient statistic for w_i in a model
p(j | i) ∝ q_j exp(w_i·y_j). It is linear in the counts, so the mean contexts of any slices follow
from those of folds. The mean over all words of a fold, or of a slice, is subtracted first, because
the topic of a text moves the contexts of all its words alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.arrays import blocks, for_each, quotient
from qwem._internal.kernels import multiply
from qwem._internal.resources import require_memory
from qwem.comparison.results import jackknife_variance, student_quantile
from qwem.cooccurrence import context_matrix
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.embedding import Embedding

    Array: TypeAlias = NDArray[np.float64]
    Labels: TypeAlias = NDArray[np.int64]

# Directions in which mean contexts vary less than this, relative to the largest, are ignored.
_SMALLEST = 1e-10
# Number of array entries in a block of words.
_BLOCK = 1 << 22


class Contexts(NamedTuple):
    """Occurrences of some words, each with at least one word around it that has a vector."""

    vectors: Array
    """The mean vector of the words around each occurrence."""
    documents: NDArray[np.int64]
    """The document of each occurrence."""
    alone: int
    """How many further occurrences have no word with a vector around them."""


def context_transform(embedding: Embedding, counts: Cooccurrence) -> Array:
    """Return the matrix A that takes the mean vector of a word's contexts to the word's own vector.

    It minimizes Σ_w log(1 + n_w) ‖v_w − A u_w‖² over the words w of the counts that have a vector,
    where n_w is how often w occurs and u_w = Σ_c C_wc v_c / Σ_c C_wc is the mean vector of its
    contexts. So A = (VᵀNU)(UᵀNU)⁻¹ with the weights N, from the counts alone (Khodak et al. 2018,
    eq. 4). Weights n_w would suit equally noisy occurrences, but would let a few function words
    dominate, and embed words less well.

    Parameters
    ----------
    embedding
        The vectors v.
    counts
        Pair counts C, such as those of the text that the contexts are taken from.

    >>> from qwem import Cooccurrence, Embedding
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[0, 3], [3, 0]])
    >>> context_transform(Embedding(["a", "b"], [[1.0, 0.0], [0.0, 2.0]]), counts).round(9).tolist()
    [[0.0, 0.5], [2.0, 0.0]]
    """
    vectors, known = vectors_of(embedding, counts.vocabulary)
    pairs = counts.symmetric.tocsr() @ sparse.diags_array(known)
    totals = np.asarray(pairs.sum(axis=1), dtype=np.float64).ravel()
    used = (totals > 0) & (known > 0)
    if not used.any():
        raise CountError(
            "No word of the counts has a vector and words with vectors around it; give an "
            "embedding of the same language."
        )
    means = (pairs @ vectors)[used] / totals[used, None]
    weighted = np.log1p(counts.word_counts[used])[:, None] * means
    gram, cross = weighted.T @ means, weighted.T @ vectors[used]
    solution, *_ = np.linalg.lstsq(gram, cross, rcond=_SMALLEST)
    transform: Array = solution.T
    return transform


def contexts_of(
    corpus: Corpus,
    phrases: Sequence[Sequence[str]],
    embedding: Embedding,
    *,
    weights: Sequence[int],
) -> Contexts:
    """Return the contexts of words or phrases.

    `weights` has the weight of a neighbour at each distance from 1. A phrase is not a part of its
    own context.
    """
    tokens, offsets = corpus.tokens, corpus.offsets
    vectors, known = vectors_of(embedding, corpus.vocabulary)
    vectors, known = np.vstack([vectors, vectors[:1] * 0]), np.append(known, 0.0)  # masked tokens
    places = [corpus.occurrences(phrase) for phrase in phrases]
    first = np.concatenate(places)
    last = np.concatenate([p + len(q) - 1 for p, q in zip(places, phrases, strict=True)])
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    require_memory(
        16 * len(first) * embedding.vector_size,
        f"Vectors of {len(first):,} occurrences",
        "use less text",
    )
    document = np.searchsorted(offsets, first, side="right") - 1
    starts, stops = offsets[document], offsets[document + 1]
    sums, totals = np.zeros((len(first), embedding.vector_size)), np.zeros(len(first))
    for distance, weight in enumerate(weights, 1):
        for place in (first - distance, last + distance):
            inside = np.flatnonzero((place >= starts) & (place < stops))
            around = tokens[place[inside]]
            share = weight * known[around]
            totals[inside] += share
            sums[inside] += share[:, None] * vectors[around]
    found = totals > 0
    return Contexts(
        sums[found] / totals[found, None], document[found], int(len(first) - found.sum())
    )


def documents_with(corpus: Corpus, phrases: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """Return the document of each occurrence of some words or phrases."""
    places = np.concatenate([corpus.occurrences(phrase) for phrase in phrases])
    return np.searchsorted(corpus.offsets, np.sort(places), side="right") - 1


def vectors_of(embedding: Embedding, vocabulary: Vocabulary) -> tuple[Array, Array]:
    """Return the vector of each word of a vocabulary, and whether it has one, as 1 or 0."""
    numbers = np.array([embedding.key_to_index.get(word, -1) for word in vocabulary.words])
    known = (numbers >= 0).astype(np.float64)
    return embedding.vectors[numbers].astype(np.float64) * known[:, None], known


class Changes(NamedTuple):
    """How much the associations of each word differ between two slices."""

    change: Array
    """1 − the correlation of a word's associations in the two slices, without the bias of noise.
    NaN where the associations in either slice are not clearly above noise."""
    error: Array
    """The jackknife's standard error over folds."""


@dataclass(frozen=True, eq=False)
class FoldTest:
    """Assignment of folds to slices, as observed and at random."""

    fold: Labels
    """For each counted fold, the number of the test's fold that contains it, −1 for none."""
    stratum: Labels
    """The stratum of each fold of the test: folds are exchanged within strata only."""
    slices: NDArray[Any]
    """One row per assignment, the observed one first: the slice of each fold, or its score."""
    trend: bool = False
    """Whether the numbers are scores, such as years, and a trend is tested."""

    def ratios(self, sums: Array, pairs: Array, centres: Array, totals: Array) -> Array:
        """Return the pseudo-F of each word for each assignment (Anderson 2001).

        `sums` and `pairs` are the sum of contexts and the number of pairs of each word in each
        counted fold. `centres` and `totals` are the mean context and the number of pairs of all
        words in the fold.

        With n_k pairs of a word in fold k and mean context x_k there, and n, x those of a slice,
        the pseudo-F is the mean over slices of n |x − x̄|², divided by the mean over folds of
        n_k |x_k − x|², each by its degrees of freedom. It is about 1 for a word that is used in the
        same way, and 0 for one that occurs in one slice only, or in too few folds. For a trend, the
        squared slope over scores replaces the differences. With strata, x̄ is a stratum's mean.
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
        inside = quotient(shares, of_stratum @ strata.T)
        sums = sums - inside[:, :, None] * np.einsum(
            "imc,ms,ns->inc", sums, strata, strata, optimize=True
        )
        products = sums @ sums.transpose(0, 2, 1) / total[:, None, None]
        own = np.einsum("ikk->ik", products)
        scatter = quotient(own, shares).sum(axis=1)
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
        return quotient(np.maximum(freedom, 0) * between / (groups - 1), within)

    def _between(self, scores: NDArray[Any], parts: tuple[Array, Array, Array, Array]) -> Array:
        """Return |Σ z_k s_k|² / Σ n_k (z_k − z̄)² for scores z, z̄ being the mean of a stratum."""
        products, shares, strata, of_stratum = parts
        z = np.asarray(scores, dtype=np.float64)
        outer = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
        squares = outer @ products.reshape(len(products), -1).T
        means = np.einsum("rk,ik,ks->ris", z, shares, strata, optimize=True)
        spread = z**2 @ shares.T - quotient(means**2, of_stratum).sum(axis=2)
        # A spread below this is rounding, relative to the size of the scores.
        return quotient(squares, spread, least=1e-9 * max(1.0, float((z**2).max())))


def fold_statistics(
    counts: Sequence[Cooccurrence],
    context: NDArray[np.float32],
    tests: Sequence[FoldTest],
    compared: Sequence[Array],
) -> tuple[list[Array], Changes]:
    """Return the ratios of all words in each test, and how much their associations changed.

    Parameters
    ----------
    counts
        The counts of each fold.
    context
        The context vectors y, one for each word, or for each word, slot and side.
    tests
        The tests. The ratios of each have one row per assignment and one column per word.
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
    """Return Σ^−½, which turns inner products of mean contexts into those of associations.

    Σ is the covariance of context vectors over all text. A word with the vector w has the log odds
    w·y_j with word j, and its mean context is Σw to first order. The covariance of the log odds of
    two words over all text is wᵀΣw′, the inner product of their mean contexts after Σ^−½.
    """
    shares = frequencies / frequencies.sum()
    centred = context.astype(np.float64)
    centred -= shares @ centred
    values, vectors = np.linalg.eigh(centred.T @ (shares[:, None] * centred))
    kept = values > 1e-9 * values[-1]
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))


def _changes(products: Array, pairs: Array, compared: Sequence[Array]) -> Changes:
    """Return how much words changed, given the inner products of their sums in any two folds.

    Noise of different folds is independent. So products of different folds estimate squared
    lengths without bias, and products of two slices need no correction. The jackknife, which leaves
    out one fold of either slice at a time, removes the bias of their ratio (Quenouille 1956) and
    gives the standard error of the change.
    """
    first, second = compared
    inner, lengths = [], []
    for one in (first, second):
        weighted = pairs * one
        # Each fold's part in the sums over pairs of different folds, of products and of weights.
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
    squares = [quotient(*each, least=1e-9, other=np.nan) for each in lengths]
    both = np.sqrt(np.prod([np.where(each > 0, each, np.nan) for each in squares], axis=0))
    values = 1 - quotient(crossed, sizes[0] * sizes[1], least=1e-9, other=np.nan) / both
    change, variance = values[:, 0].copy(), np.zeros(len(values))
    clear = np.isfinite(change)
    for square, side in zip(squares, (first > 0, second > 0), strict=True):
        without = values[:, 1:][:, side].T
        change -= (len(without) - 1) * (without.mean(axis=0) - values[:, 0])
        variance += jackknife_variance(without)
        spread = np.sqrt(jackknife_variance(square[:, 1:][:, side].T))
        clear &= square[:, 0] > student_quantile(0.95, len(without) - 1) * spread
    clear &= np.isfinite(variance)
    return Changes(np.where(clear, change, np.nan), np.where(clear, np.sqrt(variance), np.nan))


def _without(parts: Array, times: int) -> Array:
    """Return the sum of parts, then for each part the sum less `times` that part."""
    total = parts.sum(axis=1, keepdims=True)
    return np.column_stack([total, total - times * parts])
