"""Analogies completed by vector addition, in every dimension at the price of about one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.blocks import blocks
from qwem._internal.progress import progress
from qwem.interpretation.task_vectors import pair_rows, slabs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.interpretation.tasks import Task

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

# Vectors widened to float64 at one time, in bytes.
_TILE_BYTES = 1 << 26

# Cosines so close are equal, and the first word wins, as in `qwem.evaluation`.
_TIE = 1e-12


@dataclass(frozen=True, eq=False)
class Completion:
    """How well ĉ + b̂ − â finds ŵ, over all ordered pairs of a task's pairs, for each dimension."""

    accuracy: Array
    cosine: Array
    normalised_score: Array


def complete(embedding: Embedding, task: Task, dims: Sequence[int]) -> Completion:
    """Ask every ordered pair of known pairs as a question a : b :: c : w, in every dimension.

    The questions and answers are those of `qwem.evaluate_analogies` with ``pairs="all"``, the
    protocol of the paper's reference implementation: cosines, the three words excluded. A score
    ŵ·(ĉ + b̂ − â) is a sum of three cosines between words of the task and all words. Only those
    need products of vectors, and they grow with the dimension by what is new in it.
    """
    sources, targets = pair_rows(embedding, task)
    words, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    first, second = places[: len(sources)], places[len(sources) :]
    found = []
    with progress(f"analogies of {task.name}", total=len(dims), unit="dimension") as bar:
        for cosines, zero in _growing_cosines(embedding, words, dims):
            within = cosines[:, words]
            products, lengths = _predictions(within, first, second)
            with np.errstate(divide="ignore", invalid="ignore"):
                aligned = np.where(lengths > _TIE, products / lengths, np.nan)
            rivals = _rivals(cosines, second, sources, targets)
            right = _right_answers(cosines, zero, lengths, first, second, sources, targets)
            asked = ~np.eye(len(sources), dtype=bool)
            relative = np.where(rivals > 0, aligned / np.where(rivals > 0, rivals, 1.0), np.nan)
            found.append((right[asked].mean(), aligned[asked].mean(), relative[asked].mean()))
            bar.update()
    accuracy, cosine, score = np.array(found).T
    return Completion(accuracy, cosine, score)


def _growing_cosines(
    embedding: Embedding, words: Rows, dims: Sequence[int]
) -> Iterator[tuple[Array, Rows]]:
    """Yield the cosines of some words with all words for each d, and which vectors are zero."""
    vectors = embedding.vectors
    products = np.zeros((len(words), len(vectors)))
    squares = np.zeros(len(vectors))
    for slab in slabs(dims):
        own = vectors[words, slab].astype(np.float64)
        for tile in blocks(len(vectors), 8 * own.shape[1], most=_TILE_BYTES):
            wide = vectors[tile, slab].astype(np.float64)
            products[:, tile] += own @ wide.T
            squares[tile] += np.einsum("ij,ij->i", wide, wide)
        lengths = np.sqrt(squares)
        inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        yield products * inverse[words, None] * inverse, np.flatnonzero(lengths == 0)


def _predictions(within: Array, first: Rows, second: Rows) -> tuple[Array, Array]:
    """Return ŵ·(ĉ + b̂ − â) and ‖ĉ + b̂ − â‖, (a, b) being the row's pair, (c, w) the column's."""
    own = np.diag(within)
    paired = within[first, second]
    products = paired + within[np.ix_(second, second)] - within[np.ix_(first, second)]
    squares = own[first] + (own[second] + own[first] - 2 * paired)[:, None]
    squares = squares + 2 * (within[np.ix_(second, first)] - within[np.ix_(first, first)])
    return products, np.sqrt(np.maximum(squares, 0.0))


def _rivals(cosines: Array, second: Rows, sources: Rows, targets: Rows) -> Array:
    """Return the largest cosine between w and a word outside the question, laid out as above."""
    count = len(second)
    near = cosines[second]
    near[np.arange(count), sources] = -np.inf
    near[np.arange(count), targets] = -np.inf
    # Of the three nearest words at most two are a and b.
    kept = min(3, near.shape[1])
    nearest = np.argpartition(near, near.shape[1] - kept, axis=1)[:, near.shape[1] - kept :]
    values = np.take_along_axis(near, nearest, axis=1)
    in_question = (nearest == sources[:, None, None]) | (nearest == targets[:, None, None])
    rivals: Array = np.where(in_question, -np.inf, values).max(axis=2)
    return rivals


def _right_answers(
    cosines: Array,
    zero: Rows,
    lengths: Array,
    first: Rows,
    second: Rows,
    sources: Rows,
    targets: Rows,
) -> NDArray[np.bool_]:
    """Return which questions are answered by w, laid out as above."""
    count = len(first)
    right = np.zeros((count, count), dtype=bool)
    queries = cosines[first]
    scores = np.empty_like(queries)
    every = np.arange(count)
    for pair in range(count):
        np.add(queries, cosines[second[pair]] - cosines[first[pair]], out=scores)
        scores[:, [sources[pair], targets[pair], *zero]] = -np.inf
        scores[every, sources] = -np.inf
        enough = scores.max(axis=1) - _TIE * lengths[pair]
        candidates = (scores[every, targets] >= enough) & (lengths[pair] > _TIE)
        for other in np.flatnonzero(candidates):
            right[pair, other] = np.argmax(scores[other] >= enough[other]) == targets[other]
    return right
