"""Counts whose pairs stay on a cluster: no process ever holds more than a block of rows.

What is left here are vectors, with one number for each word.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal.blocks import cut_evenly
from qwem.cluster._rows import gathered
from qwem.cluster._tasks import thread_total
from qwem.cluster.factorizing import SpreadEntries
from qwem.cooccurrence import Cooccurrence, PairCounts, Slot, expected_row_pairs
from qwem.cooccurrence._saved_rows import saved_rows, saved_sources
from qwem.cooccurrence.slots import sum_of_weights
from qwem.corpus import Vocabulary
from qwem.polish.sweep import BLOCK_ROWS
from qwem.target import PairsElsewhere, row_entries

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cluster._rows import Arrays, Block, SpreadRows
    from qwem.target import Formula


class SavedRows(NamedTuple):
    """Rows of counts: the sum of what was saved at some paths, whole counts or just these rows."""

    first: int
    last: int
    paths: Sequence[Path]


@contextmanager
def spread_counts(
    client: Any, directory: str | os.PathLike[str], words: Vocabulary, saved: Sequence[SavedRows]
) -> Iterator[Cooccurrence]:
    """Yield saved counts with their pairs on a cluster.

    A target can be made of them, which `qwem.factorize` takes, and `qwem.cluster.polish` takes
    them.

    Parameters
    ----------
    client
        A `dask.distributed.Client`.
    directory
        Where the rows are kept meanwhile, which every worker can reach.
    words
        The words, and about how often each occurs.
    saved
        All rows of the counts, where every worker can reach them.
    """
    slots, sources = saved_sources(saved[0].paths)
    weights = sum_of_weights(slots)
    if len(saved) == 1:
        runs = even_runs(client, words, len(weights or "1"))
        saved = [SavedRows(first, last, saved[0].paths) for first, last in runs]
    with gathered(client, directory, _rows, saved, "gathering rows") as rows:
        word_counts = np.concatenate([np.array(some) for some in rows.arrays("word_counts")])
        yield Cooccurrence(
            Vocabulary(words.words, word_counts),
            (SpreadPairs.of(rows),),
            (Slot(weights, directed=False),),
            tuple(sources),
        )


def even_runs(client: Any, words: Vocabulary, window: int) -> list[tuple[int, int]]:
    """Cut the rows of counts into a run for each thread, by what is expected of their words."""
    return block_runs(expected_row_pairs(words.counts, 2 * window), thread_total(client))


def block_runs(work: NDArray[Any], parts: int) -> list[tuple[int, int]]:
    """Cut rows into at most `parts` runs of about equal work, between blocks that are polished.

    >>> block_runs(np.ones(300), 2)
    [(0, 128), (128, 300)]
    """
    ends = np.concatenate(([0.0], np.cumsum(work)))
    starts = [first for first, _ in cut_evenly(ends, parts)]
    whole = np.unique(np.round(np.array(starts) / BLOCK_ROWS).astype(int) * BLOCK_ROWS)
    cuts = [*whole[whole < len(work)].tolist(), len(work)]
    return list(pairwise(cuts))


class _SpreadMatrix(PairsElsewhere):
    """Counts of pairs in blocks of rows: the arrays ``indptr``, ``indices`` and ``counts``."""

    def __init__(self, rows: SpreadRows, nnz: int) -> None:
        size = rows.runs[-1][-1]
        self.shape = size, size
        self.rows = rows
        self._nnz = nnz

    def entries(
        self,
        formula: Formula,
        expected: tuple[NDArray[np.float64], NDArray[np.float64]],
        dtype: np.dtype[Any],
        *,
        dense: bool,
    ) -> SpreadEntries:
        """Apply a formula to the pairs where they are."""
        work = partial(_enter, formula=formula, dtype=dtype, dense=dense)
        rows = self.rows.extended(work, {"left": expected[0], "right": expected[1]})
        stored = self.shape[0] ** 2 if dense else self._nnz
        return SpreadEntries(lambda: rows, dtype, dense=dense, nbytes=stored * dtype.itemsize)


@dataclass(frozen=True, eq=False)
class SpreadPairs(PairCounts):
    """Pair counts of which this process has only the sum and the length of each row."""

    lengths: NDArray[np.int64]
    """How many different words each word met."""
    row_sums: NDArray[np.uint64]

    @classmethod
    def of(cls, rows: SpreadRows) -> SpreadPairs:
        """Return the pairs of blocks of rows."""
        lengths = np.concatenate([np.diff(indptr) for indptr in rows.arrays("indptr")])
        sums = np.concatenate([np.array(some) for some in rows.arrays("sums")])
        matrix: Any = _SpreadMatrix(rows, int(lengths.sum()))
        return cls(matrix, lengths.astype(np.int64), sums)

    @property
    def rows(self) -> SpreadRows:
        """The blocks of rows."""
        matrix: Any = self.matrix
        rows: SpreadRows = matrix.rows
        return rows

    @property
    def total(self) -> int:
        """The sum of all counts, exactly."""
        return int(self.row_sums.sum())

    @property
    def nnz(self) -> int:
        """The number of ordered pairs that occur."""
        return int(self.lengths.sum())

    def __repr__(self) -> str:
        size, _ = self.shape
        return f"SpreadPairs({size:,} × {size:,}, {self.nnz:,} pairs, on a cluster)"

    def toarray(self) -> NDArray[Any]:
        """Return the counts as a dense array, which is brought here."""
        return self.tocsr().toarray()

    def tocsr(self) -> sparse.csr_array:
        """Return the counts as a SciPy CSR matrix, which is brought here."""
        indptr = np.concatenate(([0], np.cumsum(self.lengths)))
        columns, values = (
            np.concatenate(list(self.rows.arrays(name))) for name in ("indices", "counts")
        )
        return sparse.csr_array((values, columns, indptr), shape=self.shape)


def _rows(first: int, last: int, paths: Sequence[Path]) -> Arrays:
    """Return some rows of counts, and the sum of each."""
    found = saved_rows(paths, first, last)
    pairs, word_counts = found.symmetric, found.word_counts
    padded = np.append(pairs.data, pairs.data.dtype.type(0))  # the last rows may be empty
    sums = np.add.reduceat(padded, pairs.indptr[:-1], dtype=np.uint64)
    return {
        "indptr": pairs.indptr.astype(np.int64),
        "indices": pairs.indices,
        "counts": pairs.data,
        "sums": np.where(np.diff(pairs.indptr) > 0, sums, np.uint64(0)),
        "word_counts": word_counts,
    }


def _enter(
    block: Block, sent: Arrays, *, formula: Formula, dtype: np.dtype[Any], dense: bool
) -> Arrays:
    """Return the entries of a target for the rows of a block."""
    arrays, right = block.arrays, np.array(sent["right"])
    parts = tuple(np.array(arrays[name]) for name in ("counts", "indices", "indptr"))
    pairs = sparse.csr_array(parts, shape=(len(arrays["indptr"]) - 1, right.shape[1]))
    expected = np.array(sent["left"][block.rows]), right
    entries = row_entries(pairs, formula, expected, dtype, dense=dense, threads=1)
    return {"dense" if dense else "entries": entries}
