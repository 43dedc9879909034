"""An index of neighbours, for very many words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import best_rows, blocks, unit_rows
from qwem._internal.files import writing_file
from qwem._internal.resources import progress, require
from qwem._internal.settings import require_whole
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding


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
                for part in blocks(len(rows), 4 * embedding.vector_size, most=1 << 23):
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
        require_whole("topn", topn, least=1)
        directions = unit_rows(vectors)
        topn = min(topn, len(self.embedding))
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
        known = self.embedding
        return best_rows(directions, known.vectors, known.norms, query, keys[query, place], topn)
