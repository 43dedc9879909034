"""Arrays: lengths of vectors, principal axes, checks of sparse matrices, the type of token ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import blocks, stored_blocks

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


def check_csr(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    size: int,
    columns: int | None = None,
) -> None:
    """Raise `ValueError` unless these are a CSR matrix with sorted, distinct columns.

    It has `size` rows, and as many columns unless that is said.
    """
    width = size if columns is None else columns
    if not (indptr.dtype.kind == indices.dtype.kind == "i" and indptr.ndim == indices.ndim == 1):
        raise ValueError("the indices of a sparse matrix are not integers")
    if len(indptr) != size + 1 or indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError("the rows of a sparse matrix are not in order")
    if not int(indptr[-1]) == len(indices) == len(data) or data.ndim != 1:
        raise ValueError("a sparse matrix has more or fewer entries than its rows")
    for rows in stored_blocks(indptr):
        ends = indptr[rows.start : rows.stop + 1]
        found = indices[ends[0] : ends[-1]]
        if not found.size:
            continue
        ascending = np.ones(len(found), bool)
        ascending[1:] = found[1:] > found[:-1]
        starts = (ends[:-1] - ends[0])[ends[:-1] < ends[-1]]
        ascending[starts] = True
        if found.min() < 0 or found.max() >= width or not ascending.all():
            raise ValueError("the columns of a sparse matrix are out of range or out of order")


def id_dtype(ids: int) -> np.dtype[Any]:
    """Return the type of token ids below `ids`."""
    return np.dtype("<u2" if ids <= 1 << 16 else "<u4")
