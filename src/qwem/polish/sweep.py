"""Half a sweep: one step for every row of one side, the other side fixed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from qwem._internal.arrays import blocks, cut_evenly, for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    from qwem.polish.loss import RowProblem

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

ROUNDING = 1e-6
"""What is added to the diagonal of a Gram matrix, relative to its mean, to keep it invertible."""

CACHE_BYTES = 320_000
"""What the rows of a tile may take, so that they stay in a core's own cache."""

BLOCK_ROWS = 128
"""Long rows that are worked on together, at most."""

TASK_ENTRIES = 1 << 18
"""Pairs in the task of a thread."""

Stepper: TypeAlias = (
    "Callable[[RowProblem, Matrix, Matrix, Matrix, Callable[[int], object]], Vector]"
)
"""Takes one step for every row of one side, in place, and returns losses and falls.

Called with the problem of that side, the rows of the other side and their weighted sum, the own
rows, and a function to call with the number of pairs worked on. All rows are in the coordinates of
`improve`. Returned are for each row the loss before the step, and by how much at least the step
lowers it.
"""


class Step(NamedTuple):
    """Rows after a step, the loss before it, and by how much at least the step lowers it."""

    vectors: Matrix
    loss: float
    fall: float


def improve(
    problem: RowProblem,
    stepper: Stepper,
    own: Matrix,
    other: Matrix,
    done: Callable[[int], object],
) -> Step:
    """Take one step for every row of `own`, against the rows of `other`.

    Both sides are first put in coordinates in which the curvature of all pairs together is the
    identity: with G = RRᵀ that matrix, the other side is y ↦ R⁻¹y and the own is w ↦ Rᵀw. There
    the gradient is nearly the direction to go. `done` is called with the number of pairs worked on.
    """
    root = cholesky(_regular(gram(other, problem.gram)), lower=True)
    inverse = solve_triangular(root, np.eye(len(root)), lower=True)
    there = transformed(other, inverse.T)
    here = transformed(own, root)
    constant = weighted_sum(there, problem.constant).astype(np.float32)
    if len(problem.means):
        problem = replace(problem, means=transformed(problem.means, root))
    losses = stepper(problem, there, constant, here, done)
    loss, fall = (math.fsum(column * problem.weight) for column in losses.T)
    return Step(transformed(here, inverse), loss, fall)


class LocalStepper:
    """Steps on the pairs of this process, on its threads; a `Stepper`.

    `by_word` has a row of counts for each word, and `by_context` is its transpose.
    """

    def __init__(
        self,
        by_word: sparse.csr_array[Any],
        by_context: sparse.csr_array[Any],
    ) -> None:
        self._pairs = {"words": by_word, "contexts": by_context}

    def __call__(
        self,
        problem: RowProblem,
        there: Matrix,
        constant: Matrix,
        here: Matrix,
        done: Callable[[int], object],
    ) -> Vector:
        """Take one step for every row of `here`."""
        matrix, losses = self._pairs[problem.side], np.empty((len(here), 2))
        tasks = row_cuts(matrix.indptr, cached_rows(here.shape[1]))
        pairs = matrix.indptr, matrix.indices, matrix.data
        weights = there, constant, problem.rows, problem.columns, problem.means
        step_rows(tasks, pairs, weights, here, losses, done)
        return losses


def step_rows(
    tasks: Sequence[NDArray[np.int64]],
    pairs: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    weights: tuple[Matrix, Matrix, Matrix, Matrix, Matrix],
    here: Matrix,
    losses: Vector,
    done: Callable[[int], object],
) -> None:
    """Take one step for the rows of some tasks, in place, and write their losses and falls.

    Parameters
    ----------
    tasks
        Those of `row_cuts`, or some of them with rows counted from the first.
    pairs
        The rows as CSR: where each begins, the columns and the counts.
    weights
        The rows of the other side and their weighted sum; the `rows`, `columns` and `means` of a
        problem.
    here, losses
        What to write.
    done
        Called with the number of pairs worked on.
    """
    from qwem.polish.kernels import solve_blocks

    indptr, (there, *_) = pairs[0], weights
    tiles = tile_starts(len(there), cached_rows(there.shape[1]))

    def work(cuts: NDArray[np.int64]) -> None:
        solve_blocks(cuts, tiles, *pairs, *weights, here, losses)
        done(int(indptr[cuts[-1]] - indptr[cuts[0]]))

    for_each(work, tasks)


def cached_rows(dim: int) -> int:
    """Return how many rows of the other side a tile of the columns of frequent words has."""
    from qwem.polish.kernels import PAIRS

    return max(PAIRS, CACHE_BYTES // (np.dtype(np.float32).itemsize * dim))


def gram(vectors: Matrix, weights: Vector) -> Vector:
    """Return Σ_i weights_i v_i v_iᵀ, with the same bits whatever the number of threads.

    Blocks of rows are multiplied in float32 and added in float64.
    """
    parts = blocks(len(vectors), vectors.shape[1])
    products: list[Any] = [None] * len(parts)

    def work(rows: slice) -> None:
        weighted = vectors[rows] * weights[rows, None].astype(np.float32)
        products[rows.start // parts[0].stop] = (weighted.T @ vectors[rows]).astype(np.float64)

    for_each(work, parts)
    total: Vector = sum(products[1:], start=products[0])
    return total


def transformed(vectors: Matrix, matrix: Vector) -> Matrix:
    """Return vectors @ matrix in float32, row after row."""
    result, narrow = np.empty(vectors.shape, np.float32), matrix.astype(np.float32)

    def work(rows: slice) -> None:
        np.matmul(vectors[rows], narrow, out=result[rows])

    for_each(work, blocks(len(vectors), vectors.shape[1]))
    return result


def weighted_sum(vectors: Matrix, weights: Vector) -> Vector:
    """Return Σ_i weights_i v_i."""
    parts = blocks(len(vectors), vectors.shape[1])
    return sum((weights[rows] @ vectors[rows] for rows in parts), np.zeros(vectors.shape[1]))


def row_cuts(indptr: NDArray[Any], cached: int) -> list[NDArray[np.int64]]:
    """Cut rows into blocks, and blocks into tasks for threads: the cuts of each task.

    Rows of more than twice `cached` pairs share the rows of the other side, a tile at a time, and
    make blocks that end at multiples of `BLOCK_ROWS`, so that rows from such a multiple on are cut
    in the same way without those before. A shorter row finds most of what it needs in the cache
    when it comes back to it, and is a block of its own.
    """
    row = np.arange(len(indptr) - 1)
    short = np.diff(indptr) <= 2 * cached
    after_short = np.concatenate(([True], short[:-1]))
    cuts = np.append(row[short | after_short | (row % BLOCK_ROWS == 0)], len(row))
    tasks = cut_evenly(indptr[cuts], -(-int(indptr[-1]) // TASK_ENTRIES) or 1)
    return [cuts[first : last + 1] for first, last in tasks]


def tile_starts(columns: int, cached: int) -> NDArray[np.int64]:
    """Return the columns at which tiles begin, and one past the last.

    The columns of frequent words, which nearly every row has, come in tiles of `cached`. Further on
    tiles widen, since rows have fewer of their columns.
    """
    starts = [0]
    while starts[-1] < columns:
        starts.append(min(starts[-1] + max(cached, starts[-1] // 4), columns))
    return np.array(starts)


def _regular(matrix: Vector) -> Vector:
    return matrix + ROUNDING * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
