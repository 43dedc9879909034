"""Check of sparse matrices from outside, whose indices compiled code relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import stored_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
