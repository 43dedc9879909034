"""One row solved to its minimum against fixed contexts: the vector of a new word."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qwem.errors import ConvergenceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 30
# The fall of the loss that a Newton step promises, relative to the loss of independence.
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class FixedContexts:
    """The context side of a polished model: all that the problem of one word's row depends on.

    The symbols are those of `qwem.polish.loss.Word2vecLoss`, of which a row's problem is one term.
    """

    vectors: NDArray[Any] = field(repr=False)
    """W′."""
    bias: Vector = field(repr=False)
    """b_j, the logit of independent words."""
    noise: Vector = field(repr=False)
    """q_j, the share of each context among the negative samples."""
    coupling: Vector = field(repr=False)
    """g_j, the weight of each context; its scale does not matter."""
    negatives: float
    precision: Vector = field(repr=False)
    """The inverse of the covariance of word vectors: what is known of a word before it is seen."""
    centre: Vector = field(repr=False)
    """The vector of an average word."""

    @cached_property
    def _slope(self) -> Vector:
        return _sigmoid(self.bias)

    @cached_property
    def _curvature(self) -> Vector:
        return self._slope * (1 - self._slope)

    @cached_property
    def _gram(self) -> Vector:
        weights = self.negatives * self.coupling * self.noise * self._curvature
        return (self.vectors.T * weights) @ self.vectors.astype(np.float64)

    @cached_property
    def _constant(self) -> Vector:
        return (self.negatives * self.coupling * self.noise * self._slope) @ self.vectors


class SolvedRow(NamedTuple):
    """The minimum of a row's loss, and how it would vary with other text of the same kind."""

    vector: Vector
    covariance: Vector


def solve_row(
    contexts: FixedContexts,
    columns: NDArray[Any],
    counts: NDArray[Any],
    dispersion: float = 1.0,
    *,
    prior: float = 1.0,
    evidence: float = 0.0,
) -> SolvedRow:
    """Return the word vector that minimizes the loss of one row, by Newton's method.

    The loss is the row's part of `Word2vecLoss`: pairs that were seen with their exact term, the
    others with parabolas, whose sums are known. It is convex. Added to it is the logarithm of a
    normal prior, with the mean and the covariance of the word vectors of the model. So a word
    hardly seen is an average word, and it is drawn there least in the directions in which words
    differ most.

    The covariance is H⁻¹ J H⁻¹, with H the curvature of the loss at its minimum and J the variance
    of its slope, where pairs are independent events that each count for `dispersion`.

    Parameters
    ----------
    contexts
        The fixed side.
    columns, counts
        The contexts that the word was seen with, and how often.
    dispersion
        What a pair counts for on average: the mean of squared weights over the mean of weights.
    prior
        The weight of the prior.
    evidence
        How many pairs of independence are added, as `Word2vecLoss` adds them to each of its rows.
    """
    total = float(counts.sum())
    vectors = contexts.vectors[columns].astype(np.float64)
    weights, bias = contexts.coupling[columns], contexts.bias[columns]
    slope, curvature = contexts._slope[columns], contexts._curvature[columns]
    negative = contexts.negatives * total * contexts.noise[columns]
    both = counts + negative
    # The loss is as many times a logarithm as pairs count for.
    precision = prior * dispersion * contexts.precision
    gram = (total + evidence) * contexts._gram + precision
    constant = total * contexts._constant - precision @ contexts.centre
    level = np.logaddexp(0, bias)

    def loss_at(row: Vector) -> float:
        z = vectors @ row
        pairs = both * (np.logaddexp(0, bias + z) - level) - counts * z
        pairs -= negative * (slope + curvature * z / 2) * z
        return float(row @ gram @ row / 2 + constant @ row + weights @ pairs)

    row = np.zeros(vectors.shape[1])
    loss = 0.0
    scale = float(weights @ (counts * level)) + total
    for _ in range(_STEPS):
        z = vectors @ row
        sigmoid = _sigmoid(bias + z)
        pull = weights * (both * sigmoid - counts - negative * (slope + curvature * z))
        bend = weights * (both * sigmoid * (1 - sigmoid) - negative * curvature)
        gradient = gram @ row + constant + pull @ vectors
        hessian = gram + (vectors.T * bend) @ vectors
        hessian += 1e-12 * np.trace(hessian) / len(row) * np.eye(len(row))
        step = np.linalg.solve(hessian, gradient)
        if gradient @ step <= _TOLERANCE * scale:
            break
        for halving in range(_HALVINGS):
            moved = row - step / 2**halving
            if (after := loss_at(moved)) < loss:
                break
        else:
            break  # rounding: there is nowhere lower
        row, loss = moved, after
    else:
        raise ConvergenceError(f"A row's loss was not at its minimum after {_STEPS} steps.")

    # The slope of the loss with respect to the count of each context; more pairs bring more
    # negatives.
    z = vectors @ row
    sigmoid = _sigmoid(bias + z)
    per_pair = contexts._gram @ row + contexts._constant
    ratio = contexts.negatives * contexts.noise[columns]
    per_pair = per_pair + (weights * ratio * (sigmoid - slope - curvature * z)) @ vectors
    scores = vectors * (weights * (sigmoid - 1))[:, None] + per_pair
    variance = (scores.T * (dispersion * counts)) @ scores
    inverse = np.linalg.inv(hessian)
    return SolvedRow(row, inverse @ variance @ inverse)


def _sigmoid(x: Vector) -> Vector:
    return np.exp(-np.logaddexp(0, -x))
