"""Kernels of sparse rows: plain arrays in, plain arrays out, no Python objects, no GIL."""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import njit


@njit(nogil=True, cache=True)
def merge_rows(
    starts: Any, lengths: Any, columns: Any, values: Any,
    other_starts: Any, other_lengths: Any, other_columns: Any, other_values: Any,
    first: Any, last: Any,
    out_starts: Any, out_lengths: Any, out_columns: Any, out_values: Any,
) -> None:  # fmt: skip
    """Add rows `first` to `last` of two sparse matrices whose columns are sorted in each row."""
    at = 0
    for r in range(first, last):
        out_starts[r - first] = at
        i, stop = starts[r], starts[r] + lengths[r]
        j, other_stop = other_starts[r], other_starts[r] + other_lengths[r]
        while i < stop or j < other_stop:
            take = i < stop and (j == other_stop or columns[i] <= other_columns[j])
            take_other = j < other_stop and (i == stop or other_columns[j] <= columns[i])
            out_columns[at] = columns[i] if take else other_columns[j]
            out_values[at] = 0
            if take:
                out_values[at] += values[i]
                i += 1
            if take_other:
                out_values[at] += other_values[j]
                j += 1
            at += 1
        out_lengths[r - first] = at - out_starts[r - first]


@njit(nogil=True, cache=True)
def subtract_rows(
    starts: Any, lengths: Any, columns: Any, values: Any,
    part_starts: Any, part_lengths: Any, part_columns: Any, part_values: Any,
    out_starts: Any, out_lengths: Any, out_columns: Any, out_values: Any,
) -> Any:  # fmt: skip
    """Write rows less a part of them, without zeros; return whether it is a part of them."""
    at = 0
    for r in range(len(starts)):
        out_starts[r] = at
        j, stop = part_starts[r], part_starts[r] + part_lengths[r]
        for i in range(starts[r], starts[r] + lengths[r]):
            value = values[i]
            if j < stop and part_columns[j] == columns[i]:
                if part_values[j] > value:
                    return False
                value -= part_values[j]
                j += 1
            if value:
                out_columns[at] = columns[i]
                out_values[at] = value
                at += 1
        if j < stop:
            return False
        out_lengths[r] = at - out_starts[r]
    return True


@njit(nogil=True, cache=True)
def gather_columns(
    indptr: Any, indices: Any, data: Any, first: Any, last: Any,
    free: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write the columns `first` to `last` of a CSR matrix as rows, each from a `free` place on."""
    for i in range(len(indptr) - 1):
        k, stop = indptr[i], indptr[i + 1]
        k += np.searchsorted(indices[k:stop], first)
        while k < stop and indices[k] < last:
            j = indices[k] - first
            columns[free[j]] = i
            values[free[j]] = data[k]
            free[j] += 1
            k += 1


@njit(nogil=True, cache=True)
def count_channel(
    row_starts: Any, row_lengths: Any, below: Any, channels: Any, head: Any, after: Any,
    before: Any, first: Any, last: Any, own: Any, transposed: Any,
) -> None:  # fmt: skip
    """Count the entries of rows `first` to `last` in one slot: by row and by column.

    Entries of the channel `after` belong to their row, those of `before` to the row of their
    column.
    """
    for r in range(first, last):
        found = 0
        for k in range(row_starts[r], row_starts[r] + row_lengths[r]):
            word = below[k] // channels
            channel = below[k] - word * channels
            found += channel == after
            transposed[word] += channel == before and word != head + r
        own[r] = found


@njit(nogil=True, cache=True)
def place_rows(
    row_starts: Any, row_lengths: Any, below: Any, below_values: Any, channels: Any, head: Any,
    after: Any, first: Any, last: Any, indptr: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write one channel of rows `first` to `last` to their places in CSR arrays."""
    for r in range(first, last):
        at = indptr[head + r]
        for k in range(row_starts[r], row_starts[r] + row_lengths[r]):
            word = below[k] // channels
            if below[k] - word * channels == after:
                columns[at] = word
                values[at] = below_values[k]
                at += 1


@njit(nogil=True, cache=True)
def place_columns(
    row_starts: Any, row_lengths: Any, below: Any, below_values: Any, channels: Any, head: Any,
    before: Any, first: Any, last: Any, free: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write one channel of columns `first` to `last` of all rows, without the diagonal, as rows.

    One block of columns at a time: the ends of so many growing rows fit in the cache.
    """
    for r in range(len(row_starts)):
        k, stop = row_starts[r], row_starts[r] + row_lengths[r]
        k += np.searchsorted(below[k:stop], first * channels)
        while k < stop and below[k] < last * channels:
            j = below[k] // channels
            if below[k] - j * channels == before and j != head + r:
                columns[free[j]] = head + r
                values[free[j]] = below_values[k]
                free[j] += 1
            k += 1


@njit(nogil=True, cache=True)
def count_entries(matrix: Any, first: Any, last: Any, lengths: Any) -> None:
    """Count the entries of each of the dense rows `first` to `last` that are not zero."""
    for i in range(first, last):
        entries = 0
        for j in range(matrix.shape[1]):
            entries += matrix[i, j] != 0
        lengths[i] = entries


@njit(nogil=True, cache=True)
def compress_rows(
    matrix: Any, first: Any, last: Any, starts: Any, ends: Any, columns: Any, values: Any
) -> None:
    """Write the entries of dense rows that are not zero to their places in CSR arrays.

    Each entry is written, and a zero is then written over: a branch that can't be foreseen would
    take longer.
    """
    for i in range(first, last):
        at, j = starts[i], 0
        while at < ends[i]:
            columns[at] = j
            values[at] = matrix[i, j]
            at += matrix[i, j] != 0
            j += 1


@njit(nogil=True, cache=True)
def add_transpose(counts: Any, first: Any, last: Any, tile: Any) -> None:
    """Replace C by C + Cᵀ in the tiles whose row lies in rows `first` to `last`, and across."""
    size = len(counts)
    for j_start in range(first, size, tile):
        j_stop = min(size, j_start + tile)
        for i in range(first, last):
            for j in range(max(i, j_start), j_stop):
                both = counts[i, j] + counts[j, i]
                counts[i, j] = both
                counts[j, i] = both
