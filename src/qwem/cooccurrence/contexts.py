"""Contexts: the matrix of words × (word, slot, side) that counts in slots make together."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from qwem._internal.resources import thread_count
from qwem.cooccurrence._rows import Rows, join_rows, runs_of, transpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy import sparse

    from qwem.cooccurrence.cooccurrence import Cooccurrence
    from qwem.cooccurrence.slots import Slot

Side = TypeVar("Side")


def context_sides(counts: Cooccurrence) -> tuple[sparse.csr_array, ...]:
    """Return words × words for each kind of context that a word has.

    A directed slot has two kinds, in this order: what comes after the word (R), and what comes
    before it (Rᵀ). A symmetric one has a single kind.
    """
    sides: list[sparse.csr_array] = []
    for slot, pairs in zip(counts.slots, counts.matrices, strict=True):
        sides.append(matrix := pairs.tocsr())
        if slot.directed:
            sides.append(transpose(matrix, thread_count()))
    return tuple(sides)


def mirrored(sides: Sequence[Side], slots: Sequence[Slot]) -> tuple[Side, ...]:
    """Return the sides of words as those of contexts: before and after change places."""
    found: list[Side] = []
    for slot in slots:
        found += reversed(sides[len(found) : len(found) + slot.contexts])
    return tuple(found)


def context_matrix(counts: Cooccurrence) -> sparse.csr_array:
    """Return how often each word is seen in each context: words × contexts.

    With K contexts per word, column K·j + k is context k of word j, so that the contexts of
    frequent words come first. A directed slot gives two contexts, in this order: j comes after the
    word (R), and j comes before it (Rᵀ); a symmetric slot gives one.

    >>> from qwem import Cooccurrence, Corpus
    >>> counts = Cooccurrence.count(Corpus.from_documents(["a b"]), window=1)
    >>> context_matrix(counts).toarray().tolist()  # a has b on its right, b has a on its left
    [[0, 0, 1, 0], [0, 1, 0, 0]]
    """
    sides, threads = context_sides(counts), thread_count()
    if len(sides) == 1:
        return sides[0]
    width = np.int32(len(sides))

    def work(first: int, last: int) -> Rows:
        rows = [Rows.of(side, first, last) for side in sides]
        return reduce(
            add,
            (
                side._replace(columns=side.columns * width + np.int32(number))
                for number, side in enumerate(rows)
            ),
        )

    lengths = np.sum([np.diff(side.indptr) for side in sides], axis=0)
    return join_rows(work, runs_of(lengths, threads), int(width) * len(lengths), threads)
