"""Sums of saved counts, read a block of rows at a time."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.blocks import blocks, for_each
from qwem._internal.resources import thread_count
from qwem.cooccurrence.cooccurrence import ARRAYS, KIND, WORDS, Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.corpus import Vocabulary
from qwem.errors import CountError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


def add_saved(paths: Sequence[str | os.PathLike[str]], threads: int | None = None) -> Cooccurrence:
    """Return the sum of counts that were saved, of the same words and with the same window.

    Where all are dense, the sum is the only large array in memory.

    >>> import tempfile
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> counts.save(path := tempfile.mkdtemp() + "/counts")
    >>> add_saved([path, path])["a", "b"]
    4
    """
    saved = [artefact.load(path, KIND, _described) for path in paths]
    if not saved:
        raise CountError("There are no counts to add.")
    if len(saved) == 1 or not all(each.is_dense for each in saved):
        return reduce(add, map(Cooccurrence.load, paths))
    # Counts without pairs are added for all but the pairs, and refuse what doesn't fit together.
    rest = reduce(add, (each.counts for each in saved))
    files = [each.file for each in saved]
    size, threads = len(rest.vocabulary), thread_count(threads)
    total, largest = _sum(files, size, np.dtype(np.uint32), threads)
    if largest >= 2**32:
        total, _ = _sum(files, size, np.dtype(np.uint64), threads)
    pairs = PairCounts.from_exact(total, threads)
    return Cooccurrence(rest.vocabulary, pairs, rest.weights, rest.sources)


class _Described(NamedTuple):
    """Saved counts, of which the pairs are not read yet."""

    counts: Cooccurrence
    """All but the pairs."""
    file: Path
    is_dense: bool


def _described(saved: artefact.Saved) -> _Described:
    from safetensors import safe_open

    file, words, weights = saved.path(ARRAYS), saved.words(WORDS), saved.metadata["weights"]
    with safe_open(file, "numpy") as arrays:
        occurrences = arrays.get_tensor("word_counts")
        is_dense = "pairs" in arrays.keys()  # noqa: SIM118
        if is_dense and arrays.get_slice("pairs").get_shape() != [len(words)] * 2:
            raise ValueError("its words and pairs don't match")
    counts = Cooccurrence(
        Vocabulary(words, occurrences),
        PairCounts.from_exact(sparse.csr_array((len(words), len(words)), dtype=np.uint32)),
        None if weights is None else tuple(weights),
        tuple(saved.metadata["sources"]),
    )
    return _Described(counts, file, is_dense)


def _sum(
    files: Sequence[Path], size: int, dtype: np.dtype[Any], threads: int
) -> tuple[NDArray[Any], int]:
    """Return the sum of dense counts and its largest entry, which may not fit in the type."""
    from safetensors import safe_open

    total = np.empty((size, size), dtype)
    largest = []

    def add_rows(rows: slice) -> None:
        block = np.zeros((rows.stop - rows.start, size), np.uint64)
        for file in files:
            with safe_open(file, "numpy") as arrays:
                block += arrays.get_slice("pairs")[rows]
        total[rows] = block
        largest.append(int(block.max(initial=0)))

    for_each(add_rows, blocks(size, size), threads)
    return total, max(largest, default=0)
