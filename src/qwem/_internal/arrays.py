"""Arrays: blocks of rows on several threads, lengths and cosines, principal axes, checks."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qwem._internal.resources import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse


Item = TypeVar("Item")
Result = TypeVar("Result")

ENTRIES = 1 << 19
"""Default size of a block in entries: small enough for a cache, large enough to be worth a call."""

LEAST_ENTRIES = 1 << 14
"""Work on fewer entries takes less time than starting a thread for it."""


def blocks(count: int, each: int = 1, *, most: int = ENTRIES) -> list[slice]:
    """Return slices that cover `count` items of size `each`, of total size at most `most` each.

    A slice has at least one item, even if that item alone is larger than `most`.

    >>> blocks(5, each=10, most=25)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, most // max(1, each))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def even_cuts(start: int, stop: int, count: int) -> NDArray[np.int64]:
    """Return the `count` + 1 bounds that cut a range into equal blocks.

    >>> even_cuts(0, 10, 3).tolist()
    [0, 3, 6, 10]
    """
    return np.linspace(start, stop, count + 1).astype(np.int64)


def ends_of(lengths: ArrayLike) -> NDArray[Any]:
    """Return where rows of these lengths begin and end, one after the other: 0 and running sums.

    >>> ends_of(np.array([5, 1, 2])).tolist()
    [0, 5, 6, 8]
    """
    return np.concatenate(([0], np.cumsum(lengths)))


def cut_evenly(ends: NDArray[Any], count: int) -> list[tuple[int, int]]:
    """Cut rows into at most `count` blocks with about equally many entries.

    Row r has the entries from ``ends[r]`` up to ``ends[r + 1]``, as in a CSR matrix. Each block is
    a pair: its first row, and the row after its last.

    >>> cut_evenly(np.array([0, 5, 6, 7, 8]), 2)
    [(0, 1), (1, 4)]
    """
    rows = len(ends) - 1
    inner = np.searchsorted(ends, np.linspace(int(ends[0]), int(ends[-1]), count + 1)[1:-1])
    cuts = np.unique(np.concatenate(([0], inner.clip(max=rows), [rows])))
    return list(pairwise(cuts.tolist()))


