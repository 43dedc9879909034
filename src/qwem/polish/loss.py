"""word2vec's loss on the statistics of a whole corpus, with unseen pairs in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Vector: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowProblem:
    """Weights of the loss as seen by the rows of one side, the other side being fixed.

    `rows` and `columns` are what `qwem.polish.kernels` says. The curvature of all pairs together is
    Σ_j gram_j y_j y_jᵀ, and their slope Σ_j constant_j y_j.
    """

    rows: NDArray[np.float32]
    columns: NDArray[np.float32]
    gram: Vector
    constant: Vector
    weight: Vector
    """The weight of each row's loss in the loss of all."""


class Word2vecLoss:
    """L(W, W′) = Σ_ij g_i g_j [C_ij softplus(−x_ij) + N_ij softplus(x_ij)], x_ij = b_j + w_i·w′_j.

    C_ij are the counts, and N_ij = k s_i q_j those of negative samples, with s_i = Σ_j C_ij and q_j
    in proportion to a power of the word counts: what word2vec's sampling minimizes on average
    (paper, eq. w2v_loss and the appendix on reweighting). b_j = log P_j/(k q_j) is the logit of
    independent words, so that W = 0 says that words are independent. g is a coupling (paper,
    Proposition 3.3), 1 by default.

    Pairs that were never seen have N_ij softplus(x_ij) alone. It is replaced by its expansion to
    second order around independence, a parabola in w_i·w′_j. The sum of a parabola over all pairs
    is made of Gram matrices, so only pairs that were seen are ever visited.

    `evidence` adds to each word that many tokens of text in which it is independent of its
    neighbours: a parabola with its minimum at w_i·w′_j = 0, as wide as that of so many negatives.

    The loss is divided by Σ_ij g_i g_j s_i P_j, the weight of all positive pairs if words were
    independent, and that of independent words is taken off: theirs is 0.
    """

    def __init__(
        self,
        counts: Cooccurrence,
        *,
        negatives: float,
        exponent: float,
        evidence: float = 0.0,
        coupling: Vector | None = None,
    ) -> None:
        self.sums: Vector = counts.pair_counts.row_sums.astype(np.float64)
        self.total = float(self.sums.sum())
        self.negatives = negatives
        powers = (counts.word_counts / counts.word_counts.max()) ** exponent
        self.noise: Vector = powers / powers.sum()
        # A word that was never seen beside another would be infinitely far from independence.
        seen = np.where(self.sums > 0, self.sums, self.sums[self.sums > 0].min())
        self.bias: Vector = np.log(seen / self.total / (negatives * self.noise))
        """b_j = log P_j/(k q_j), the logit of independent words."""
        self.evidence = evidence * self.total / counts.word_counts.sum()
        """Evidence of independence in pairs instead of tokens."""
        coupling = np.ones(len(self.sums)) if coupling is None else coupling
        self.coupling: Vector = coupling / (coupling @ seen / seen.sum())

        # softplus and its first two derivatives at independence
        self.softplus: Vector = np.logaddexp(0, self.bias)
        self.slope: Vector = 1 / (1 + np.exp(-self.bias))
        self.curvature: Vector = self.slope * (1 - self.slope)

    def of_words(self) -> RowProblem:
        """Return the problem of the rows of W, given W′."""
        zero, k = np.zeros_like(self.sums), self.negatives
        sums, noise = k * self.sums, self.noise * self.coupling
        return self._problem(
            (sums, sums, sums, zero, zero, sums + k * self.evidence, sums),
            (noise, noise * self.slope, noise * self.curvature, self.bias, self.softplus),
            noise * self.curvature,
            noise * self.slope,
        )

    def of_contexts(self) -> RowProblem:
        """Return the problem of the rows of W′, given W."""
        zero, noise = np.zeros_like(self.sums), self.negatives * self.noise
        sums = self.sums * self.coupling
        slope, curvature = noise * self.slope, noise * self.curvature
        return self._problem(
            (noise, slope, curvature, self.bias, self.softplus, curvature, slope),
            (sums, sums, sums, zero, zero),
            sums + self.evidence * self.coupling,
            sums,
        )

    def _problem(
        self, rows: tuple[Vector, ...], columns: tuple[Vector, ...], gram: Vector, constant: Vector
    ) -> RowProblem:
        return RowProblem(
            np.stack(rows, axis=1).astype(np.float32),
            np.stack((self.coupling, *columns), axis=1).astype(np.float32),
            gram,
            constant,
            self.coupling / (self.sums @ self.coupling),
        )
