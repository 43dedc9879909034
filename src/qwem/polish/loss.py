"""word2vec's loss on the statistics of a whole corpus, with unseen pairs in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.polish.contexts import Statistics

    Vector: TypeAlias = NDArray[np.float64]

Side: TypeAlias = Literal["words", "contexts"]


@dataclass(frozen=True, eq=False)
class RowProblem:
    """Weights of the loss as seen by the rows of one side, the other side being fixed.

    `rows` and `columns` are what `qwem.polish.kernels` says. The curvature of all pairs together is
    Σ_j gram_j y_j y_jᵀ, and their slope Σ_j constant_j y_j.
    """

    side: Side
    rows: NDArray[np.float32]
    columns: NDArray[np.float32]
    gram: Vector
    constant: Vector
    weight: Vector
    """The weight of each row's loss in the loss of all."""
    means: NDArray[np.float32]
    """What the evidence of each row is centred at; without rows where that is zero."""


class Word2vecLoss:
    """L(W, W′) = Σ_ic g_i g_c [C_ic softplus(−x_ic) + N_ic softplus(x_ic)], x_ic = b_c + w_i·w′_c.

    C_ic is how often word i was seen with context c = (j, s), word j in slot s. N_ic = k s_i q_c
    are the counts of negative samples, with s_i = Σ_c C_ic. The noise q_c is in proportion to a
    power of the count of word j and to the pairs of slot s. That is what word2vec's sampling
    minimizes on average (paper, eq. w2v_loss and the appendix on reweighting). b_c = log P_c/(k
    q_c) is the logit of independence, so that W = 0 says that words and contexts are independent.
    g is a coupling of words (paper, Proposition 3.3), 1 by default; that of a context is its
    word's.

    Pairs that were never seen have N_ic softplus(x_ic) alone. It is replaced by its expansion to
    second order around independence, a parabola in w_i·w′_c. The sum of a parabola over all pairs
    is made of Gram matrices, so only pairs that were seen are ever visited.

    `evidence` adds to each word that many tokens of text in which it is independent of its
    contexts: a parabola with its minimum at w_i·w′_c = 0, as wide as that of so many negatives.

    The loss is divided by Σ_ic g_i g_c s_i P_c, the weight of all positive pairs if words and
    contexts were independent, and that of independence is taken off: it is 0.
    """

    def __init__(
        self,
        statistics: Statistics,
        *,
        negatives: float,
        exponent: float,
        evidence: float = 0.0,
        coupling: Vector | None = None,
    ) -> None:
        words, shares = statistics.word_counts, statistics.shares
        self.sums = statistics.word_sums
        self.total = float(self.sums.sum())
        self.negatives = negatives
        powers = (words / words.max()) ** exponent
        self.noise: Vector = np.outer(powers / powers.sum(), shares).ravel()
        """q_c, the share of each context among the negative samples."""
        # A word that was never seen beside another would be infinitely far from independence.
        contexts, seen = (_positive(sums) for sums in (statistics.context_sums, self.sums))
        self.bias: Vector = np.log(contexts / self.total / (negatives * self.noise))
        """b_c = log P_c/(k q_c), the logit of independence."""
        self.tokens = int(words.sum())
        self.evidence = evidence * self.total / self.tokens
        """Evidence of independence in pairs instead of tokens."""
        coupling = np.ones(len(words)) if coupling is None else coupling
        self.word_coupling: Vector = coupling / (coupling @ seen / seen.sum())
        coupling = np.repeat(coupling, len(shares))
        self.context_coupling: Vector = coupling / (coupling @ contexts / contexts.sum())

        # softplus and its first two derivatives at independence
        self.softplus: Vector = np.logaddexp(0, self.bias)
        self.slope: Vector = 1 / (1 + np.exp(-self.bias))
        self.curvature: Vector = self.slope * (1 - self.slope)

    def of_words(
        self, means: NDArray[np.float32] | None = None, evidence: float | None = None
    ) -> RowProblem:
        """Return the problem of the rows of W, given W′.

        The evidence of each word may be centred at one of the `means` instead of zero: then it is
        `evidence` tokens of text in which the word is what it is expected to be.
        """
        zero, k = np.zeros_like(self.sums), self.negatives
        sums, noise = k * self.sums, self.noise * self.context_coupling
        pairs = self.evidence if evidence is None else evidence * self.total / self.tokens
        added = k * pairs + zero
        return self._problem(
            "words",
            (sums, sums, sums, zero, zero, sums + added, sums, added),
            (noise, noise * self.slope, noise * self.curvature, self.bias, self.softplus),
            noise * self.curvature,
            noise * self.slope,
            means,
        )

    def of_contexts(self) -> RowProblem:
        """Return the problem of the rows of W′, given W."""
        zero, noise = np.zeros_like(self.sums), self.negatives * self.noise
        sums = self.sums * self.word_coupling
        slope, curvature = noise * self.slope, noise * self.curvature
        return self._problem(
            "contexts",
            (noise, slope, curvature, self.bias, self.softplus, curvature, slope, 0 * noise),
            (sums, sums, sums, zero, zero),
            sums + self.evidence * self.word_coupling,
            sums,
        )

    def _problem(
        self,
        side: Side,
        rows: tuple[Vector, ...],
        columns: tuple[Vector, ...],
        gram: Vector,
        constant: Vector,
        means: NDArray[np.float32] | None = None,
    ) -> RowProblem:
        own, other = self.word_coupling, self.context_coupling
        if side == "contexts":
            own, other = other, own
        return RowProblem(
            side,
            np.stack(rows, axis=1).astype(np.float32),
            np.stack((other, *columns), axis=1).astype(np.float32),
            gram,
            constant,
            own / (self.sums @ self.word_coupling),
            np.empty((0, 0), np.float32) if means is None else means,
        )


def _positive(sums: Vector) -> Vector:
    """Return sums with the smallest positive one in place of zeros."""
    return np.where(sums > 0, sums, sums[sums > 0].min())
