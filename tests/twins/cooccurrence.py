"""Counting as anyone would write it down: the twin that the kernels are held against."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem import Corpus

MASK_64 = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def documents_of(corpus: Corpus) -> list[list[int]]:
    ends = corpus.offsets
    return [corpus.tokens[a:b].tolist() for a, b in pairwise(ends)]


def count_pairs(
    documents: list[list[int]], words: int, weights: Sequence[int]
) -> NDArray[np.object_]:
    """Two loops over positions, in integers of any size."""
    counts = np.zeros((words, words), dtype=object)
    for document in documents:
        for p, word in enumerate(document):
            for q, other in enumerate(document):
                if p != q and abs(p - q) <= len(weights) and max(word, other) < words:
                    counts[word, other] += weights[abs(p - q) - 1]
    return counts


def count_slot(
    documents: list[list[int]], words: int, weights: Sequence[int], *, directed: bool
) -> NDArray[np.object_]:
    """What comes after each word; for a symmetric slot, what stands around it."""
    counts = np.zeros((words, words), dtype=object)
    for document in documents:
        for p, word in enumerate(document):
            for other, weight in zip(document[p + 1 :], weights, strict=False):
                if max(word, other) < words:
                    counts[word, other] += weight
    return counts if directed else counts + counts.T


def contexts(slots: Sequence[NDArray[np.object_]], directed: Sequence[bool]) -> NDArray[np.object_]:
    """The words × contexts matrix, its columns word by word."""
    sides = []
    for counts, has_sides in zip(slots, directed, strict=True):
        sides += [counts, counts.T] if has_sides else [counts]
    return np.stack(sides, axis=2).reshape(len(sides[0]), -1)


def thin(
    documents: list[list[int]],
    word_counts: NDArray[np.int64],
    subsample: float,
    seed: int,
    draw: int,
    first_document: int = 0,
) -> list[list[int]]:
    """Keep each token or drop it by the hash of seed, draw, document and position."""
    key = mix((seed + mix(draw)) & MASK_64)
    frequencies = word_counts / word_counts.sum()
    kept = []
    for number, document in enumerate(documents, start=first_document):
        fate = mix(key ^ mix((number + GOLDEN) & MASK_64))
        kept.append(
            [
                word
                for position, word in enumerate(document)
                if (mix((fate + position * GOLDEN) & MASK_64) >> 11)
                < int(keep_probability(frequencies[word], subsample) * 2**53)
            ]
        )
    return kept


def keep_probability(frequency: float, subsample: float) -> float:
    """word2vec's acceptance probability."""
    return float(min(1.0, np.sqrt(subsample / frequency) + subsample / frequency))


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK_64
    return x ^ (x >> 31)
