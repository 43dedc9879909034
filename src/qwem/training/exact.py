"""Exact gradients of the loss, computed from the counts.

There are two forms. The quartic loss under Setting 3.1 (times factors that Ψ⁺ and Ψ⁻ share) needs
only products with M*, which is sparse plus a few separable terms; no V × V matrix is formed. Any
other loss or reweighting visits every pair, a block of rows at a time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import sparse

from qwem._internal.resources import require_memory
from qwem.target import mstar
from qwem.training.losses import QUARTIC, Loss, Objective, Parameters
from qwem.training.trainer import Optimizer, Schedule, StepRule, Trainer, make_trainer

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.target import Reweighting, Target
    from qwem.training.weighting import PairWeights

BLOCK_ENTRIES = 1 << 20
"""Pairs per block: 4 MB in float32."""

_CHUNK_ENTRIES = 1 << 16
"""Stored entries of a sparse M* per block of its product."""


class QuadraticObjective(Objective):
    """Quartic loss under Setting 3.1, with gradient ∇L = U(WWᵀ − M*)UW (Proposition 3.3).

    U is the diagonal matrix of the factor u that Ψ⁺ and Ψ⁻ share. Under Setting 3.1 alone U = 1 and
    L = ¼‖WWᵀ − M*‖² − ¼‖M*‖² (Theorem 3.2), which is the contrastive loss including its constant.
    Untied weights have the gradient ½ U(WW′ᵀ − M*)UW′ in W, and the same with W and W′ exchanged.
    """

    def __init__(self, target: Target, shared: NDArray[np.float64], dtype: np.dtype[Any]) -> None:
        self._matrix = _matrix_on_device(target, dtype)
        self._shared = jnp.asarray(shared.astype(dtype))

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss and its gradient."""
        return _quadratic(parameters, self._matrix, self._shared)


class PairwiseObjective(Objective):
    """Any loss and reweighting, summed over all pairs.

    The gradients are ∇_W L = DW′ and ∇_W′ L = DᵀW, where D_ij is the derivative of the loss in the
    inner product of pair (i, j).
    """

    def __init__(
        self,
        weights: PairWeights,
        loss: Loss,
        dtype: np.dtype[Any],
        block_entries: int = BLOCK_ENTRIES,
    ) -> None:
        size = len(weights.left)
        require_memory(
            _pair_bytes(weights, dtype),
            f"The population gradient of {size:,} words",
            "restrict the vocabulary, or train on minibatches",
        )
        self._pairs = _blocks_on_device(weights, dtype, block_entries)
        self._loss = loss
        self._symmetric = weights.is_symmetric

    def evaluate(self, parameters: Parameters, key: int, step: int) -> tuple[jax.Array, Parameters]:
        """Return the loss and its gradient."""
        return _pairwise(parameters, self._pairs, self._loss, self._symmetric)

    def gradient(self, parameters: Parameters, key: int, step: int) -> Parameters:
        """Return the gradient alone, which needs no logarithms."""
        return _pairwise_gradient(parameters, self._pairs, self._loss, self._symmetric)


