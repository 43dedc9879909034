"""Lengths of vectors, and vectors scaled to length one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.blocks import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORTEST, LONGEST = 1e-30, 1e30
"""Vectors outside these lengths would leave the range of float32 when scaled to length one."""

_BLOCK_NUMBERS = 1 << 20


def row_norms(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the Euclidean lengths of the rows, zero for those shorter than `SHORTEST`."""
    lengths = np.empty(len(vectors))
    for rows in blocks(len(vectors), vectors.shape[1], most=_BLOCK_NUMBERS):
        wide = vectors[rows].astype(np.float64)
        lengths[rows] = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    lengths[lengths < SHORTEST] = 0.0
    return lengths


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rows scaled to length one, zero rows left zero."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = row_norms(wide)[:, None]
    return np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0)
