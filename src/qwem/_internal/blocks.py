"""Blocks of rows: slices of bounded size, runs with equal shares of work, and threads over them."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from qwem._internal.resources import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

Part = TypeVar("Part")
Item = TypeVar("Item")
Result = TypeVar("Result")

ENTRIES = 1 << 19
"""Entries of a block by default: few enough for a cache, many enough for a call to pay off."""


def blocks(count: int, each: int = 1, *, most: int = ENTRIES) -> list[slice]:
    """Return slices that cover `count` items of size `each`, with at most `most` in a slice.

    A slice has at least one item, even where that item alone is larger than `most`.

    >>> blocks(5, each=10, most=25)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, most // max(1, each))
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def even_cuts(start: int, stop: int, parts: int) -> NDArray[np.int64]:
    """Return the `parts` + 1 places that cut a range into equal parts, its ends included.

    >>> even_cuts(0, 10, 3).tolist()
    [0, 3, 6, 10]
    """
    return np.linspace(start, stop, parts + 1).astype(np.int64)


def cut_evenly(ends: NDArray[Any], pieces: int) -> list[tuple[int, int]]:
    """Cut rows into at most `pieces` runs with about equally many entries.

    Row r has the entries from ``ends[r]`` up to ``ends[r + 1]``, as in a CSR matrix. Each run is
    (first row, row after the last).

    >>> cut_evenly(np.array([0, 5, 6, 7, 8]), 2)
    [(0, 1), (1, 4)]
    """
    rows = len(ends) - 1
    inner = np.searchsorted(ends, np.linspace(0, int(ends[-1]), pieces + 1)[1:-1])
    cuts = np.unique(np.concatenate(([0], inner.clip(max=rows), [rows])))
    return list(pairwise(cuts.tolist()))


def stored_blocks(indptr: NDArray[Any]) -> list[slice]:
    """Return slices of the rows of a CSR matrix with about `ENTRIES` stored entries each."""
    return [slice(*run) for run in cut_evenly(indptr, -(-int(indptr[-1]) // ENTRIES) or 1)]


def for_each(work: Callable[[Part], object], parts: Sequence[Part]) -> None:
    """Call `work` on every part, on several threads; it must write to its own part only."""
    workers = min(thread_count(), len(parts))
    if workers <= 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, parts):
            pass


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Apply `function` to each of `items` in several threads, and yield the results in order.

    Items are taken only a few ahead of the results.
    """
    if threads == 1:
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
