"""Contexts: the matrix of words × (word, slot, side) that counts in slots make together."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.arrays import cut_evenly
from qwem._internal.resources import thread_count
from qwem.cooccurrence._rows import Rows, column_ends, join_rows, transposed_rows

if TYPE_CHECKING:
    from scipy import sparse

    from qwem.cooccurrence.cooccurrence import Cooccurrence

_BLOCKS = 32


class Sides:
    """The rows of words in each of their contexts.

    A directed slot has two contexts, in this order: what comes after the word (R), and what comes
    before it (Rᵀ). A symmetric one has a single context.
    """

    def __init__(self, counts: Cooccurrence) -> None:
        self._matrices = [matrix.tocsr() for matrix in counts.matrices]
        self._columns = [
            column_ends(matrix) if slot.directed else None
            for slot, matrix in zip(counts.slots, self._matrices, strict=True)
        ]
        self.size = len(counts.vocabulary)
        self.work = sum(matrix.indptr.astype(np.int64) for matrix in self._matrices) + sum(
            ends for ends in self._columns if ends is not None
        )

    def rows(self, first: int, last: int, *, mirrored: bool = False) -> list[Rows]:
        """Return the rows of words `first` to `last`, for each context.

        Where they are `mirrored`, before and after change places: these are the rows of the
        contexts themselves, with the words that were seen in them.
        """
        sides: list[Rows] = []
        for matrix, ends in zip(self._matrices, self._columns, strict=True):
            own = Rows.of(matrix, first, last)
            if ends is None:
                sides.append(own)
                continue
            other = transposed_rows(matrix, ends, first, last)
            sides += (other, own) if mirrored else (own, other)
        return sides


def context_matrix(counts: Cooccurrence, *, transposed: bool = False) -> sparse.csr_array:
    """Return how often each word is seen in each context: words × contexts.

    With K contexts per word, column K·j + k is context k of word j, so that the contexts of
    frequent words come first. A directed slot gives two contexts, in this order: j comes after the
    word (R), and j comes before it (Rᵀ); a symmetric slot gives one. With `transposed`, the result
    is contexts × words.

    >>> from qwem import Cooccurrence, Corpus
    >>> counts = Cooccurrence.count(Corpus.from_documents(["a b"]), window=1)
    >>> context_matrix(counts).toarray().tolist()  # a has b on its right, b has a on its left
    [[0, 0, 1, 0], [0, 1, 0, 0]]
    """
    threads, width = thread_count(), counts.contexts_per_word
    if width == 1:
        return counts.matrices[0].tocsr()
    sides = Sides(counts)
    runs = cut_evenly(sides.work, _BLOCKS)
    if transposed:
        return join_rows(
            lambda *run: stacked(sides.rows(*run, mirrored=True)), runs, sides.size, threads
        )
    return join_rows(lambda *run: interleaved(sides.rows(*run)), runs, width * sides.size, threads)


def interleaved(sides: list[Rows]) -> Rows:
    """Return rows whose columns are those of all sides, word by word."""
    width = np.int32(len(sides))
    columns = (side.columns * width + np.int32(number) for number, side in enumerate(sides))
    return reduce(add, (side._replace(columns=c) for side, c in zip(sides, columns, strict=True)))


def stacked(sides: list[Rows]) -> Rows:
    """Return the rows of all sides, word by word."""
    from qwem.cooccurrence._row_kernels import copy_rows

    lengths = np.stack([side.lengths for side in sides], axis=1)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    dtype = np.result_type(*(side.values for side in sides))
    columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], dtype)
    placed = starts[:-1].reshape(lengths.shape)
    for number, side in enumerate(sides):
        copy_rows(*side, placed[:, number], columns, values)
    return Rows(starts[:-1], lengths.ravel(), columns, values)
