"""Singular vectors of an embedding, which are its features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.spectrum.selection import fix_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SingularVectors:
    """W = U S Rᵀ in float64, without singular values that are zero up to rounding."""

    left: NDArray[np.float64]
    """U, one column for each feature: how much of it each word has."""
    values: NDArray[np.float64]
    """The diagonal of S, the largest first."""
    right: NDArray[np.float64]
    """Rᵀ, one row for each feature: its direction in the space of the vectors."""

    @property
    def rank(self) -> int:
        """How many features there are."""
        return len(self.values)


def singular_vectors(vectors: NDArray[Any]) -> SingularVectors:
    """Return the singular vectors of W, with the signs that a spectrum would give them.

    Nothing is centred: the features of a trained W are those of WWᵀ, as in the paper.

    >>> found = singular_vectors(np.array([[0.0, -2.0], [0.0, 0.0], [-1.0, 0.0]]))
    >>> found.values, np.abs(found.left).tolist()
    (array([2., 1.]), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    left, values, right = np.linalg.svd(np.asarray(vectors, np.float64), full_matrices=False)
    # Vectors are kept in float32, whose rounding is noise of this size.
    kept = int(np.sum(values > np.finfo(np.float32).eps * values[0]))
    if kept == 0:
        raise SettingError("These vectors are all zero, and have no features.")
    fixed = fix_signs(left[:, :kept])
    turned = np.sign(np.sum(fixed * left[:, :kept], axis=0))
    return SingularVectors(fixed, values[:kept], right[:kept] * turned[:, None])


def principal_axes(embedding: Embedding) -> Embedding:
    """Return an embedding rotated so that its k-th dimension is its k-th feature.

    W becomes WR = US. Lengths and angles stay the same, and the first d dimensions are now the best
    embedding of dimension d, as in a closed form. Dimensions that are zero are left out.

    >>> turned = principal_axes(Embedding(["a", "b"], [[0.0, -3.0], [1.0, 0.0]]))
    >>> np.abs(turned.vectors)
    array([[3., 0.],
           [0., 1.]], dtype=float32)
    """
    found = singular_vectors(embedding.vectors)
    provenance = {**embedding.provenance, "axes": "principal"}
    return Embedding(embedding.vocabulary, found.left * found.values, provenance=provenance)
