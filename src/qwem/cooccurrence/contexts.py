"""Contexts: the matrix of words × (word, slot, side) that counts in slots make together."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.blocks import cut_evenly
from qwem._internal.resources import thread_count
from qwem.cooccurrence.csr import Rows, column_ends, join_rows, transposed_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy import sparse

    from qwem.cooccurrence.cooccurrence import Cooccurrence

_BLOCKS = 32


def context_count(counts: Cooccurrence) -> int:
    """Return how many contexts each word gives: two per directed slot, one per symmetric one."""
    return sum(slot.contexts for slot in counts.slots)


def context_matrix(
    counts: Cooccurrence, threads: int | None = None, *, transposed: bool = False
) -> sparse.csr_array:
    """Return how often each word is seen in each context: words × contexts.

    With K contexts per word, column K·j + k is context k of word j. A directed slot gives two
    contexts, in this order: j comes after the word (R), and j comes before it (Rᵀ); a symmetric
    slot gives one. The contexts of frequent words come first. With `transposed`, the result is
    contexts × words.

    >>> from qwem import Corpus
    >>> counts = Cooccurrence.count(Corpus.from_documents(["a b"]), window=1)
    >>> context_matrix(counts).toarray().tolist()  # a has b on its right, b has a on its left
    [[0, 0, 1, 0], [0, 1, 0, 0]]
    """
    threads, size, width = thread_count(threads), len(counts.vocabulary), context_count(counts)
    slots = [
        (slot.directed, matrix.tocsr())
        for slot, matrix in zip(counts.slots, counts.matrices, strict=True)
    ]
    if width == 1:
        return slots[0][1]
    ends = [column_ends(matrix) if directed else None for directed, matrix in slots]

    def sides(first: int, last: int) -> Iterator[Rows]:
        """Yield the rows of each context of a word in turn, or of its transpose."""
        for (_, matrix), places in zip(slots, ends, strict=True):
            indptr = matrix.indptr[first : last + 1].astype(np.int64)
            stored = slice(int(indptr[0]), int(indptr[-1]))
            own = Rows(
                indptr[:-1] - indptr[0],
                np.diff(indptr),
                matrix.indices[stored],
                matrix.data[stored],
            )
            if places is None:
                yield own
                continue
            other = transposed_rows(matrix, places, first, last)
            yield from (other, own) if transposed else (own, other)

    work = sum(matrix.indptr for _, matrix in slots) + sum(
        places if places is not None else 0 for places in ends
    )
    runs = cut_evenly(np.asarray(work), _BLOCKS)
    if transposed:
        return join_rows(lambda *run: _stacked(list(sides(*run))), runs, size, threads)
    return join_rows(lambda *run: _interleaved(list(sides(*run))), runs, width * size, threads)


def _interleaved(sides: list[Rows]) -> Rows:
    """Return rows whose columns are those of all sides, word by word."""
    from qwem.cooccurrence.kernels import merge_rows

    def merged(first: Rows, second: Rows) -> Rows:
        total = Rows.with_room(
            len(first.starts), len(first.columns) + len(second.columns), first.values.dtype
        )
        merge_rows(*first, *second, 0, len(first.starts), *total)
        return total

    width = len(sides)
    dtype = np.result_type(*(side.values for side in sides))
    return reduce(
        merged,
        (
            Rows(
                side.starts,
                side.lengths,
                side.columns * np.int32(width) + np.int32(number),
                side.values.astype(dtype, copy=False),
            )
            for number, side in enumerate(sides)
        ),
    )


def _stacked(sides: list[Rows]) -> Rows:
    """Return the rows of all sides, word by word."""
    from qwem.cooccurrence.kernels import copy_rows

    lengths = np.stack([side.lengths for side in sides], axis=1)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    dtype = np.result_type(*(side.values for side in sides))
    columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], dtype)
    placed = starts[:-1].reshape(lengths.shape)
    for number, side in enumerate(sides):
        copy_rows(*side, placed[:, number], columns, values)
    return Rows(starts[:-1], lengths.ravel(), columns, values)