def population(
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    dim: int,
    rate: float | Schedule | None = None,
    optimizer: Optimizer | None = None,
    method: StepRule = "sgd",
    tied: bool = True,
    shrinkage: float = 0.0,
    dtype: DTypeLike = np.float32,
) -> Trainer:
    """Return a trainer that uses the exact gradient of the loss over all pairs.

    Parameters
    ----------
    counts
        Co-occurrence counts.
    loss
        `QUARTIC`, `LOGISTIC`, or `contrastive(f⁺, f⁻)`.
    reweighting
        Ψ⁺ and Ψ⁻; by default those of `setting31`. `word2vec_reweighting` gives word2vec's.
    dim
        The dimension d.
    rate
        The learning rate η of W ← W − η∇L: a number, or a `qwem.training.trainer.Schedule`.
    optimizer
        An Optax optimizer, instead of a rate.
    method
        ``"sgd"``, or ``"rk4"``, which follows the gradient flow to fourth order in η and computes
        four gradients per step.
    tied
        Whether W′ = W, as in the paper. An untied model can learn modes of either sign. Its theory
        is that of a signed spectrum, at half the speed; see `closed_form`.
    shrinkage
        α, the amount of shrinkage: α/2 is added to the count of every pair and to its expected
        count. The target is that of `qwem.mstar` with the same `shrinkage`.
    dtype
        float32 or float64, independent of JAX's configuration.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.1)
    >>> state, info = trainer.step(trainer.init(init_scale=0.1))
    >>> state.step, state.time
    (1, 0.2)
    """

    def objective(
        reweighting: Reweighting, weights: PairWeights, dtype: np.dtype[Any]
    ) -> Objective:
        """Return the cheapest exact objective."""
        if loss is QUARTIC and reweighting.is_setting31 and reweighting.is_symmetric:
            target = mstar(counts, reweighting=reweighting, shrinkage=shrinkage, dtype=dtype)
            return QuadraticObjective(target, weights.shared, dtype)
        return PairwiseObjective(weights, loss, dtype)

    return make_trainer(
        objective,
        counts,
        loss,
        reweighting,
        dim=dim,
        rate=rate,
        optimizer=optimizer,
        method=method,
        tied=tied,
        dtype=dtype,
        shrinkage=shrinkage,
        settings={"gradient": "population"},
    )


class _SparseMatrix(NamedTuple):
    """Stored entries in chunks of equal length, and separable terms T diag(term_weights) Tᵀ."""

    rows: jax.Array
    columns: jax.Array
    entries: jax.Array
    terms: jax.Array
    term_weights: jax.Array


