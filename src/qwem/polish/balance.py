"""Balance: of all factors with the same products, those in which both sides share the scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from qwem.polish.sweep import gram, transformed, weighted_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]


class Balanced(NamedTuple):
    """Factors W and W′ of the products (w_i + centre)·w′_c."""

    word: Matrix
    context: Matrix
    centre: Matrix
    """The mean word vector that was taken out of W."""
    transform: Vector
    """A, by which word vectors were multiplied."""


def balanced(
    word: Matrix,
    context: Matrix,
    word_weights: Vector,
    context_weights: Vector,
) -> Balanced:
    """Return W A and W′ A⁻¹ with A symmetric and equal Gram matrices of the weighted rows.

    A² is the geometric mean of the inverse of the first Gram matrix and of the second. Unlike
    singular vectors it is smooth: there are no signs and no rotations within equal singular values
    to choose. Then the weighted mean of the word vectors is taken out of W: its products with the
    contexts are the same for every word.
    """
    first, second = gram(word, word_weights), gram(context, context_weights)
    root, inverse = _power(first, 0.5), _power(first, -0.5)
    squared = inverse @ _power(root @ second @ root, 0.5) @ inverse
    transform = _power(squared, 0.5)
    word = transformed(word, transform)
    context = transformed(context, _power(squared, -0.5))
    mean = (weighted_sum(word, word_weights) / word_weights.sum()).astype(np.float32)
    return Balanced(word - mean, context, mean, transform)


def _power(matrix: Vector, exponent: float) -> Vector:
    """Return a power of a symmetric, positive definite matrix."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values = np.maximum(values, values[-1] * np.finfo(np.float64).eps)
    return (vectors * values**exponent) @ vectors.T
