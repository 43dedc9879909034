"""Half a sweep: one step for every row of one side, with the other fixed; and balanced sides."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from qwem._internal.arrays import blocks, cut_evenly, for_each
from qwem.cooccurrence.contexts import context_sides, mirrored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.polish.loss import RowProblem, Statistics, Word2vecLoss

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]


ROUNDING = 1e-6
"""Added to the diagonal of a Gram matrix, relative to its mean, to keep it invertible."""

ROUNDED_TOL = 5e-3
"""The tolerance from which on 16 bits a number and estimated lengths of steps are enough."""

RELAXATION = 1.2
"""How far a step goes, relative to the minimum of a parabola that touches the loss and is nowhere
below it. Any step below 2 lowers the loss, whose own minimum is usually further away."""

CACHE_BYTES = 240_000
"""The size of the rows of a tile, so that they stay in a core's own cache."""

LONG = 2
"""A row with more pairs than this many times the rows of a tile is processed with others."""

BLOCK_ROWS = 128
"""The most long rows that are processed together."""

TASK_ENTRIES = 1 << 18
"""The number of pairs in a thread's task."""

_LINE = 64  # bytes of a line of the cache
_LEAST = np.float32(1e-30)

Stepper: TypeAlias = (
    "Callable[[RowProblem, NDArray[Any], Matrix, Matrix, Callable[[int], object]], Vector]"
)
"""Takes one step for every row of one side, in place, and returns losses and falls.

Its arguments are the problem of that side, the rows of the other side (perhaps rounded) and their
weighted sum, the own rows, and a function to call with the number of pairs processed. All rows are
in the coordinates of `improve`. For each row it returns the loss before the step, and a lower bound
of how much the step lowers it.
"""


class Turned(NamedTuple):
    """Vectors in the coordinates of a step, so that the next step need not turn them back first."""

    rows: Matrix
    matrix: Vector
    """The vectors are ``rows @ matrix``."""
    only_here: bool = False
    """Whether nothing else refers to `rows`, so that the next step may overwrite them."""

    @classmethod
    def of(cls, vectors: Matrix) -> Turned:
        """Return vectors that are not turned."""
        return cls(vectors, np.eye(vectors.shape[1]))

    @property
    def vectors(self) -> Matrix:
        """The vectors in their own coordinates."""
        return transformed(self.rows, self.matrix)

    def gram(self, weights: Vector) -> Vector:
        """Return Σ_i weights_i v_i v_iᵀ."""
        return self.matrix.T @ gram(self.rows, weights) @ self.matrix


class Step(NamedTuple):
    """Vectors after a step, the loss before, and a lower bound of how much the step lowers it."""

    own: Turned
    loss: float
    fall: float


def improve(
    problem: RowProblem,
    stepper: Stepper,
    own: Turned,
    other: Turned,
    done: Callable[[int], object],
    *,
    tol: float = 0.0,
    relaxation: float = RELAXATION,
) -> Step:
    """Take one step for every row of `own`, against the rows of `other`.

    The memory of `own` is used again if it comes from an earlier step.

    Both sides are first put in coordinates in which the curvature of all pairs together is the
    identity: with this curvature G = RRᵀ, the other side becomes y ↦ R⁻¹y and the own w ↦ Rᵀw.
    There the gradient points nearly to the minimum. `relaxation` is how far a step goes: see
    `RELAXATION`. `done` is called with the number of pairs processed.

    Reading the other side takes most of the time. If `tol` is at least `ROUNDED_TOL`, it is rounded
    to 16 bits a number, which changes the loss by less than 1e-4 of it in a hundred dimensions (and
    by less than 1e-3 in five), and the lengths of steps are estimated from some of a row's pairs
    (`kernels.SAMPLE`).
    """
    from qwem.polish.kernels import FIELDS

    root = cholesky(_regular(other.gram(problem.gram)), lower=True)
    inverse = solve_triangular(root, np.eye(len(root)), lower=True)
    to_there = rounded if tol >= ROUNDED_TOL else transformed
    to_other, to_own = _padded(inverse.T), _padded(root)
    there: NDArray[Any] = to_there(other.rows, other.matrix @ to_other)
    here = transformed(own.rows, own.matrix @ to_own, overwrite=own.only_here)
    constant = weighted_sum(other.rows, problem.constant) @ other.matrix @ to_other
    relaxed = np.full(len(here), relaxation, np.float32)
    problem = replace(
        problem,
        rows=np.column_stack((problem.rows, relaxed)),
        columns=np.pad(problem.columns, ((0, 0), (0, FIELDS - problem.columns.shape[1]))),
    )
    if len(problem.means):
        problem = replace(problem, means=transformed(problem.means, to_own))
    losses = stepper(problem, there, constant.astype(np.float32), here, done)
    loss, fall = (math.fsum(column * problem.weight) for column in losses.T)
    return Step(Turned(here, to_other.T, only_here=True), loss, fall)


