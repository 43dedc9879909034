"""Sparse matrices put together by several threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

Piece = tuple["NDArray[Any]", "NDArray[Any]"]
"""The columns and values of a run of rows."""


def cut_evenly(ends: NDArray[Any], pieces: int) -> list[tuple[int, int]]:
    """Cut rows into about `pieces` runs of as many elements, given where the rows end."""
    marks = np.linspace(0, int(ends[-1]), pieces + 1)[1:-1]
    cuts = np.unique(np.concatenate(([0], np.searchsorted(ends, marks), [len(ends) - 1])))
    return [(int(a), int(b)) for a, b in pairwise(cuts)]


def row_ends(lengths: NDArray[Any]) -> NDArray[Any]:
    """Return where the rows of a CSR matrix begin and end, in the smallest type SciPy takes."""
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return ends.astype(np.int32 if ends[-1] < 2**31 else np.int64)


def join_rows(pieces: list[Piece], lengths: NDArray[np.int64], width: int) -> sparse.csr_array:
    """Make one CSR matrix of runs of its rows, in order."""
    indptr = row_ends(lengths)
    columns = np.concatenate([columns for columns, _ in pieces]).astype(indptr.dtype, copy=False)
    values = np.concatenate([values for _, values in pieces])
    return sparse.csr_array((values, columns, indptr), shape=(len(lengths), width))


def compress(matrix: NDArray[Any], threads: int) -> sparse.csr_array:
    """Return a dense matrix as CSR; SciPy's own way takes several times the memory and time."""
    from qwem.cooccurrence import kernels

    size = len(matrix)
    with ThreadPoolExecutor(threads) as pool:
        stored = pool.map(lambda i: np.count_nonzero(matrix[i]), range(size))
        indptr = row_ends(np.fromiter(stored, np.int64, size))
        columns, values = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], matrix.dtype)
        list(
            pool.map(
                lambda run: kernels.compress_rows(matrix, *run, indptr, columns, values),
                cut_evenly(np.arange(size + 1), 4 * threads),
            )
        )
    return sparse.csr_array((values, columns, indptr), shape=matrix.shape)


def assemble(
    head: NDArray[Any], below: sparse.csr_array, pool: ThreadPoolExecutor, threads: int
) -> sparse.csr_array:
    """Return the symmetric matrix whose first rows and columns are `head` and whose rows after
    those are, up to the diagonal, `below`.

    A row of the result is what `head` or `below` has of it, then what `below` has of its column:
    nothing needs sorting or merging.
    """
    from qwem.cooccurrence import kernels

    first, size = len(head), below.shape[1]
    parts = cut_evenly(below.indptr, threads)
    found = np.zeros((len(parts), size), np.int64)
    rows = (below.indptr, below.indices)
    list(
        pool.map(
            lambda k: kernels.count_transposed(*rows, *parts[k], first, found[k]),
            range(len(parts)),
        )
    )
    own = np.concatenate((np.count_nonzero(head, axis=1), np.diff(below.indptr)))
    indptr = row_ends(own + found.sum(axis=0))
    free = indptr[:-1] + own + np.cumsum(found, axis=0) - found
    columns, values = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], head.dtype)
    result = (columns, values)
    list(
        pool.map(
            lambda run: kernels.compress_rows(head, *run, indptr, *result),
            cut_evenly(np.arange(first + 1), 4 * threads),
        )
    )
    list(
        pool.map(
            lambda k: kernels.place_below(
                *rows, below.data, *parts[k], first, indptr, free[k], *result
            ),
            range(len(parts)),
        )
    )
    return sparse.csr_array((values, columns, indptr), shape=(size, size))
