"""Contexts of a word: the vector of each single occurrence, from the words around it.

À la carte embedding (Khodak et al. 2018): the vector of a word is about A u, where u is the mean
vector of the words around it, and A is one matrix for all words. The mean over all contexts of a
word is a ratio of its pair counts, so A follows from the counts by least squares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.resources import require_memory
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.embedding import Embedding

    Array: TypeAlias = NDArray[np.float64]

# Directions in which the mean contexts vary less than this, relative to the most, have no part.
_SMALLEST = 1e-10


class Contexts(NamedTuple):
    """The occurrences of some words, as far as there are words with vectors around them."""

    vectors: Array
    """The mean vector of the words around each occurrence."""
    documents: NDArray[np.int64]
    """The document of each occurrence."""
    alone: int
    """How many other occurrences had no word with a vector around them."""


def context_transform(embedding: Embedding, counts: Cooccurrence) -> Array:
    """Return the matrix A that takes the mean vector of a word's contexts to the word's own vector.

    It minimizes Σ_w log(1 + n_w) ‖v_w − A u_w‖² over the words w of the counts that have a vector,
    where n_w is how often w occurs and u_w = Σ_c C_wc v_c / Σ_c C_wc is the mean vector of its
    contexts. So A = (VᵀNU)(UᵀNU)⁻¹ with the weights N, from the counts alone (Khodak et al. 2018,
    eq. 4). Weights n_w would be those of equally noisy occurrences, but give most of the say to a
    few function words, and embed words less well.

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
    """Return the contexts of words or phrases, given the weight of a word by its distance.

    A phrase is not a part of its own context.
    """
    tokens, offsets = corpus.tokens, corpus.offsets
    vectors, known = vectors_of(embedding, corpus.vocabulary)
    vectors, known = np.vstack([vectors, vectors[:1] * 0]), np.append(known, 0.0)  # the mask
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
    """Return the vector of each word of a vocabulary, and 1 for a word that has one or else 0."""
    numbers = np.array([embedding.key_to_index.get(word, -1) for word in vocabulary.words])
    known = (numbers >= 0).astype(np.float64)
    return embedding.vectors[numbers].astype(np.float64) * known[:, None], known
