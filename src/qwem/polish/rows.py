"""One row solved to its minimum against fixed contexts: the vector of a new word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qwem.errors import ConvergenceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.polish.contexts import Contexts

    Vector: TypeAlias = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 30
# The fall of the loss that a Newton step promises, relative to the loss of independence.
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

    The loss is the row's part of `Word2vecLoss`, without a coupling: pairs that were seen with
    their exact term, the others with parabolas, whose sums are known. It is convex, and Newton's
    method finds its minimum. Added to it is the logarithm of a normal prior, such as the mean and
    the covariance of the word vectors of a model. So a word hardly seen is an average word, and it
    is drawn there least in the directions in which words differ most.

    The covariance is H⁻¹ J H⁻¹, with H the curvature of the loss at its minimum and J the variance
    of its slope, where pairs are independent events that each count for `dispersion`: how the
    vector would vary with other text of the same kind.

    Parameters
    ----------
    contexts
        The fixed side.
    columns, counts
        The contexts that the word was seen with, and how often.
    precision, mean
        The prior: the inverse of its covariance, and its mean; by default none, and zero.
    evidence
        How many pairs of independence are added, as `Word2vecLoss` adds them to each of its rows.
    dispersion
        What a pair counts for on average: the mean of squared weights over the mean of weights.
    """
    total, dim = float(counts.sum()), contexts.vectors.shape[1]
    vectors = contexts.vectors[columns].astype(np.float64)
    bias = contexts.bias[columns]
    slope, curvature = contexts.slope[columns], contexts.curvature[columns]
    negative = contexts.negatives * total * contexts.noise[columns]
    both = counts + negative
    # The loss is as many times a logarithm as pairs count for.
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
            break  # rounding: there is nowhere lower
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
