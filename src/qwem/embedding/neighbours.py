"""The nearest rows of a matrix by cosine: exactly, or with an index for very many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import require
from qwem._internal.arrays import blocks, unit_rows
from qwem._internal.files import writing_file
from qwem._internal.resources import progress
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding

# Size of the scores of one block of queries: large enough for a matrix product at full speed.
TILE_BYTES = 1 << 26

# The error of a float32 product of unit vectors is far smaller than this. Rows this close to the
# last one returned are compared in float64, so that rounding does not decide between them.
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

    Candidates are found by float32 matrix products, in blocks of queries, and ordered in float64.
    So the result does not depend on the blocks, the number of queries or the number of threads.

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
        where, kept = _ranked(query, row, cosine, topn)
        indices[tile][where] = row[kept]
        cosines[tile][where] = cosine[kept]
    return indices, cosines


def _ranked(
    query: NDArray[np.int64], row: NDArray[np.int64], cosine: NDArray[np.float64], topn: int
) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]:
    """Return (query, rank) of the best `topn` candidates of each query, and their numbers."""
    # Rounded to twelve digits, so that cosines that differ by rounding alone count as equal.
    order = np.lexsort((row, -cosine.round(12), query))
    rank = np.arange(len(query)) - np.searchsorted(query[order], query[order])
    best = rank < topn
    return (query[order][best], rank[best]), order[best]


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


class NeighbourIndex:
    """An index that finds neighbours quickly among very many words (usearch's HNSW).

    The time of a query hardly grows with the number of words. Candidates are found approximately
    and ordered by their exact cosines, so the cosines are right but a neighbour may sometimes be
    missing.

    Parameters
    ----------
    embedding
        The words to search; those with a zero vector are left out.
    breadth
        How many candidates to keep per query; more find more of the true neighbours.
    path
        A file that `save` wrote for the same embedding, instead of building the index.

    >>> from qwem import Embedding
    >>> plane = Embedding(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
    >>> plane.most_similar("a", topn=1, indexer=NeighbourIndex(plane))[0][0]
    'b'
    """

    def __init__(
        self,
        embedding: Embedding,
        *,
        breadth: int = 128,
        path: str | os.PathLike[str] | None = None,
    ) -> None:
        self.embedding, self.breadth = embedding, breadth
        if not breadth >= 1:
            raise SettingError(f"breadth must be at least 1, not {breadth}.")
        rows = np.flatnonzero(embedding.norms > 0)
        self._index: Any = require("usearch.index", "index").Index(
            ndim=embedding.vector_size,
            metric="cos",
            dtype="f16",
            expansion_add=breadth,
            expansion_search=breadth,
        )
        if path is None:
            with progress("index", len(rows), "word") as bar:
                for part in blocks(len(rows), 4 * embedding.vector_size, most=TILE_BYTES // 8):
                    directions = unit_rows(embedding.vectors[rows[part]]).astype(np.float32)
                    self._index.add(rows[part], directions)
                    bar.update(len(directions))
            return
        try:
            self._index.load(str(path))
        except Exception as error:  # usearch raises RuntimeError for any fault
            raise DataError(
                f"{path} can't be read as an index ({error}); build it again."
            ) from error
        if (self._index.ndim, len(self._index)) != (embedding.vector_size, len(rows)):
            raise DataError(
                f"{path} is an index of {len(self._index):,} words of dimension "
                f"{self._index.ndim}, not of this embedding; build it again."
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a file."""
        with writing_file(path) as file:
            file.write(self._index.save())

    def nearest_indices(
        self,
        vectors: NDArray[np.floating],
        topn: int = 10,
        exclude: NDArray[np.integer] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return row numbers and cosines as `Embedding.nearest_indices` does."""
        if topn < 1:
            raise SettingError(f"topn must be at least 1, not {topn}.")
        directions = unit_rows(vectors)
        topn = min(topn, len(self.embedding))
        indices = np.full((len(vectors), topn), -1, dtype=np.int64)
        cosines = np.full((len(vectors), topn), -np.inf)
        seen = topn + (0 if exclude is None else exclude.shape[1])
        found = self._index.search(directions.astype(np.float32), max(seen, self.breadth))
        keys: NDArray[np.int64] = np.atleast_2d(found.keys).astype(np.int64)
        counts: Any = getattr(
            found, "counts", np.array([keys.shape[1]])
        )  # only batches have counts
        usable = np.less(np.arange(keys.shape[1])[None], counts[:, None])
        usable &= np.any(directions, axis=1, keepdims=True)
        if exclude is not None:
            usable &= np.all(keys[:, :, None] != exclude[:, None, :], axis=2)
        query, place = np.nonzero(usable)
        row = keys[query, place]
        cosine = _exact_cosines(
            directions, self.embedding.vectors, self.embedding.norms, query, row
        )
        where, kept = _ranked(query, row, cosine, topn)
        indices[where], cosines[where] = row[kept], cosine[kept]
        return indices, cosines
