"""What the explorer says about words: neighbours, coordinates, similarity and analogies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import unit_rows

if TYPE_CHECKING:
    from qwem.comparison import Estimates, StableNeighbours
    from qwem.explorer.models import Explored
    from qwem.explorer.spaces import Dials, Space

Json = dict[str, Any]


def neighbours(model: Explored, space: Space, dials: Dials, word: str, topn: int) -> Json:
    """Return the words nearest to a word, with intervals where the model has replicates."""
    index = space.vocabulary.index(word)
    answer = {"word": word, "index": index, **place(space, dials), "replicates": 0}
    if model.stability is not None and space is model.first and dials == space.dials():
        found = model.stability.neighbours(word, topn)
        return {
            **answer,
            "replicates": found.replicates,
            "neighbours": _with_intervals(model, word, found),
        }
    direction = space.vectors(np.array([index]), dials)[0]
    nearest = space.nearest(direction, dials, topn, exclude=(index,))
    return {**answer, "neighbours": named(space, nearest)}


def coordinates(space: Space, dials: Dials, word: str) -> Json:
    """Return how much of a word's vector lies on each feature."""
    index = space.vocabulary.index(word)
    vector = space.vectors(np.array([index]), dials)[0]
    square = math.fsum((vector**2).tolist())
    shares = vector**2 / square if square > 0 else np.zeros_like(vector)
    return {
        "word": word,
        "index": index,
        "count": int(space.vocabulary.counts[index]),
        "rank": index + 1,
        "length": math.sqrt(square),
        **place(space, dials),
        "features": [
            {"rank": k + 1, "coordinate": value, "share": share}
            for k, (value, share) in enumerate(zip(vector.tolist(), shares.tolist(), strict=True))
        ],
    }


def why_similar(space: Space, dials: Dials, first: str, second: str) -> Json:
    """Return the part of each feature in the inner product and the cosine of two words.

    The parts add up to the whole: the product and the cosine are their sums, rounded once.
    """
    indices = space.vocabulary.indices([first, second])
    one, other = space.vectors(indices, dials)
    products = one * other
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    cosines = products / length if length > 0 else np.zeros_like(products)
    product = math.fsum(products.tolist())
    return {
        "a": first,
        "b": second,
        **place(space, dials),
        "product": product,
        "cosine": math.fsum(cosines.tolist()),
        "features": [
            {
                "rank": k + 1,
                "product": part,
                "cosine": cosine,
                "share": part / product if product else None,
            }
            for k, (part, cosine) in enumerate(
                zip(products.tolist(), cosines.tolist(), strict=True)
            )
        ],
    }


def analogy(space: Space, dials: Dials, words: tuple[str, str, str], topn: int) -> Json:
    """Return the words that are to c as b is to a, the nearest to ĉ + b̂ − â first."""
    indices = space.vocabulary.indices(words)
    a, b, c = unit_rows(space.vectors(indices, dials))
    found = space.nearest(c + b - a, dials, topn, exclude=tuple(indices.tolist()))
    given = dict(zip("abc", words, strict=True))
    return {**given, **place(space, dials), "answers": named(space, found)}


def place(space: Space, dials: Dials) -> Json:
    """Return which vectors an answer is about."""
    return {"space": space.name, "d": dials.dim, "t": dials.time}


def named(space: Space, found: list[tuple[int, float]]) -> list[Json]:
    """Return words with their indices and cosines."""
    words = space.vocabulary.words
    return [{"word": words[index], "index": index, "cosine": cosine} for index, cosine in found]


def _with_intervals(model: Explored, word: str, found: StableNeighbours) -> list[Json]:
    assert model.stability is not None
    pairs = [(word, each.word) for each in found.neighbours]
    estimates: Estimates = model.stability.similarities(pairs)
    low, high = estimates.confidence()
    return [
        {
            "word": each.word,
            "index": model.vocabulary.index(each.word),
            "cosine": each.similarity,
            "error": each.error,
            "low": float(low[i]),
            "high": float(high[i]),
            "kept": each.kept,
        }
        for i, each in enumerate(found.neighbours)
    ]