PASSAGE_STEPS = 2
"""The number of steps that bring passages from zero near their minimum, given words."""


def with_passages(contexts: Matrix, statistics: Statistics) -> Turned:
    """Return a vector for each context: the given ones, and zeros for passages.

    `contexts` has a row for each context that is a word in a slot, or one for each word, which is
    that of all its contexts.
    """
    found = np.zeros((len(statistics.context_sums), contexts.shape[1]), np.float32)
    by_word = len(statistics.word_counts), -1, contexts.shape[1]
    found[statistics.of_words].reshape(by_word)[:] = contexts.reshape(by_word)
    return Turned.of(found)


def solve_passages(
    loss: Word2vecLoss, stepper: Stepper, words: Turned, contexts: Turned, tol: float
) -> Turned:
    """Return contexts whose passages fit the words; `with_passages` made room for them."""
    problem = loss.of_passages()
    for _ in range(PASSAGE_STEPS if loss.passages else 0):
        contexts, *_ = improve(problem, stepper, contexts, words, lambda _: None, tol=tol)
    return contexts


def compile_steps_ahead(kinds: int) -> None:
    """Let another process compile the kernels of half a sweep, if they are not compiled yet.

    `kinds` is the number of kinds of contexts, including passages.
    """
    from qwem._internal.kernels import compile_ahead
    from qwem.polish.kernels import solve_blocks

    statement = f"from qwem.polish.sweep import take_small_step; take_small_step({kinds})"
    compile_ahead([solve_blocks], statement)


def take_small_step(kinds: int) -> Step:
    """Take a step for two words with `kinds` kinds of contexts, with 16 bits a number."""
    from qwem.polish.loss import Statistics, Word2vecLoss

    ones, two = np.ones(2), sparse.csr_array(np.ones((2, 2), np.uint32))
    sums = Statistics(
        ones.astype(np.int64), 2 * kinds * ones, 2 * np.ones(2 * kinds), 4 * kinds, kinds
    )
    word, context = (Turned.of(np.ones((rows, 1), np.float32)) for rows in (2, 2 * kinds))
    stepper = LocalStepper([two] * kinds, [two] * kinds)
    problem = Word2vecLoss(sums, negatives=1.0, exponent=1.0, evidence=1.0).of_words()
    return improve(problem, stepper, word, context, lambda _: None, tol=ROUNDED_TOL)


class Pairs(NamedTuple):
    """Pairs, one CSR matrix for each kind of context, in the form the kernels take."""

    layout: NDArray[np.int64]
    """Where the contexts of each kind are: the first, and the step from one to the next."""
    indptr: tuple[NDArray[np.int64], ...]
    indices: tuple[NDArray[Any], ...]
    counts: tuple[NDArray[Any], ...]

    @classmethod
    def of(
        cls,
        matrices: Sequence[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]],
        words: int | None = None,
    ) -> Pairs:
        """Return the pairs of matrices, each given as `indptr`, `indices` and counts.

        The contexts of a word are adjacent. If the last matrix is of passages, `words` is the
        number of words whose contexts come before. Indices and counts that have the same type in
        all matrices are not copied. `indptr` is wide here and on a cluster, so that both need the
        same kernels.
        """
        kinds = len(matrices) - (words is not None)
        layout = [(kind, kinds) for kind in range(kinds)]
        layout += [] if words is None else [(kinds * words, 1)]
        indptr, *parts = zip(*matrices, strict=True)
        return cls(
            np.array(layout),
            tuple(_fixed(each, np.int64) for each in indptr),
            *(tuple(_fixed(each, np.result_type(*part)) for each in part) for part in parts),
        )

    def ends(self, kind: int) -> NDArray[np.int64]:
        """Return the `indptr` of one kind, or the sum over all kinds if `kind` is −1."""
        return np.sum(self.indptr, axis=0, dtype=np.int64) if kind < 0 else self.indptr[kind]


