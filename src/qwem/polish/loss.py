"""word2vec's loss on the statistics of a whole corpus, with unseen pairs in closed form."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from qwem.errors import ConvergenceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Vector: TypeAlias = NDArray[np.float64]


class Statistics(NamedTuple):
    """The sums on which the loss depends, in addition to the pairs that were seen.

    Each word gives K contexts, one for each side of a directed slot and one for each symmetric slot
    of the counts. Column K·j + k of words × contexts is context k of word j. Passages are contexts
    too, if they were counted, in columns after those of all words.
    """

    word_counts: NDArray[np.int64]
    word_sums: Vector
    """s_i = Σ_c C_ic, the pairs of each word."""
    context_sums: Vector
    """Σ_i C_ic, the pairs of each context."""
    pairs: int
    """The number of different pairs of a word and a context that were seen."""
    kinds: int
    """K, the number of contexts per word."""

    @classmethod
    def of(cls, counts: Cooccurrence) -> Statistics:
        """Return the sums of counts."""
        by_context = []
        for slot, matrix in zip(counts.slots, counts.matrices, strict=True):
            sides = [matrix.column_sums, matrix.row_sums] if slot.directed else [matrix.row_sums]
            by_context += [side.astype(np.float64) for side in sides]
        sums, pairs = counts.pair_sums.astype(np.float64), 0
        for slot, matrix in zip(counts.slots, counts.matrices, strict=True):
            pairs += slot.contexts * matrix.nnz
        contexts = np.stack(by_context, axis=1).ravel()
        if (passages := counts.passages) is not None:
            sums, pairs = sums + passages.word_sums, pairs + passages.nnz
            contexts = np.append(contexts, passages.sums)
        return cls(counts.word_counts, sums, contexts, pairs, len(by_context))

    @property
    def of_words(self) -> slice:
        """The contexts that are words in a slot; the others are passages."""
        return slice(self.kinds * len(self.word_counts))

    @property
    def shares(self) -> Vector:
        """The share of each kind of context in all pairs of words and words."""
        by_kind = self.context_sums[self.of_words].reshape(-1, self.kinds).sum(axis=0)
        return by_kind / by_kind.sum()


@dataclass(frozen=True, eq=False)
class Contexts:
    """The context side of a polished model, which determines the loss of a word's row.

    The symbols are those of `qwem.polish.loss.Word2vecLoss`, of which a row's loss is one term. The
    contexts of a word are adjacent, in the order of words.
    """

    vectors: NDArray[np.float32] = field(repr=False)
    """W′, a row for each context."""
    bias: Vector = field(repr=False)
    """b_c, the logit of independence."""
    noise: Vector = field(repr=False)
    """q_c, the share of each context among the negative samples."""
    negatives: float
    """word2vec's k."""
    evidence: float = 0.0
    """The number of pairs added to each word as evidence of independence."""

    @property
    def probability(self) -> Vector:
        """P_c, the share of each context among all pairs."""
        return np.exp(self.bias) * self.negatives * self.noise

    @cached_property
    def slope(self) -> Vector:
        """σ(b_c), the slope of softplus at independence."""
        return np.exp(-np.logaddexp(0, -self.bias))

    @cached_property
    def curvature(self) -> Vector:
        """σ′(b_c), the curvature of softplus at independence."""
        return self.slope * (1 - self.slope)

    @cached_property
    def gram(self) -> Vector:
        """The curvature of the parabolas of all contexts together, per pair of a word."""
        weights = self.negatives * self.noise * self.curvature
        return (self.vectors.T * weights) @ self.vectors.astype(np.float64)

    @cached_property
    def constant(self) -> Vector:
        """The slope of the parabolas of all contexts together at zero, per pair of a word."""
        return (self.negatives * self.noise * self.slope) @ self.vectors


Side: TypeAlias = Literal["words", "contexts"]


@dataclass(frozen=True, eq=False)
class RowProblem:
    """Weights of the loss for the rows of one side, with the other side fixed.

    `rows` and `columns` are described in `qwem.polish.kernels`. The curvature of all pairs together
    is Σ_j gram_j y_j y_jᵀ, and their slope Σ_j constant_j y_j.
    """

    side: Side
    rows: NDArray[np.float32]
    columns: NDArray[np.float32]
    gram: Vector
    constant: Vector
    weight: Vector
    """The weight of each row's loss in the total loss."""
    means: NDArray[np.float32]
    """The vectors at which the evidence of each row is centred; empty if these are zero."""
    passages_only: bool = False
    """Whether passages take a step, and other contexts none."""

    def kinds(self, number: int) -> Sequence[int]:
        """Return the kinds of contexts, of this number, that take a step; −1 for words."""
        if self.side == "words":
            return (-1,)
        return range(number - 1 if self.passages_only else 0, number)


