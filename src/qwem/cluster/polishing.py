"""Polishing on a cluster: the rows of each side are steps of the workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import cut_evenly
from qwem.cluster.rows import spread
from qwem.cluster.tasks import thread_total
from qwem.polish import cached_rows, row_cuts, step_rows
from qwem.polish import polish as polish_here

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from qwem.cluster.rows import Arrays, Block, SpreadRows
    from qwem.cooccurrence import Cooccurrence
    from qwem.polish import Polished, RowProblem
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
    cluster. Rows are cut where `qwem.polish.polish` cuts them, so that the result has its bits,
    provided that all machines have the same kind of processor.

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
    matrix = counts.pair_counts.tocsr()
    cuts = row_cuts(matrix.indptr, cached_rows(spectrum.dim))
    ends = np.array([0, *(int(matrix.indptr[task[-1]]) for task in cuts)])
    groups = [cuts[first:last] for first, last in cut_evenly(ends, thread_total(client))]
    runs = [(int(group[0][0]), int(group[-1][-1])) for group in groups]
    beside = [_stored(group) for group in groups]
    with spread(client, directory, matrix, runs, beside) as rows:
        steps = _SpreadSteps(rows, matrix.indptr)
        return polish_here(spectrum, counts, **options, steps=steps)


class _SpreadSteps:
    """Steps that workers take; see `qwem.polish.Steps`."""

    def __init__(self, rows: SpreadRows, indptr: NDArray[Any]) -> None:
        self._rows = rows
        self._indptr = indptr

    def __call__(
        self,
        problem: RowProblem,
        there: NDArray[np.float32],
        constant: NDArray[np.float32],
        here: NDArray[np.float32],
        done: Callable[[int], object],
    ) -> NDArray[np.float64]:
        losses = np.empty((len(here), 2))
        sent = {
            "there": there,
            "constant": constant,
            "here": here,
            "rows": problem.rows,
            "columns": problem.columns,
        }
        indptr = self._indptr

        def count(rows: slice) -> None:
            done(int(indptr[rows.stop] - indptr[rows.start]))

        for rows, found in self._rows.run(_step, sent, count):
            here[rows], losses[rows] = found["here"], found["losses"]
        return losses


def _stored(tasks: Sequence[NDArray[np.int64]]) -> Arrays:
    """Return the cuts of tasks, with rows counted from the first, and how many each task has."""
    first = tasks[0][0]
    return {
        "cuts": np.concatenate(tasks) - first,
        "lengths": np.array([len(task) for task in tasks]),
    }


def _step(block: Block, sent: Arrays) -> Arrays:
    """Take one step for the rows of a block."""
    stored = block.arrays
    tasks = np.split(np.array(stored["cuts"]), np.cumsum(stored["lengths"])[:-1])
    here = np.array(sent["here"][block.rows])
    losses = np.empty((len(here), 2))
    weights = (
        np.array(sent["there"]),
        np.array(sent["constant"]),
        np.array(sent["rows"][block.rows]),
        np.array(sent["columns"]),
    )
    pairs = stored["indptr"], stored["indices"], stored["data"]
    step_rows(tasks, pairs, weights, here, losses, 1, lambda _: None)
    return {"here": here, "losses": losses}