class LocalStepper:
    """A `Stepper` that uses the threads of this process.

    Both sides have one matrix for each kind of context: `by_word` has a row for each word, with the
    words seen with it in that kind of context; `by_context` has the transposes. `passages` are
    words × passages, and passages × words.
    """

    def __init__(
        self,
        by_word: Sequence[sparse.csr_array[Any]],
        by_context: Sequence[sparse.csr_array[Any]],
        passages: tuple[sparse.csr_array[Any], ...] = (),
    ) -> None:
        words = by_word[0].shape[0] if passages else None
        sides = (*by_word, *passages[:1]), (*by_context, *passages[1:])
        self._pairs = {
            side: Pairs.of([(each.indptr, each.indices, each.data) for each in matrices], words)
            for side, matrices in zip(("words", "contexts"), sides, strict=True)
        }

    @classmethod
    def of(cls, counts: Cooccurrence) -> LocalStepper:
        """Return the stepper of these counts."""
        sides = context_sides(counts)
        passages = () if counts.passages is None else counts.passages.pairs
        return cls(sides, mirrored(sides, counts.slots), passages)

    def __call__(
        self,
        problem: RowProblem,
        there: NDArray[Any],
        constant: Matrix,
        here: Matrix,
        done: Callable[[int], object],
    ) -> Vector:
        """Take one step for every row of `here`."""
        losses = np.zeros((len(here), 2))
        weights = there, constant, problem.rows, problem.columns, problem.means
        pairs = self._pairs[problem.side]
        step_rows(problem.kinds(len(pairs.layout)), pairs, weights, here, losses, done)
        return losses


def step_rows(
    kinds: Sequence[int],
    pairs: Pairs,
    weights: tuple[NDArray[Any], Matrix, Matrix, Matrix, Matrix],
    here: Matrix,
    losses: Vector,
    done: Callable[[int], object],
) -> None:
    """Take one step for some rows, in place, and write their losses and falls.

    Parameters
    ----------
    kinds, pairs
        The kinds of contexts whose rows take a step, or −1 for words; and the pairs of the rows.
    weights
        The rows of the other side and their weighted sum; the `rows`, `columns` and `means` of a
        problem.
    here, losses
        The rows to update, and the array for their losses and falls.
    done
        Called with the number of pairs processed.
    """
    from qwem.polish.kernels import solve_blocks

    cached = cached_rows(weights[0].itemsize * here.shape[1])
    tiles = tile_starts(len(weights[0]), cached)
    for kind in kinds:
        ends = pairs.ends(kind)

        def work(cuts: NDArray[np.int64], kind: int = kind, ends: NDArray[Any] = ends) -> None:
            solve_blocks(cuts, kind, tiles, *pairs, *weights, here, losses)
            done(int(ends[cuts[-1]] - ends[cuts[0]]))

        for_each(work, row_cuts(ends, cached))