class Word2vecLoss:
    """L(W, W′) = Σ_ic g_i g_c [C_ic softplus(−x_ic) + N_ic softplus(x_ic)], x_ic = b_c + w_i·w′_c.

    C_ic is how often word i was seen with context c = (j, s), word j in slot s. N_ic = k s_i q_c is
    the count of negative samples, with s_i = Σ_c C_ic. The noise q_c is proportional to a power of
    the count of word j and to the pairs of slot s. A passage is a context too; its noise is
    proportional to the same power of its own count. word2vec's sampling minimizes this loss on
    average (paper, eq. w2v_loss and the appendix on reweighting). b_c = log P_c/(k q_c) is the
    logit of independence, so that words and contexts are independent if W = 0. g is a coupling of
    words (paper, Proposition 3.3), 1 by default; a context has the coupling of its word.

    For pairs that were never seen only N_ic softplus(x_ic) remains. It is replaced by its expansion
    to second order around independence, a parabola in w_i·w′_c. The sum of the parabolas over all
    pairs is given by Gram matrices, so only pairs that were seen are ever visited.

    `evidence` adds to each word that many tokens of text in which it is independent of its
    contexts: a parabola with its minimum at w_i·w′_c = 0 and the curvature of as many negatives.

    The loss is divided by Σ_ic g_i g_c s_i P_c, the weight of all positive pairs if words and
    contexts were independent. The loss of independence is subtracted, so that it is 0.
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
        words, of_words = statistics.word_counts, statistics.of_words
        self.sums = statistics.word_sums
        self.total = float(self.sums.sum())
        self.negatives = negatives
        # A context without pairs would have an infinite logit.
        contexts, seen = (_positive(sums) for sums in (statistics.context_sums, self.sums))
        passages = contexts[of_words.stop :]
        self.passages = len(passages)
        self.noise: Vector = np.append(
            np.outer(_noise(words, exponent), statistics.shares).ravel()
            * (1 - passages.sum() / self.total),
            _noise(passages, exponent) * (passages.sum() / self.total),
        )
        """q_c, the share of each context among the negative samples."""
        self.bias: Vector = np.log(contexts / self.total / (negatives * self.noise))
        """b_c = log P_c/(k q_c), the logit of independence."""
        self.tokens = int(words.sum())
        self.evidence = evidence * self.total / self.tokens
        """Evidence of independence, in pairs instead of tokens."""
        coupling = np.ones(len(words)) if coupling is None else coupling
        self.word_coupling: Vector = coupling / np.average(coupling, weights=seen)
        coupling = np.repeat(coupling, statistics.kinds)
        coupling /= np.average(coupling, weights=contexts[of_words])
        # A passage has the coupling of the average pair.
        self.context_coupling: Vector = np.append(coupling, np.ones(len(passages)))

        # softplus and its first two derivatives at independence
        self.softplus: Vector = np.logaddexp(0, self.bias)
        self.slope: Vector = 1 / (1 + np.exp(-self.bias))
        self.curvature: Vector = self.slope * (1 - self.slope)

    def of_words(
        self, means: NDArray[np.float32] | None = None, evidence: float | None = None
    ) -> RowProblem:
        """Return the problem of the rows of W, given W′.

        The evidence of each word may be centred at its row of `means` instead of zero: then it is
        `evidence` tokens of text in which the word has its expected vector.
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

    def of_passages(self) -> RowProblem:
        """Return the problem of those rows of W′ that are passages, given W."""
        return replace(self.of_contexts(), passages_only=True)

    def contexts(self, vectors: NDArray[np.float32]) -> Contexts:
        """Return the contexts that are words in a slot, given their vectors, without passages."""
        own = slice(len(vectors))
        share = float(self.noise[own].sum())
        return Contexts(
            vectors,
            self.bias[own],
            self.noise[own] / share,
            self.negatives,
            self.evidence * share,
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
            own / (self.sums * self.word_coupling).sum(),
            np.empty((0, 0), np.float32) if means is None else means,
        )


