"""Counts whose pairs stay on a cluster: no process ever holds more than a block of rows.

The process that runs the fit holds only vectors with one number per word.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from qwem._internal import artefact
from qwem._internal.arrays import blocks, cut_evenly
from qwem._internal.kernels import multiply_rows
from qwem._internal.resources import threads
from qwem.cluster._rows import csr_arrays, gather_rows
from qwem.cluster._saved_rows import saved_digests, saved_passages, saved_rows, saved_sources
from qwem.cluster._tasks import thread_total
from qwem.cooccurrence._counting import expected_pairs
from qwem.cooccurrence._rows import row_sums, too_large
from qwem.cooccurrence.contexts import mirrored, sum_of_weights, window_kinds
from qwem.corpus import Vocabulary
from qwem.polish.sweep import BLOCK_ROWS, Pairs, step_rows
from qwem.target.building import row_entries

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cluster._rows import Arrays, Block, RowBlocks
    from qwem.cluster._saved_rows import CountRows
    from qwem.cooccurrence import Slot
    from qwem.polish.loss import RowProblem, Side
    from qwem.target import Target
    from qwem.target.building import Formula, TargetPlan


class SavedRows(NamedTuple):
    """Rows of counts: the sum over files that have these rows or whole counts."""

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
        Where the rows are kept meanwhile; every worker must reach it.
    words
        The words, and about how often each occurs.
    saved
        All rows of the counts; every worker must reach their files.
    """
    slots, sources = saved_sources(saved[0].paths)
    weights = sum_of_weights(slots)
    if len(saved) == 1:
        runs = even_runs(client, words, len(weights or "1"))
        saved = [SavedRows(first, last, saved[0].paths) for first, last in runs]
    files = sorted({path for rows in saved for path in rows.paths})
    tasks = [(*rows, (number, len(saved)), files) for number, rows in enumerate(saved)]
    with gather_rows(client, directory, _rows, tasks, "gathering rows") as rows:

        def joined(name: str) -> NDArray[Any]:
            return np.concatenate([np.array(some) for some in rows.arrays(name)])

        sums = joined("sums")
        _require_countable(sums)
        passages = None
        if (found := artefact.opened(files[0]).metadata.get("passages")) is not None:
            passages = PassageSums(
                found["length"],
                joined("passage_lengths"),
                joined("passage_word_sums"),
                joined("passage_sums"),
            )
        yield ClusterCounts(
            Vocabulary(words.words, joined("word_counts")),
            slots,
            tuple(sources),
            sums,
            joined("lengths"),
            joined("seen"),
            rows,
            passages,
        )


def even_runs(client: Any, words: Vocabulary, window: int) -> list[tuple[int, int]]:
    """Cut the rows of counts into one run per thread, by the expected number of their pairs."""
    return block_runs(expected_pairs(words.counts, 2 * window), thread_total(client))


def block_runs(work: NDArray[Any], count: int) -> list[tuple[int, int]]:
    """Cut rows into at most `count` runs of about equal work, at the bounds of polishing blocks.

    >>> block_runs(np.ones(300), 2)
    [(0, 128), (128, 300)]
    """
    ends = np.concatenate(([0.0], np.cumsum(work)))
    starts = [first for first, _ in cut_evenly(ends, count)]
    whole = np.unique(np.round(np.array(starts) / BLOCK_ROWS).astype(int) * BLOCK_ROWS)
    cuts = [*whole[whole < len(work)].tolist(), len(work)]
    return list(pairwise(cuts))


@dataclass(frozen=True, eq=False)
class PairSums:
    """Sums of a matrix of pair counts, and how many different pairs it has."""

    row_sums: NDArray[np.uint64]
    column_sums: NDArray[np.uint64]
    nnz: int

    @property
    def shape(self) -> tuple[int, int]:
        """The vocabulary size, twice."""
        return len(self.row_sums), len(self.row_sums)

    @property
    def total(self) -> int:
        """The sum of all counts, exactly."""
        return int(self.row_sums.sum())


@dataclass(frozen=True, eq=False)
class PassageSums:
    """Sums of the counts of passages, with the names of `qwem.cooccurrence.passages.Passages`."""

    length: int
    lengths: NDArray[np.int64]
    """The number of different words of each passage."""
    word_sums: NDArray[np.float64]
    sums: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def nnz(self) -> int:
        """The number of different pairs of a word and a passage."""
        return int(self.lengths.sum())