def cut_to_size(ends: NDArray[Any], most: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of about `most` entries, as `cut_evenly` does."""
    return cut_evenly(ends, -(-int(ends[-1] - ends[0]) // max(1, most)) or 1)


def worthwhile_parts(count: int, entries: int) -> int:
    """Return into how many parts, at most `count`, work on so many entries is worth dividing."""
    return min(count, entries // LEAST_ENTRIES + 1)


def cut_for_threads(ends: NDArray[Any], count: int = 32) -> list[tuple[int, int]]:
    """Cut rows into at most `count` blocks that are worth a thread, as `cut_evenly` does."""
    return cut_evenly(ends, worthwhile_parts(count, int(ends[-1] - ends[0])))


def stored_blocks(indptr: NDArray[Any]) -> list[slice]:
    """Return slices of the rows of a CSR matrix with about `ENTRIES` stored entries each."""
    return [slice(*block) for block in cut_to_size(indptr, ENTRIES)]


def for_each(work: Callable[[Item], object], items: Sequence[Item]) -> None:
    """Call `work` on every item, such as a block of rows, on several threads.

    `work` must write to its own block only.
    """
    workers = min(thread_count(), len(items))
    if workers <= 1:
        for item in items:
            work(item)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, items):
            pass


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Apply `function` to each of `items` in several threads, and yield the results in order.

    Items are drawn only a few ahead of the results.
    """
    items = iter(items)
    first = list(islice(items, 2))
    items = chain(first, items)
    if threads == 1 or len(first) < 2:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


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
    return quotient(wide, row_norms(wide)[:, None])


def quotient(
    top: NDArray[np.floating], bottom: NDArray[np.floating], *, least: float = 0.0, other: float = 0
) -> NDArray[np.float64]:
    """Return top / bottom, and `other` where `bottom` is not above `least`.

    >>> quotient(np.array([1.0, 2.0]), np.array([0.0, 4.0])).tolist()
    [0.0, 0.5]
    """
    shape = np.broadcast_shapes(top.shape, bottom.shape)
    return np.divide(top, bottom, out=np.full(shape, float(other)), where=bottom > least)


# Size of the scores of one block of queries: large enough for a matrix product at full speed.
_SCORE_BYTES = 1 << 26

# The error of a float32 product of unit vectors is far smaller than this. Rows this close to the
# last one returned are compared in float64, so that rounding does not decide between them.
_SLACK = np.float32(1e-5)


def nearest_rows(
    queries: NDArray[np.floating],
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    topn: int,
    exclude: NDArray[np.integer] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the indices and cosines of the `topn` rows nearest to each query, best first.

    Rows with equal cosines keep their order. Zero rows are never returned, and nothing is returned
    for a zero query. If fewer than `topn` rows can be returned, the remaining indices are −1 and
    the cosines −inf.

    Candidates are found by float32 matrix products, in blocks of queries, and ordered in float64.
    So the result does not depend on the blocks, the number of queries or the number of threads.

    Parameters
    ----------
    queries
        One query per row, of any length.
    vectors, norms
        The rows to search and their Euclidean norms.
    topn
        How many rows to return for each query; at most all of them.
    exclude
        One line per query: the indices of rows that may not be returned (−1 for none).
    """
    topn = min(topn, len(vectors))
    directions = unit_rows(queries)
    indices = np.empty((len(queries), topn), dtype=np.int64)
    cosines = np.empty((len(queries), topn))
    zero = np.flatnonzero(norms == 0)
    inverse_norms = np.zeros(len(vectors), dtype=np.float32)
    np.divide(1.0, norms, out=inverse_norms, where=norms > 0, casting="same_kind")

    for some in blocks(len(queries), 4 * len(vectors), most=_SCORE_BYTES):
        scores = directions[some].astype(np.float32) @ vectors.T
        scores *= inverse_norms
        scores[:, zero] = -np.inf
        scores[~directions[some].any(axis=1)] = -np.inf
        if exclude is not None:
            query, place = np.nonzero(exclude[some] >= 0)
            scores[query, exclude[some][query, place]] = -np.inf
        indices[some], cosines[some] = best_rows(
            directions[some], vectors, norms, *_candidates(scores, topn), topn
        )
    return indices, cosines


def best_rows(
    directions: NDArray[np.float64],
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    query: NDArray[np.int64],
    row: NDArray[np.int64],
    topn: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return what `nearest_rows` does, given candidates: pairs of a query and a row."""
    cosine = np.empty(len(query))
    for some in blocks(len(query), 16 * vectors.shape[1], most=_SCORE_BYTES):
        rows = vectors[row[some]].astype(np.float64)
        cosine[some] = np.einsum("ij,ij->i", directions[query[some]], rows) / norms[row[some]]
    # Rounded to twelve digits, so that cosines that differ by rounding alone count as equal.
    order = np.lexsort((row, -cosine.round(12), query))
    query, row, cosine = query[order], row[order], cosine[order]
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    best = rank < topn
    indices = np.full((len(directions), topn), -1, dtype=np.int64)
    cosines = np.full((len(directions), topn), -np.inf)
    indices[query[best], rank[best]] = row[best]
    cosines[query[best], rank[best]] = np.clip(cosine[best], -1.0, 1.0)
    return indices, cosines


def _candidates(
    scores: NDArray[np.float32], topn: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (query, row) pairs that include the `topn` best rows of each query, and few others."""
    width = scores.shape[1]
    if topn == 1:
        last = scores.max(axis=1)
    else:
        last = np.partition(scores, width - topn, axis=1)[:, width - topn]
    threshold = np.maximum(last - _SLACK, np.finfo(np.float32).min)
    return np.divmod(np.flatnonzero(scores >= threshold[:, None]), width)


def principal_axes(
    vectors: NDArray[np.floating[Any]],
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return U and S of W = U S Rᵀ, without singular values that are zero up to rounding.

    They are computed from WᵀW, which takes a tenth of the memory of a singular value decomposition.
    Signs are arbitrary.

    >>> left, values = principal_axes(np.array([[0.0, -2.0], [0.0, 0.0], [-1.0, 0.0]]))
    >>> values, np.abs(left).tolist()
    (array([2., 1.]), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    all_rows = blocks(len(vectors), vectors.shape[1], most=_BLOCK_NUMBERS)
    gram = np.zeros((vectors.shape[1],) * 2)
    for rows in all_rows:
        wide = vectors[rows].astype(np.float64)
        gram += wide.T @ wide
    squares, axes = np.linalg.eigh(gram)
    squares, axes = squares[::-1], axes[:, ::-1]
    # The size of rounding errors: vectors are float32, and their products float64.
    rounding = max(np.finfo(np.float32).eps ** 2, 10 * len(gram) * np.finfo(np.float64).eps)
    kept = int(np.sum(squares > max(rounding * squares[0], 0.0)))
    values = np.sqrt(squares[:kept])
    left = np.empty((len(vectors), kept), dtype=np.float32)
    for rows in all_rows:
        left[rows] = vectors[rows].astype(np.float64) @ (axes[:, :kept] / values)
    return left, values


CSR = ("indptr", "indices", "data")
"""The arrays of a sparse matrix."""


def check_csr(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    size: int,
    columns: int | None = None,
) -> None:
    """Raise `ValueError` unless these are a CSR matrix with sorted, distinct columns.

    It must have `size` rows and `columns` columns, by default `size` too.
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


def csr_arrays(matrix: sparse.csr_array[Any], name: str) -> dict[str, NDArray[Any]]:
    """Return a sparse matrix as arrays whose names begin with `name`."""
    return {f"{name}.{each}": getattr(matrix, each) for each in CSR}


def csr_matrix(arrays: Mapping[str, NDArray[Any]], name: str, size: int) -> sparse.csr_array[Any]:
    """Return the square matrix that `csr_arrays` wrote, after checking it."""
    indptr, indices, data = (arrays[f"{name}.{each}"] for each in CSR)
    check_csr(data, indices, indptr, size)
    return sorted_csr(data, indices, indptr, size)


def sorted_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], columns: int
) -> sparse.csr_array[Any]:
    """Return a sparse matrix of rows whose columns are known to be sorted and distinct."""
    from scipy import sparse

    matrix = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns))
    matrix.has_canonical_format = True
    return matrix


def id_dtype(ids: int) -> np.dtype[Any]:
    """Return the smallest type that holds token ids below `ids`."""
    return np.dtype("<u2" if ids <= 1 << 16 else "<u4")