def _noise(counts: NDArray[Any], exponent: float) -> Vector:
    """Return shares that are proportional to a power of counts."""
    powers = (counts / counts.max(initial=0)) ** exponent
    return powers / powers.sum()


def _positive(sums: Vector) -> Vector:
    """Return sums with the smallest positive one in place of zeros."""
    return np.where(sums > 0, sums, sums[sums > 0].min())


_STEPS = 100
_HALVINGS = 30
# The decrease predicted by a Newton step at which to stop, relative to the loss of independence.
_TOLERANCE = 1e-10


def solve_row(
    contexts: Contexts,
    columns: NDArray[Any],
    counts: NDArray[Any],
    *,
    precision: Vector | None = None,
    mean: Vector | None = None,
    evidence: float = 0.0,
    dispersion: float = 1.0,
) -> tuple[Vector, Vector]:
    """Return the word vector that minimizes the loss of one row, and its covariance.

    The loss is the row's part of `Word2vecLoss`, without a coupling: exact terms for pairs that
    were seen, and parabolas, whose sums are known, for the others. It is convex, and Newton's
    method finds its minimum. The negative logarithm of a normal prior is added, such as one with
    the mean and the covariance of the word vectors of a model. So a word that was hardly seen is
    close to the average word, least so in the directions in which words differ most.

    The covariance is H⁻¹ J H⁻¹, with H the curvature of the loss at its minimum and J the variance
    of its slope if pairs are independent events that each count for `dispersion`. It says how the
    vector would vary with other text of the same kind.

    Parameters
    ----------
    contexts
        The fixed side.
    columns, counts
        The contexts that the word was seen with, and how often.
    precision, mean
        The inverse covariance and the mean of the prior; by default there is no prior.
    evidence
        The number of pairs added as evidence of independence, as in `Word2vecLoss`.
    dispersion
        The weight of a pair on average: the mean of squared weights over the mean of weights.
    """
    total, dim = float(counts.sum()), contexts.vectors.shape[1]
    vectors = contexts.vectors[columns].astype(np.float64)
    bias = contexts.bias[columns]
    slope, curvature = contexts.slope[columns], contexts.curvature[columns]
    negative = contexts.negatives * total * contexts.noise[columns]
    both = counts + negative
    # The loss is a negative log-likelihood times the weight of a pair, so the prior is scaled too.
    prior = np.zeros((dim, dim)) if precision is None else dispersion * precision
    centre = np.zeros(dim) if mean is None else mean
    gram = (total + evidence) * contexts.gram + prior
    constant = total * contexts.constant - prior @ centre
    level = np.logaddexp(0, bias)

    def loss_at(row: Vector) -> float:
        z = vectors @ row
        pairs = both * (np.logaddexp(0, bias + z) - level) - counts * z
        pairs -= negative * (slope + curvature * z / 2) * z
        return float(row @ gram @ row / 2 + constant @ row + pairs.sum())

    row = np.zeros(dim)
    loss = 0.0
    scale = float(counts @ level) + total
    for _ in range(_STEPS):
        z = vectors @ row
        sigmoid = _sigmoid(bias + z)
        pull = both * sigmoid - counts - negative * (slope + curvature * z)
        bend = both * sigmoid * (1 - sigmoid) - negative * curvature
        gradient = gram @ row + constant + pull @ vectors
        hessian = gram + (vectors.T * bend) @ vectors
        hessian += 1e-12 * np.trace(hessian) / dim * np.eye(dim)
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step <= _TOLERANCE * scale:
            break
        for halving in range(_HALVINGS):
            moved = row - step / 2**halving
            if (after := loss_at(moved)) < loss:
                break
        else:
            break  # at the minimum up to rounding
        row, loss = moved, after
    else:
        raise ConvergenceError(f"A row's loss was not at its minimum after {_STEPS} steps.")

    # The slope of the loss with respect to the count of each context; more pairs bring more
    # negatives.
    z = vectors @ row
    sigmoid = _sigmoid(bias + z)
    per_pair = contexts.gram @ row + contexts.constant
    ratio = contexts.negatives * contexts.noise[columns]
    per_pair = per_pair + (ratio * (sigmoid - slope - curvature * z)) @ vectors
    scores = vectors * (sigmoid - 1)[:, None] + per_pair
    variance = (scores.T * (dispersion * counts)) @ scores
    inverse = np.linalg.inv(hessian)
    return row, inverse @ variance @ inverse


def _sigmoid(x: Vector) -> Vector:
    return np.exp(-np.logaddexp(0, -x))