@dataclass(frozen=True, eq=False)
class ClusterCounts:
    """Counts whose pairs are rows on workers; this process has words and sums.

    Nothing else is needed for the plan of a target, the loss and the description of a model. The
    attributes have the same names as in `qwem.Cooccurrence`.
    """

    vocabulary: Vocabulary
    slots: tuple[Slot, ...]
    sources: tuple[dict[str, Any], ...]
    sums: NDArray[np.uint64] = field(repr=False)
    """The number of pairs of each word, for each kind of context."""
    lengths: NDArray[np.int64] = field(repr=False)
    """The number of different words that each word occurs with, for each kind of context."""
    seen: NDArray[np.int64] = field(repr=False)
    """The number of different words that each word occurs with."""
    rows: RowBlocks = field(repr=False)
    """The rows of counts as CSR: ``symmetric``, each kind of context by its number, and passages by
    word and words by passage."""
    passages: PassageSums | None = None

    @property
    def symmetric(self) -> PairSums:
        """The sums of the slots of the window and their transposes."""
        sums = self.sums[:, window_kinds(self.slots)].sum(axis=1, dtype=np.uint64)
        return PairSums(sums, sums, int(self.seen.sum()))

    @property
    def matrices(self) -> tuple[PairSums, ...]:
        """The sums of each slot."""
        ends = np.cumsum([slot.contexts for slot in self.slots])
        return tuple(
            PairSums(
                self.sums[:, end - slot.contexts],
                self.sums[:, end - 1],
                int(self.lengths[:, end - slot.contexts].sum()),
            )
            for slot, end in zip(self.slots, ends, strict=True)
        )

    @property
    def pair_sums(self) -> NDArray[np.uint64]:
        """The number of pairs of each word."""
        return self.sums.sum(axis=1, dtype=np.uint64)

    @property
    def contexts_per_word(self) -> int:
        """The number of kinds of context."""
        return self.sums.shape[1]

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """How often each word was counted."""
        return self.vocabulary.counts

    @property
    def weights(self) -> tuple[int, ...] | None:
        """The weight of a pair by its distance; None if unknown."""
        return sum_of_weights(self.slots)

    @property
    def window(self) -> int | None:
        """How far a window reaches to either side; None if unknown."""
        return None if self.weights is None else len(self.weights)

    def target(self, plan: TargetPlan) -> Target:
        """Return the target of a plan; workers compute the entries from their rows."""
        rows = self.rows.extended(
            partial(_target_entries, formula=plan.formula, dtype=plan.dtype, dense=plan.dense),
            {"left": plan.expected[0], "right": plan.expected[1]},
        )
        return plan.target(RowMatrix(rows, plan.dtype))

    def step(
        self,
        problem: RowProblem,
        there: NDArray[Any],
        constant: NDArray[np.float32],
        here: NDArray[np.float32],
        done: Callable[[int], object],
    ) -> NDArray[np.float64]:
        """Take one step of polishing for every row of `here`; see `qwem.polish.sweep.Stepper`."""
        losses = np.zeros((len(here), 2))
        sent = {
            "there": there,
            "constant": constant,
            "here": here,
            "rows": problem.rows,
            "columns": problem.columns,
            "means": problem.means,
        }

        in_passages = 0 if self.passages is None else self.passages.nnz

        def count(words: slice) -> None:
            # Passages are divided among blocks about as words are.
            share = (words.stop - words.start) / len(self.lengths)
            done(int(self.lengths[words].sum()) + round(share * in_passages))

        kinds = problem.kinds(self.contexts_per_word + (self.passages is not None))
        work = partial(_step, side=problem.side, kinds=kinds, slots=self.slots)
        for _, found in self.rows.run(work, sent, count):
            rows = found["places"]
            here[rows], losses[rows] = found["here"], found["losses"]
        return losses


class RowMatrix(LinearOperator):  # type: ignore[misc]
    """A square matrix whose rows are on workers: the arrays ``dense`` or ``entries.…``."""

    def __init__(self, rows: RowBlocks, dtype: np.dtype[Any]) -> None:
        size = rows.runs[-1][-1]
        super().__init__(dtype, (size, size))
        self._rows = rows

    def _matmat(self, vectors: NDArray[Any]) -> NDArray[Any]:
        product = np.empty(vectors.shape, vectors.dtype)
        for rows, found in self._rows.run(_multiply, {"vectors": vectors}):
            product[rows] = found["product"]
        return product


def _multiply(block: Block, sent: Arrays) -> Arrays:
    """Multiply the rows of a block by the vectors that were sent."""
    vectors = np.array(sent["vectors"])
    if "dense" in block.arrays:
        entries = block.arrays["dense"]
        product = np.empty((len(entries), vectors.shape[1]), vectors.dtype)
        for rows in blocks(*entries.shape):
            np.matmul(entries[rows].astype(vectors.dtype, copy=False), vectors, out=product[rows])
        return {"product": product}
    indptr, indices, data = block.csr("entries")
    product = np.zeros((len(indptr) - 1, vectors.shape[1]), vectors.dtype)
    multiply_rows(indptr, indices, data, vectors, product)
    return {"product": product}


