"""Polishing on a cluster: the rows of each side are steps of the workers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import threads
from qwem.cluster._counts import block_runs, context_arrays
from qwem.cluster._rows import send_rows
from qwem.cluster._tasks import thread_total
from qwem.cooccurrence.contexts import Sides
from qwem.polish import polish as polish_locally
from qwem.polish.sweep import cached_rows, row_cuts, step_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem.cluster._rows import Arrays, Block, RowBlocks
    from qwem.cooccurrence import Cooccurrence
    from qwem.polish import Polished
    from qwem.polish.loss import RowProblem
    from qwem.spectrum import Spectrum


def polish(
    client: Any,
    spectrum: Spectrum,
    counts: Cooccurrence,
    directory: str | os.PathLike[str],
    **options: Any,
) -> Polished:
    """Minimize word2vec's loss from a closed form on, with the steps of rows taken on a cluster.

    Rows of the counts are files that workers map, and half a sweep is one task per thread of the
    cluster. Blocks of rows that are worked on together are those of `qwem.polish.polish`, so that
    the result has its bits, provided that all machines have the same kind of processor.

    Parameters
    ----------
    client
        A `dask.distributed.Client`; see `connected`.
    spectrum
        The closed form to start from.
    counts
        The statistics, of the same words in the same order.
    directory
        Where the rows are kept meanwhile, which every worker can reach.
    options
        Any other argument of `qwem.polish.polish`.
    """
    sides = Sides(counts)
    lengths = np.diff(sides.work)

    def arrays(first: int, last: int) -> Arrays:
        found = [rows.tocsr(sides.size) for rows in sides.rows(first, last)]
        return context_arrays(found, counts.slots)

    runs = block_runs(lengths, thread_total(client))
    with send_rows(client, directory, runs, arrays) as rows:
        stepper = ClusterStepper(rows, lengths)
        return polish_locally(spectrum, counts, **options, stepper=stepper)


class ClusterStepper:
    """Steps that workers take; a `qwem.polish.sweep.Stepper`.

    `rows` have the arrays of `context_arrays`, and `lengths` is how many pairs of each word were
    seen in all contexts.
    """

    def __init__(self, rows: RowBlocks, lengths: NDArray[np.int64]) -> None:
        self._rows = rows
        self._lengths = lengths

    def __call__(
        self,
        problem: RowProblem,
        there: NDArray[np.float32],
        constant: NDArray[np.float32],
        here: NDArray[np.float32],
        done: Callable[[int], object],
    ) -> NDArray[np.float64]:
        """Take one step for every row of `here`."""
        losses = np.empty((len(here), 2))
        per_word = len(here) // len(self._lengths)
        sent = {
            "there": there,
            "constant": constant,
            "here": here,
            "rows": problem.rows,
            "columns": problem.columns,
            "means": problem.means,
        }

        def count(words: slice) -> None:
            done(int(self._lengths[words].sum()))

        work = partial(_step, side=problem.side, per_word=per_word)
        for words, found in self._rows.run(work, sent, count):
            rows = _contexts_of(words, per_word)
            here[rows], losses[rows] = found["here"], found["losses"]
        return losses


def _contexts_of(words: slice, per_word: int) -> slice:
    return slice(per_word * words.start, per_word * words.stop)


def _step(block: Block, sent: Arrays, *, side: str, per_word: int) -> Arrays:
    """Take one step for the words of a block, or for their contexts."""
    pairs = block.csr(side)
    rows = _contexts_of(block.rows, per_word)
    tasks = row_cuts(pairs[0], cached_rows(sent["there"].shape[1]))
    here = np.array(sent["here"][rows])
    losses = np.empty((len(here), 2))
    weights = (
        np.array(sent["there"]),
        np.array(sent["constant"]),
        np.array(sent["rows"][rows]),
        np.array(sent["columns"]),
        np.array(sent["means"][rows]),  # there may be none
    )
    with threads(1):
        step_rows(tasks, pairs, weights, here, losses, lambda _: None)
    return {"here": here, "losses": losses}
