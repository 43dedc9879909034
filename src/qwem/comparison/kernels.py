"""Kernels of comparison: sparse counts without a part of them."""

from __future__ import annotations

from typing import Any

from qwem._internal.compilation import njit


@njit(nogil=True, cache=True)
def subtract_rows(
    first: Any, last: Any, indptr: Any, indices: Any, data: Any,
    part_indptr: Any, part_indices: Any, part_data: Any,
    lengths: Any, out_indices: Any, out_data: Any,
) -> None:  # fmt: skip
    """Write some rows of one CSR matrix less another, without zeros, each where it began.

    `lengths` says how many entries each row has then, or −1 where the part is not a part. The
    columns of every row must be sorted.
    """
    for i in range(first, last):
        place, k, stop = indptr[i], part_indptr[i], part_indptr[i + 1]
        for entry in range(indptr[i], indptr[i + 1]):
            value = data[entry]
            if k < stop and part_indices[k] == indices[entry]:
                if part_data[k] > value:
                    break
                value -= part_data[k]
                k += 1
            if value:
                out_indices[place] = indices[entry]
                out_data[place] = value
                place += 1
        lengths[i] = place - indptr[i] if k == stop else -1


@njit(nogil=True, cache=True)
def close_gaps(
    first: Any, last: Any, starts: Any, indices: Any, data: Any,
    indptr: Any, out_indices: Any, out_data: Any,
) -> None:  # fmt: skip
    """Write some rows of a matrix one after another, where each began at `starts` before."""
    for i in range(first, last):
        shift = starts[i] - indptr[i]
        for entry in range(indptr[i], indptr[i + 1]):
            out_indices[entry] = indices[entry + shift]
            out_data[entry] = data[entry + shift]
