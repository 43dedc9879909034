"""The nearest rows of a matrix by cosine, for many queries at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.arrays import blocks, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Size of the scores of one tile of queries: large enough for a matrix product at full speed.
TILE_BYTES = 1 << 26

# The error of a float32 product of unit vectors is far smaller than this. Rows this close to the
# last place are compared in float64, so that rounding does not decide which rows are returned.
SLACK = np.float32(1e-5)


def nearest_rows(
    queries: NDArray[np.floating],
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    topn: int,
    exclude: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the indices and cosines of the `topn` rows nearest to each query, best first.

    Rows with equal cosines keep their order. Zero rows are never returned, and nothing is returned
    for a zero query. If fewer than `topn` rows can be returned, the remaining indices are −1 and
    the cosines −inf.

    Candidates are found by float32 matrix products, tile by tile, and ordered in float64. So the
    result does not depend on the tiles, the number of queries or the number of threads.

    Parameters
    ----------
    queries
        One query per row, of any length.
    vectors, norms
        The rows to search and their Euclidean norms.
    topn
        How many rows to return for each query; at most all of them.
    exclude
        One line per query: the indices of rows that may not be returned (−1 for none).
    """
    topn = min(topn, len(vectors))
    directions = unit_rows(queries)
    indices = np.full((len(queries), topn), -1, dtype=np.int64)
    cosines = np.full((len(queries), topn), -np.inf)
    zero = np.flatnonzero(norms == 0)
    inverse_norms = np.zeros(len(vectors), dtype=np.float32)
    np.divide(1.0, norms, out=inverse_norms, where=norms > 0, casting="same_kind")

    for tile in blocks(len(queries), 4 * len(vectors), most=TILE_BYTES):
        scores = directions[tile].astype(np.float32) @ vectors.T
        scores *= inverse_norms
        scores[:, zero] = -np.inf
        scores[~directions[tile].any(axis=1)] = -np.inf
        if exclude is not None:
            query, place = np.nonzero(exclude[tile] >= 0)
            scores[query, exclude[tile][query, place]] = -np.inf
        query, row = _candidates(scores, topn)
        cosine = _exact_cosines(directions[tile], vectors, norms, query, row)
        # Rounded to twelve digits, so that cosines that differ by rounding alone count as equal.
        order = np.lexsort((row, -cosine.round(12), query))
        query, row, cosine = query[order], row[order], cosine[order]
        rank = np.arange(len(query)) - np.searchsorted(query, query)
        kept = rank < topn
        where = (tile.start + query[kept], rank[kept])
        indices[where] = row[kept]
        cosines[where] = cosine[kept]
    return indices, cosines


def _candidates(
    scores: NDArray[np.float32], topn: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (query, row) pairs that include the `topn` best rows of each query, and few others."""
    width = scores.shape[1]
    if topn == 1:
        last = scores.max(axis=1)
    else:
        last = np.partition(scores, width - topn, axis=1)[:, width - topn]
    threshold = np.maximum(last - SLACK, np.finfo(np.float32).min)
    return np.divmod(np.flatnonzero(scores >= threshold[:, None]), width)


def _exact_cosines(
    directions: NDArray[np.float64],
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    query: NDArray[np.int64],
    row: NDArray[np.int64],
) -> NDArray[np.float64]:
    cosine = np.empty(len(query))
    for part in blocks(len(query), 16 * vectors.shape[1], most=TILE_BYTES):
        rows = vectors[row[part]].astype(np.float64)
        cosine[part] = np.einsum("ij,ij->i", directions[query[part]], rows) / norms[row[part]]
    return np.clip(cosine, -1.0, 1.0)
