"""word2vec's loss on the statistics of a whole corpus, with its gradient and its curvature."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qwem._internal.blocks import blocks
from qwem._internal.resources import thread_count
from qwem.cooccurrence import acceptance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

TILE_ENTRIES, TILE_ROWS = 1 << 22, 256
"""Logits that are held at a time, if they make this many rows: fewer are slow to multiply."""

BLOCK_ROWS = 64
"""Rows that a thread works on at a time; fixed, so that sums don't depend on the threads."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The loss, and for each side (W and W′, or W alone) its gradient and each row's curvature."""

    loss: float
    gradients: tuple[Matrix, ...]
    curvatures: tuple[Vector, ...]
    """Σ (C + N) σ′ over the pairs of each row, on the scale of the gradients."""
    total: float
    """ΣC, by which the loss is divided and the gradients are not."""

    def slope(self, directions: Sequence[Matrix]) -> float:
        """Return how fast the loss falls along −directions."""
        products = zip(self.gradients, directions, strict=True)
        inner = sum(float(np.sum(g * d, dtype=np.float64)) for g, d in products)
        return inner / self.total


class Word2vecLoss:
    """L(W, W′) = Σ_ij [C_ij log(1 + e^{−w_i·w′_j}) + N_ij log(1 + e^{w_i·w′_j})] / ΣC.

    C_ij are the counts, times the acceptances of both words where they are yet to be subsampled;
    N_ij = k q_j Σ_j′ C_ij′ with q_j in proportion to a power of the word counts (paper, appendix
    on reweighting hyperparameters). Logits exist for one tile of rows at a time.

    `shrinkage` adds to every pair of words as much evidence that they are independent: α σ(x_j) to
    C_ij and α σ(−x_j) to N_ij (subsampled as the counts are), x_j being the logit of independent
    words. `coupling` weighs pair ij by g_i g_j, as the target of a rank-one coupling does.
    """

    def __init__(
        self,
        counts: Cooccurrence,
        *,
        negatives: float,
        exponent: float,
        subsample: float | None = None,
        shrinkage: float = 0.0,
        coupling: Vector | None = None,
        tied: bool = False,
        threads: int | None = None,
        tile_rows: int | None = None,
    ) -> None:
        self.matrix: Any = counts.pair_counts.matrix
        size = len(counts.vocabulary)
        self.tied = tied
        self.threads = thread_count(threads)
        self.tile_rows = tile_rows or max(TILE_ROWS, TILE_ENTRIES // size)
        if subsample is None:
            accepted = np.ones(size)
            sums = counts.pair_counts.row_sums.astype(np.float64)
        else:
            accepted = acceptance(counts.word_counts, subsample)
            products = [self.matrix[tile] @ accepted for tile in blocks(size, most=self.tile_rows)]
            sums = accepted * np.concatenate(products)
        self.total = float(sums.sum())
        words = accepted * counts.word_counts
        powers = (words / words.max()) ** exponent
        noise = powers / powers.sum()
        # A word that was never seen beside another would be infinitely far from independence.
        seen = np.where(sums > 0, sums, sums[sums > 0].min())
        self.independent: Vector = np.log(seen / self.total / (negatives * noise))
        """log P_j/(k q_j): the logit that the loss wants for pairs of independent words."""
        agreed = 1 / (1 + np.exp(-self.independent))
        evidence = shrinkage * accepted * np.stack([agreed, 1 - agreed])
        left = np.stack([accepted, negatives * sums], axis=1)
        right = np.stack([accepted, noise, *evidence])
        weight = np.ones(size) if coupling is None else coupling / coupling.mean()
        self.left = (left * weight[:, None]).astype(np.float32)
        self.right = (right * weight).astype(np.float32)

    def __call__(self, sides: Sequence[Matrix]) -> Evaluation:
        """Evaluate the loss at W and W′ (or at W alone, where tied)."""
        word, context = sides[0], sides[-1]
        size = len(word)
        losses, rows, columns = np.empty(size), np.empty(size), np.zeros(size)
        word_gradient, context_gradient = np.empty_like(word), np.zeros_like(context)
        # A step that is far too long overflows; its loss is not finite then, and it is refused.
        with ThreadPoolExecutor(self.threads) as pool, np.errstate(over="ignore", invalid="ignore"):
            for tile in blocks(size, most=self.tile_rows):
                logits = word[tile] @ context.T
                starts = range(tile.start, tile.stop, BLOCK_ROWS)
                shares = [slice(at, min(at + BLOCK_ROWS, tile.stop)) for at in starts]
                parts = [logits[share.start - tile.start :][:BLOCK_ROWS] for share in shares]
                work = partial(self._to_slopes, losses=losses, curvature=rows)
                for curvature in pool.map(work, shares, parts):
                    columns += curvature
                np.matmul(logits, context, out=word_gradient[tile])
                context_gradient += logits.T @ word[tile]
        loss = math.fsum(losses) / self.total if np.all(np.isfinite(losses)) else math.inf
        if self.tied:
            gradients: tuple[Matrix, ...] = (word_gradient + context_gradient,)
            return Evaluation(loss, gradients, (rows + columns,), self.total)
        return Evaluation(loss, (word_gradient, context_gradient), (rows, columns), self.total)

    def _to_slopes(self, block: slice, logits: Matrix, losses: Vector, curvature: Vector) -> Vector:
        """Turn some rows of logits into slopes, in place; return the curvature of the columns."""
        from qwem.polish.kernels import slopes_dense, slopes_sparse

        columns = np.zeros(logits.shape[1])
        rest = self.left[block], self.right, losses[block], curvature[block], columns
        if isinstance(self.matrix, np.ndarray):
            slopes_dense(logits, self.matrix[block], *rest)
        else:
            indptr = self.matrix.indptr[block.start : block.stop + 1]
            slopes_sparse(logits, indptr, self.matrix.indices, self.matrix.data, *rest)
        return columns
