"""Principal axes of vectors: their singular vectors, in blocks of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_NUMBERS = 1 << 20


def principal_axes(
    vectors: NDArray[np.floating[Any]],
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return U and S of W = U S Rᵀ, without singular values that are zero up to rounding.

    They are found from WᵀW, which takes a tenth of the memory of a singular value decomposition.
    Signs are arbitrary.

    >>> left, values = principal_axes(np.array([[0.0, -2.0], [0.0, 0.0], [-1.0, 0.0]]))
    >>> values, np.abs(left).tolist()
    (array([2., 1.]), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    parts = blocks(len(vectors), vectors.shape[1], most=_BLOCK_NUMBERS)
    gram = np.zeros((vectors.shape[1],) * 2)
    for part in parts:
        wide = vectors[part].astype(np.float64)
        gram += wide.T @ wide
    squares, axes = np.linalg.eigh(gram)
    squares, axes = squares[::-1], axes[:, ::-1]
    # Vectors are kept in float32 and products of them in float64: rounding is this large.
    rounding = max(np.finfo(np.float32).eps ** 2, 10 * len(gram) * np.finfo(np.float64).eps)
    kept = int(np.sum(squares > max(rounding * squares[0], 0.0)))
    values = np.sqrt(squares[:kept])
    left = np.empty((len(vectors), kept), dtype=np.float32)
    for part in parts:
        left[part] = vectors[part].astype(np.float64) @ (axes[:, :kept] / values)
    return left, values