def _matrix_on_device(target: Target, dtype: np.dtype[Any]) -> jax.Array | _SparseMatrix:
    if isinstance(target.rest, np.ndarray):
        return jnp.asarray(target.rest.astype(dtype, copy=False))
    rest: Any = target.rest
    row_of = np.repeat(np.arange(rest.shape[0], dtype=np.int32), np.diff(rest.indptr))
    chunks = max(1, -(-rest.nnz // _CHUNK_ENTRIES))
    padding = (0, chunks * _CHUNK_ENTRIES - rest.nnz)
    stored = (row_of, rest.indices.astype(np.int32), rest.data.astype(dtype))
    # Padding repeats the last row, so that rows stay sorted, with entries of zero.
    padded = [np.pad(stored[0], padding, mode="edge"), *(np.pad(x, padding) for x in stored[1:])]
    rows, columns, entries = (jnp.asarray(x.reshape(chunks, _CHUNK_ENTRIES)) for x in padded)
    terms, weights = (jnp.asarray(x.astype(dtype)) for x in (target.terms, target.term_weights))
    return _SparseMatrix(rows, columns, entries, terms, weights)


def _multiply(matrix: jax.Array | _SparseMatrix, block: jax.Array) -> jax.Array:
    if not isinstance(matrix, _SparseMatrix):
        return matrix @ block

    def add(
        total: jax.Array, chunk: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, None]:
        rows, columns, entries = chunk
        return total.at[rows].add(entries[:, None] * block[columns], indices_are_sorted=True), None

    smooth = matrix.terms @ (matrix.term_weights[:, None] * (matrix.terms.T @ block))
    product, _ = jax.lax.scan(add, smooth, (matrix.rows, matrix.columns, matrix.entries))
    return product


@jax.jit
def _quadratic(
    parameters: Parameters, matrix: jax.Array | _SparseMatrix, shared: jax.Array
) -> tuple[jax.Array, Parameters]:
    left, right = parameters[0], parameters[-1]
    u = shared[:, None]
    u_left, u_right = u * left, u * right
    left_gram, right_gram = left.T @ u_left, right.T @ u_right
    pulled = _multiply(matrix, u_right)
    loss = (jnp.vdot(left_gram, right_gram) - 2 * jnp.vdot(u_left, pulled)) / 4
    slope = u_left @ right_gram - u * pulled
    if len(parameters) == 1:
        return loss, (slope,)
    other = u_right @ left_gram - u * _multiply(matrix, u_left)
    return loss, (slope / 2, other / 2)


class _Pairs(NamedTuple):
    """`PairWeights` on the device, with rows assigned to blocks in turn."""

    counts: jax.Array | tuple[jax.Array, jax.Array, jax.Array]
    """C/n: dense blocks, or the row, column and value of entries, padded to equal length."""
    left: jax.Array
    row_shared: jax.Array
    right: jax.Array
    shared: jax.Array
    curvature: tuple[float, float] | None
    evidence: float


def _pair_bytes(weights: PairWeights, dtype: np.dtype[Any]) -> int:
    counts = weights.counts
    if isinstance(counts, np.ndarray):
        return 2 * counts.size * dtype.itemsize
    return 3 * counts.nnz * (dtype.itemsize + 8)


def _in_blocks(rows: NDArray[Any], blocks: int, height: int, fill: float = 0.0) -> NDArray[Any]:
    """Return rows as an array (blocks, height, …), where block k has the rows k, k + blocks, …."""
    padding = [(0, blocks * height - len(rows))] + [(0, 0)] * (rows.ndim - 1)
    padded = np.pad(rows, padding, constant_values=fill)
    return padded.reshape(height, blocks, *rows.shape[1:]).swapaxes(0, 1)


def _blocks_on_device(weights: PairWeights, dtype: np.dtype[Any], block_entries: int) -> _Pairs:
    """Return the pairs in blocks of similar size.

    Frequent words, whose rows have most entries, come first; assigning rows in turn spreads them.
    """
    size = len(weights.left)
    blocks = max(1, -(-size * size // block_entries))
    height = -(-size // blocks)
    counts: Any = weights.counts
    pairs: Any
    if isinstance(counts, np.ndarray):
        shares = np.divide(counts, weights.total, dtype=dtype, casting="same_kind")
        shares += dtype.type(weights.evidence)
        pairs = jnp.asarray(_in_blocks(shares, blocks, height))
    else:
        pairs = _sparse_blocks(counts, weights.total, blocks, height, dtype)
    return _Pairs(
        pairs,
        # Rows of padding have expected counts of 1, which avoids division by zero, and weight 0.
        jnp.asarray(_in_blocks(weights.left, blocks, height, fill=1.0).astype(dtype)),
        jnp.asarray(_in_blocks(weights.shared, blocks, height).astype(dtype)),
        jnp.asarray(weights.right.astype(dtype)),
        jnp.asarray(weights.shared.astype(dtype)),
        weights.curvature,
        weights.evidence,
    )


def _sparse_blocks(
    counts: sparse.csr_array[Any], total: float, blocks: int, height: int, dtype: np.dtype[Any]
) -> tuple[jax.Array, jax.Array, jax.Array]:
    parts = [sparse.coo_array(counts[first::blocks]) for first in range(blocks)]
    longest = max(part.nnz for part in parts)

    def stack(arrays: list[NDArray[Any]], fill: int = 0) -> jax.Array:
        padded = (np.pad(a, (0, longest - len(a)), constant_values=fill) for a in arrays)
        return jnp.asarray(np.stack(list(padded)))

    return (
        stack(
            [part.row.astype(np.int32) for part in parts], fill=height
        ),  # out of range, so dropped
        stack([part.col.astype(np.int32) for part in parts]),
        stack([(part.data / total).astype(dtype) for part in parts]),
    )


@partial(jax.jit, static_argnames=("loss", "symmetric"))
def _pairwise(
    parameters: Parameters, pairs: _Pairs, loss: Loss, symmetric: bool
) -> tuple[jax.Array, Parameters]:
    left, right = parameters[0], parameters[-1]
    blocks, height = pairs.row_shared.shape
    size, dim = left.shape
    padded = jnp.pad(left, ((0, blocks * height - size), (0, 0)))
    rows = padded.reshape(height, blocks, dim).swapaxes(0, 1)
    half = len(parameters) == 1 and symmetric  # D = Dᵀ: both halves of the gradient are equal

    def visit(
        carry: tuple[jax.Array, jax.Array], block: tuple[Any, ...]
    ) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        total, right_gradient = carry
        vectors, counts, expected_left, row_shared = block
        if isinstance(counts, tuple):
            at = jnp.full((height, size), pairs.evidence, left.dtype).at[counts[0], counts[1]]
            counts = at.add(counts[2], mode="drop")
        expected = expected_left @ pairs.right
        scale = row_shared[:, None] * pairs.shared
        if pairs.curvature is not None:
            a, b = pairs.curvature
            scale = scale / (a * counts + b * expected)
        cost, slope = loss.costs(vectors @ right.T, scale * counts, scale * expected)
        if not half:
            right_gradient = right_gradient + slope.T @ vectors
        # A matrix product, since XLA would compute the terms of a sum one by one.
        costs = cost @ jnp.ones(size, left.dtype)
        return (total + costs.sum(), right_gradient), slope @ right

    start = (jnp.zeros((), left.dtype), jnp.zeros_like(right))
    xs = (rows, pairs.counts, pairs.left, pairs.row_shared)
    (total, right_gradient), stacked = jax.lax.scan(visit, start, xs)
    left_gradient = stacked.swapaxes(0, 1).reshape(blocks * height, dim)[:size]
    if len(parameters) == 2:
        return total, (left_gradient, right_gradient)
    return total, (left_gradient + (left_gradient if half else right_gradient),)


@partial(jax.jit, static_argnames=("loss", "symmetric"))
def _pairwise_gradient(
    parameters: Parameters, pairs: _Pairs, loss: Loss, symmetric: bool
) -> Parameters:
    return _pairwise(parameters, pairs, loss, symmetric)[1]  # XLA drops what the loss alone needs


_ITERATIONS = 12
_COLUMNS = 4
_SMALL = 1e-3


def stable_rate(
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    tied: bool = True,
    shrinkage: float = 0.0,
    seed: int = 0,
) -> float:
    """Return a rate η that is stable near W = 0, and for QWEM near its minimum too.

    Near W = 0 the gradient is linear, ∇L = −AW; under Setting 3.1, A = gM*. A step W ← W − η∇L
    multiplies a decaying mode by 1 − η|a|. For the quartic loss under Setting 3.1 the largest
    curvature near the minimum is 2a, so both are stable up to η = 1/max|a|. Half of that is
    returned. Other losses and weightings may be steeper away from W = 0; use a lower rate if the
    loss starts to rise. The eigenvalue a of largest magnitude is found by subspace iteration on
    gradients; it is usually the negative eigenvalue due to unseen pairs.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> rate = stable_rate(counts)  # M* has the eigenvalues −2.0 and −0.1
    >>> round(1 / (2 * rate), 1)
    2.0
    """
    size = len(counts.vocabulary)
    columns = min(_COLUMNS, size)
    trainer = population(
        counts, loss, reweighting, dim=columns, rate=1.0, tied=tied, shrinkage=shrinkage
    )
    sides = 1 if tied else 2
    block = np.random.default_rng(seed).standard_normal((sides * size, columns))
    largest = 0.0
    for _ in range(_ITERATIONS):
        block, _ = np.linalg.qr(block)
        with trainer.precision():
            start = (_SMALL * block).astype(trainer.dtype)
            parameters = tuple(jnp.asarray(side) for side in np.split(start, sides))
            _, gradients = trainer.objective.evaluate(parameters, 0, 0)
        block = np.concatenate([np.asarray(side, dtype=np.float64) for side in gradients]) / _SMALL
        largest = float(np.linalg.svd(block, compute_uv=False)[0])
    return 0.5 / largest