def _step(
    block: Block, sent: Arrays, *, side: Side, kinds: Sequence[int], slots: tuple[Slot, ...]
) -> Arrays:
    """Take one step for the words of a block, or for their contexts and the block's passages."""
    names = [str(number) for number in range(sum(slot.contexts for slot in slots))]
    of_contexts, words = side == "contexts", None
    sides = [block.csr(name) for name in (mirrored(names, slots) if of_contexts else names)]
    per_word = len(names) if of_contexts else 1
    rows = np.arange(per_word * block.rows.start, per_word * block.rows.stop)
    if "passages.data" in block.arrays:
        sides.append(block.csr("passages" if of_contexts else "by_passage"))
        words = block.rows.stop - block.rows.start if of_contexts else len(sent["here"])
        if of_contexts:
            rows = np.append(rows, block.arrays["passage_places"])
    here = np.array(sent["here"][rows])
    losses = np.zeros((len(here), 2))
    weights = (
        np.array(sent["there"]),
        np.array(sent["constant"]),
        np.array(sent["rows"][rows]),
        np.array(sent["columns"]),
        np.array(sent["means"][rows] if len(sent["means"]) else sent["means"]),
    )
    with threads(1):
        step_rows(kinds, Pairs.of(sides, words), weights, here, losses, lambda _: None)
    return {"here": here, "losses": losses, "places": rows}


def _rows(
    first: int, last: int, paths: Sequence[Path], block: tuple[int, int], files: Sequence[Path]
) -> Arrays:
    """Return some rows of counts, some passages, and their sums.

    `block` is the number of this block and of all blocks, and `files` have all rows.
    """
    found = saved_rows(paths, first, last)
    symmetric = found.symmetric
    for side in found.sides:
        _require_countable(side.data)
    by_kind: dict[str, NDArray[Any]] = {}
    for number, side in enumerate(found.sides):
        by_kind |= csr_arrays(side, str(number))
    return {
        "word_counts": found.word_counts,
        "sums": np.stack([row_sums(side) for side in found.sides], axis=1),
        "lengths": np.stack([np.diff(side.indptr) for side in found.sides], axis=1),
        "seen": np.diff(symmetric.indptr),
        **csr_arrays(symmetric, "symmetric"),
        **by_kind,
        **_passage_arrays(found, block, files),
    }


def _passage_arrays(found: CountRows, block: tuple[int, int], files: Sequence[Path]) -> Arrays:
    """Return the passages of a block's words, and the block's share of all passages."""
    if found.passages is None:
        return {}
    digests, size = saved_digests(files), found.sides[0].shape[1]
    runs = block_runs(np.ones(len(digests)), block[1])
    first, last = runs[block[0]] if block[0] < len(runs) else (len(digests), len(digests))
    own = saved_passages(files, digests[first:last], size)
    by_word = found.passages.pairs[0]
    by_word.indices = np.searchsorted(digests, found.passages.digests)[by_word.indices]
    by_word = sparse.csr_array(by_word, shape=(by_word.shape[0], len(digests)))
    return {
        "passage_places": len(found.sides) * size + np.arange(first, last),
        "passage_lengths": np.diff(own.matrix.indptr),
        "passage_sums": own.sums,
        "passage_word_sums": found.passages.word_sums,
        **csr_arrays(own.pairs[1], "passages"),
        **csr_arrays(by_word, "by_passage"),
    }


def _require_countable(counts: NDArray[np.uint64]) -> None:
    """Raise unless the sum of counts fits into 63 bits."""
    if counts.sum(dtype=np.float64) >= 2.0**63:
        raise too_large()


def _target_entries(
    block: Block, sent: Arrays, *, formula: Formula, dtype: np.dtype[Any], dense: bool
) -> Arrays:
    """Return the entries of a target for the rows of a block."""
    indptr, indices, data = block.csr("symmetric")
    right = np.array(sent["right"])
    pairs = sparse.csr_array(
        (np.array(data), np.array(indices), indptr), shape=(len(indptr) - 1, right.shape[1])
    )
    expected = np.array(sent["left"][block.rows]), right
    with threads(1):
        entries = row_entries(pairs, formula, expected, dtype, dense=dense)
    if dense:
        return {"dense": entries}
    return {"entries.indptr": indptr, "entries.indices": indices, "entries.data": entries}
