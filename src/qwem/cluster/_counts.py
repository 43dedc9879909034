"""Counts whose pairs stay on a cluster: no process ever holds more than a block of rows.

What is left here are vectors, with one number for each word.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal.blocks import cut_evenly
from qwem.cluster._rows import gather_rows
from qwem.cluster._tasks import thread_total
from qwem.cluster.factorizing import RowMatrix
from qwem.cooccurrence import expected_row_pairs
from qwem.cooccurrence._saved_rows import saved_rows, saved_sources
from qwem.cooccurrence.slots import sum_of_weights
from qwem.corpus import Vocabulary
from qwem.polish.sweep import BLOCK_ROWS
from qwem.target.building import row_entries

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cluster._rows import Arrays, Block, RowBlocks
    from qwem.cooccurrence import Slot
    from qwem.target import Target
    from qwem.target.building import TargetPlan
    from qwem.target.targets import Formula


class SavedRows(NamedTuple):
    """Rows of counts: the sum of what was saved at some paths, whole counts or just these rows."""

    first: int
    last: int
    paths: Sequence[Path]


@contextmanager
def gather_counts(
    client: Any, directory: str | os.PathLike[str], words: Vocabulary, saved: Sequence[SavedRows]
) -> Iterator[ClusterCounts]:
    """Yield saved counts with their pairs on a cluster.

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
    with gather_rows(client, directory, _rows, saved, "gathering rows") as rows:
        word_counts, sums = (
            np.concatenate([np.array(some) for some in rows.arrays(name)])
            for name in ("word_counts", "sums")
        )
        lengths = np.concatenate([np.diff(indptr) for indptr in rows.arrays("indptr")])
        yield ClusterCounts(
            Vocabulary(words.words, word_counts),
            slots,
            tuple(sources),
            PairSums((len(words), len(words)), int(lengths.sum()), sums),
            lengths.astype(np.int64),
            rows,
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


@dataclass(frozen=True, eq=False)
class PairSums:
    """What this process has of a matrix of pair counts: sums, and how many pairs were seen."""

    shape: tuple[int, int]
    nnz: int
    row_sums: NDArray[np.uint64]

    @property
    def total(self) -> int:
        """The sum of all counts, exactly."""
        return int(self.row_sums.sum())


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Counts whose pairs are rows on workers; here are words and sums.

    That is all that the plan of a target, the loss and the description of a model depend on.
    """

    vocabulary: Vocabulary
    slots: tuple[Slot, ...]
    sources: tuple[dict[str, Any], ...]
    symmetric: PairSums
    lengths: NDArray[np.int64] = field(repr=False)
    """How many different words each word met."""
    rows: RowBlocks = field(repr=False)
    """The rows of counts: the arrays ``indptr``, ``indices`` and ``counts``."""

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """How often each word was counted."""
        return self.vocabulary.counts

    @property
    def weights(self) -> tuple[int, ...] | None:
        """The weight of a pair by its distance; None where unknown."""
        return sum_of_weights(self.slots)

    @property
    def window(self) -> int | None:
        """How far a window reaches to either side; None where unknown."""
        return None if self.weights is None else len(self.weights)

    def target(self, plan: TargetPlan) -> Target:
        """Return the target of a plan, whose entries workers make of their rows."""
        rows = self.rows.extended(
            partial(_enter, formula=plan.formula, dtype=plan.dtype, dense=plan.dense),
            {"left": plan.expected[0], "right": plan.expected[1]},
        )
        return plan.target(RowMatrix(rows, plan.dtype))


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
