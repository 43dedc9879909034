"""Estimates of the number of pairs in a text, from a sample of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from qwem._internal.arrays import blocks, stored_blocks
from qwem._internal.resources import available_memory
from qwem.corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence.contexts import Slot, Subsampling

SAMPLE_SHARE, SAMPLE_TOKENS = 1 / 32, 1 << 22
"""The share of a text that is counted for an estimate, and the least number of tokens."""
# The least number of chunks in a sample, and the least and largest size of a chunk in tokens.
_CHUNKS, _LEAST_CHUNK, _MOST_CHUNK = 64, 1 << 8, 1 << 14
_BYTES_PER_MEETING = 24  # memory for a sample, per token and position in the window

_estimates: WeakKeyDictionary[Corpus, dict[Any, NDArray[np.float64]]] = WeakKeyDictionary()


def sampled_pairs(
    corpus: Corpus,
    slots: Sequence[Slot],
    subsampling: Subsampling | None = None,
) -> NDArray[np.float64]:
    """Estimate the number of different ordered pairs among the first n words, for n = 0, 1, ….

    A random sample of the text is counted, and half of it. The number of pairs grows as a power of
    the length of the text (Heaps' law), with an exponent that falls as the text grows. The exponent
    from the half to the sample is used for the rest too, so the estimate tends to be too large.
    """
    known = _estimates.setdefault(corpus, {})
    key = tuple(slots), subsampling
    if key not in known:
        known[key] = _sampled_pairs(corpus, slots, subsampling)
    return known[key]


def _sampled_pairs(
    corpus: Corpus,
    slots: Sequence[Slot],
    subsampling: Subsampling | None,
) -> NDArray[np.float64]:
    from qwem.cooccurrence._counting import count_pairs

    reach = sum(2 * len(slot.weights or ()) for slot in slots)
    most = available_memory() // (reach * _BYTES_PER_MEETING)
    size = min(max(SAMPLE_TOKENS, int(SAMPLE_SHARE * corpus.tokens.size)), most)
    each = min(max(size // _CHUNKS, _LEAST_CHUNK), _MOST_CHUNK)
    chunks = blocks(corpus.tokens.size, most=each)
    order = np.random.default_rng(0).permutation(len(chunks))
    found, tokens = [], []
    for wanted in (size // 2, size):
        chosen = np.sort(order[: max(1, wanted // each)])
        sample = _sample(corpus, [chunks[number] for number in chosen])
        counts = count_pairs(sample, slots, subsampling, rough=True)
        found.append(np.sum([_pairs_by_words(pairs.tocsr()) for pairs in counts.pairs], axis=0))
        tokens.append(sample.tokens.size)
    half, whole = found
    if tokens[1] <= tokens[0]:
        return whole
    growth = np.log(np.maximum(whole, 1) / np.maximum(half, 1)) / np.log(tokens[1] / tokens[0])
    estimate = whole * (corpus.tokens.size / tokens[1]) ** growth.clip(0, 1)
    return np.minimum(estimate, len(slots) * np.arange(len(whole), dtype=np.float64) ** 2)


def _sample(corpus: Corpus, chunks: Sequence[slice]) -> Corpus:
    """Return chunks of a corpus, each beginning with a new document."""
    offsets, total = [], 0
    for chunk in chunks:
        first, last = np.searchsorted(corpus.offsets, (chunk.start + 1, chunk.stop))
        begun = corpus.offsets[first:last] - chunk.start
        offsets.append(total + np.concatenate(([0], begun)))
        total += chunk.stop - chunk.start
    tokens = np.concatenate([np.asarray(corpus.tokens[chunk]) for chunk in chunks])
    return Corpus(tokens, np.concatenate([*offsets, [total]]), corpus.vocabulary, corpus.settings)


def _pairs_by_words(counts: Any) -> NDArray[np.float64]:
    """Return the number of ordered pairs among the first n words, for n = 0, 1, …."""
    indptr, found = counts.indptr, np.zeros(counts.shape[0] + 1)
    for rows in stored_blocks(indptr):
        sizes = np.diff(indptr[rows.start : rows.stop + 1])
        own = np.repeat(np.arange(rows.start, rows.stop), sizes)
        columns = counts.indices[indptr[rows.start] : indptr[rows.stop]]
        found[1:] += np.bincount(np.maximum(own, columns), minlength=counts.shape[0])
    return found.cumsum()