def cached_rows(row_bytes: int) -> int:
    """Return the number of rows of the other side in a tile, for the most frequent words."""
    from qwem.polish.kernels import PAIRS

    return max(PAIRS, CACHE_BYTES // row_bytes)


def gram(vectors: Matrix, weights: Vector) -> Vector:
    """Return Σ_i weights_i v_i v_iᵀ, with the same bits for any number of threads.

    Blocks of rows are multiplied in float32 and added in float64.
    """
    parts = blocks(len(vectors), vectors.shape[1])
    products: list[Any] = [None] * len(parts)

    def work(rows: slice) -> None:
        weighted = vectors[rows] * np.sqrt(weights[rows, None]).astype(np.float32)
        products[rows.start // parts[0].stop] = (weighted.T @ weighted).astype(np.float64)

    for_each(work, parts)
    total: Vector = sum(products[1:], start=products[0])
    return total


def transformed(vectors: Matrix, matrix: Vector, *, overwrite: bool = False) -> Matrix:
    """Return vectors @ matrix in float32, computed in blocks of rows.

    With `overwrite` the result takes the place of `vectors`, if it has the same shape.
    """
    narrow = matrix.astype(np.float32)
    in_place = overwrite and vectors.shape[1] == narrow.shape[1]
    result = vectors if in_place else np.empty((len(vectors), narrow.shape[1]), np.float32)

    def work(rows: slice) -> None:
        result[rows] = vectors[rows] @ narrow

    for_each(work, blocks(len(vectors), vectors.shape[1]))
    return result


def rounded(vectors: Matrix, matrix: Vector) -> NDArray[np.uint16]:
    """Return vectors @ matrix with 16 bits a number: sign, exponent and seven binary digits.

    Number k and number k + `LANES` of `WIDTH` are neighbours, so that a register of 32-bit words
    holds both. The first is then the lower half of a word, moved up, and the second is the whole
    word: the lower half only adds digits to it, which its upper half is rounded for. It is at least
    `_LEAST`, so that it is a normal float32. Rows begin at a line of the cache if a line divides
    them.
    """
    from qwem.polish.kernels import LANES

    narrow = matrix.astype(np.float32)
    shape = len(vectors), narrow.shape[1]
    memory = np.empty(2 * shape[0] * shape[1] + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    result = memory[start : memory.size - _LINE + start].view(np.uint32)
    result = result.reshape(len(vectors), -1, LANES)
    half, sign = np.uint32(1 << 15), np.uint32(1 << 31)

    def work(rows: slice) -> None:
        product = (vectors[rows] @ narrow).view(np.uint32)
        first, second = np.moveaxis(product.reshape(len(product), -1, 2, LANES), 2, 0)
        lower = (first + half) >> np.uint32(16)
        upper = np.maximum(second & ~sign, _LEAST.view(np.uint32)) + half - lower
        result[rows] = (upper & np.uint32(0xFFFF << 16)) | (second & sign) | lower

    for_each(work, blocks(*shape))
    return result.reshape(len(vectors), -1).view(np.uint16)


def weighted_sum(vectors: Matrix, weights: Vector) -> Vector:
    """Return Σ_i weights_i v_i."""
    parts = blocks(len(vectors), vectors.shape[1])
    return sum((weights[rows] @ vectors[rows] for rows in parts), np.zeros(vectors.shape[1]))


def row_cuts(indptr: NDArray[Any], cached: int) -> list[NDArray[np.int64]]:
    """Cut rows into blocks, and group the blocks into tasks for threads; return each task's cuts.

    Rows of more than `LONG` times `cached` pairs share the rows of the other side, one tile at a
    time. Their blocks end at multiples of `BLOCK_ROWS`, so that the rows from such a multiple on
    are cut in the same way without the rows before. A shorter row is a block of its own: the rows
    it reads stay in the cache between its two passes.
    """
    row = np.arange(len(indptr) - 1)
    short = np.diff(indptr) <= LONG * cached
    after_short = np.concatenate(([True], short[:-1]))
    cuts = np.append(row[short | after_short | (row % BLOCK_ROWS == 0)], len(row))
    tasks = cut_evenly(indptr[cuts], -(-int(indptr[-1]) // TASK_ENTRIES) or 1)
    return [cuts[first : last + 1] for first, last in tasks]


def tile_starts(columns: int, cached: int) -> NDArray[np.int64]:
    """Return the columns at which tiles begin, and one past the last.

    The columns of frequent words, which nearly every row has, are in tiles of `cached`. Later tiles
    are wider, since rows have fewer of their columns.
    """
    starts = [0]
    while starts[-1] < columns:
        starts.append(min(starts[-1] + max(cached, starts[-1] // 4), columns))
    return np.array(starts)


def _padded(matrix: Vector) -> Vector:
    """Pad a matrix with columns of zeros to a multiple of `WIDTH`."""
    from qwem.polish.kernels import WIDTH

    return np.pad(matrix, ((0, 0), (0, -matrix.shape[1] % WIDTH)))


def _fixed(array: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return a read-only array of a given type, so that kernels are compiled for one type only."""
    view = np.ascontiguousarray(array, dtype).view()
    view.setflags(write=False)
    return view


def _regular(matrix: Vector) -> Vector:
    return matrix + ROUNDING * np.trace(matrix) / len(matrix) * np.eye(len(matrix))


class Balanced(NamedTuple):
    """Factors W and W′ of the products (w_i + centre)·w′_c."""

    word: Matrix
    context: Matrix
    centre: Matrix
    """The mean word vector, which was subtracted from W."""
    transform: Vector
    """The matrix A by which word vectors were multiplied."""


def balanced(
    word: Turned, context: Turned, word_weights: Vector, context_weights: Vector
) -> Balanced:
    """Return W A and W′ A⁻¹, with A symmetric, so that their weighted Gram matrices are equal.

    A² is the geometric mean of the inverse of the first Gram matrix and of the second. Unlike
    singular vectors it is smooth: there are no signs to choose, and no rotations among equal
    singular values. Then the weighted mean of the word vectors is subtracted from W: its products
    with the contexts are the same for every word.
    """
    first, second = word.gram(word_weights), context.gram(context_weights)
    root, inverse = _power(first, 0.5), _power(first, -0.5)
    squared = inverse @ _power(root @ second @ root, 0.5) @ inverse
    transform = _power(squared, 0.5)
    words = transformed(word.rows, word.matrix @ transform)
    contexts = transformed(context.rows, context.matrix @ _power(squared, -0.5))
    mean = (weighted_sum(words, word_weights) / word_weights.sum()).astype(np.float32)
    words -= mean
    return Balanced(words, contexts, mean, transform)


def _power(matrix: Vector, exponent: float) -> Vector:
    """Return a power of a symmetric, positive definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values = np.maximum(values, values[-1] * np.finfo(np.float64).eps)
    return (vectors * values**exponent) @ vectors.T
