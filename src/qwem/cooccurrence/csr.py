"""Assembly of sparse matrices by several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal.blocks import cut_evenly, for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from numpy.typing import NDArray

_COLUMN_BLOCKS = 32


class Rows(NamedTuple):
    """Sparse rows with room between them: row r has `lengths[r]` entries from `starts[r]` on."""

    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[Any]

    @classmethod
    def with_room(cls, rows: int, entries: int, dtype: np.dtype[Any]) -> Rows:
        """Return empty rows with room for so many entries, which takes memory only as it fills."""
        zeros = np.zeros((2, rows), np.int64)
        return cls(zeros[0], zeros[1], np.empty(entries, np.int32), np.empty(entries, dtype))


def row_ends(lengths: NDArray[Any]) -> NDArray[Any]:
    """Return where the rows of a CSR matrix begin and end, in the smallest type SciPy takes."""
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    return ends.astype(np.int32 if ends[-1] < 2**31 else np.int64)


def compress(matrix: NDArray[Any], threads: int) -> sparse.csr_array:
    """Return a dense matrix as CSR; SciPy's own way takes several times the memory and time."""
    from qwem.cooccurrence import kernels

    runs = cut_evenly(np.arange(len(matrix) + 1), 4 * threads)
    lengths = np.zeros(len(matrix), np.int64)
    for_each(lambda run: kernels.count_entries(matrix, *run, lengths), runs, threads)
    indptr = row_ends(lengths)
    columns, values = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], matrix.dtype)
    places = indptr[:-1], indptr[1:]
    for_each(
        lambda run: kernels.compress_rows(matrix, *run, *places, columns, values), runs, threads
    )
    return sparse.csr_array((values, columns, indptr), shape=matrix.shape)


def assemble(
    head: NDArray[Any], below: Rows, pool: ThreadPoolExecutor, threads: int
) -> sparse.csr_array:
    """Return the symmetric matrix whose first rows and columns are `head` and whose rows after
    those are, up to the diagonal, `below`.

    A row of the result is what `head` or `below` has of it, then what `below` has of its column:
    nothing needs sorting or merging.
    """
    from qwem.cooccurrence import kernels

    first, size = len(head), len(head) + len(below.starts)

    def run(work: Callable[[Any], None], items: Sequence[Any]) -> None:
        list(pool.map(work, items))

    parts = cut_evenly(np.concatenate(([0], np.cumsum(below.lengths))), 4 * threads)
    found = np.zeros((len(parts), size), np.int64)
    run(
        lambda k: kernels.count_transposed(*below[:3], first, *parts[k], found[k]),
        range(len(parts)),
    )
    transposed = found.sum(axis=0)
    own = np.concatenate((np.count_nonzero(head, axis=1), below.lengths))
    indptr = row_ends(own + transposed)
    free = indptr[:-1] + own
    result = np.empty(indptr[-1], indptr.dtype), np.empty(indptr[-1], head.dtype)
    run(
        lambda rows: kernels.compress_rows(head, *rows, indptr[:-1], free, *result),
        cut_evenly(np.arange(first + 1), 4 * threads),
    )
    run(lambda rows: kernels.place_rows(*below, first, *rows, indptr, *result), parts)
    run(
        lambda columns: kernels.place_columns(*below, first, *columns, free, *result),
        cut_evenly(np.concatenate(([0], np.cumsum(transposed))), _COLUMN_BLOCKS),
    )
    matrix = sparse.csr_array((result[1], result[0], indptr), shape=(size, size))
    matrix.has_canonical_format = True
    return matrix
