"""Work on the rows of a matrix in blocks, on several threads, the same whatever their number."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.resources import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray

_BLOCK_ENTRIES = 1 << 19
"""Entries in a block: few enough for a cache, many enough to make a call worth its while."""


def dense_blocks(rows: int, columns: int) -> list[slice]:
    """Return slices of about equally many rows."""
    step = max(1, _BLOCK_ENTRIES // max(1, columns))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def sparse_blocks(indptr: NDArray[Any]) -> list[slice]:
    """Return slices of rows with about equally many stored entries."""
    rows = len(indptr) - 1
    goals = np.arange(_BLOCK_ENTRIES, int(indptr[-1]), _BLOCK_ENTRIES)
    cuts = np.unique(np.concatenate(([0], np.searchsorted(indptr, goals), [rows])))
    return [slice(a, b) for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)]


def for_each(work: Callable[[slice], None], blocks: list[slice], threads: int | None) -> None:
    """Call `work` on every block of rows; it must write to these rows only."""
    workers = min(thread_count(threads), len(blocks))
    if workers <= 1:
        for block in blocks:
            work(block)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(work, blocks):
            pass
