"""Sums of saved counts, read a block of rows at a time."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.blocks import blocks, for_each
from qwem._internal.csr import check_csr
from qwem._internal.resources import thread_count
from qwem.cooccurrence.cooccurrence import ARRAYS, KIND, WORDS, Cooccurrence
from qwem.cooccurrence.csr import compress
from qwem.cooccurrence.pair_counts import PairCounts, sparse_sum
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
    rest, files = _opened(paths)
    if len(files) == 1 or not all(_is_dense(file) for file in files):
        return reduce(add, map(Cooccurrence.load, paths))
    size, threads = len(rest.vocabulary), thread_count(threads)
    total, largest = _sum(files, size, np.dtype(np.uint32), threads)
    if largest >= 2**32:
        total, _ = _sum(files, size, np.dtype(np.uint64), threads)
    pairs = PairCounts.from_exact(total, threads)
    return Cooccurrence(rest.vocabulary, pairs, rest.weights, rest.sources)


def saved_words(paths: Sequence[str | os.PathLike[str]]) -> Cooccurrence:
    """Return the sum of saved counts without any of their pairs, which are not read."""
    return _opened(paths)[0]


def saved_rows(
    paths: Sequence[str | os.PathLike[str]], first: int, last: int
) -> sparse.csr_array[Any]:
    """Return the rows from `first` to `last` of the pairs of a sum; no others are read."""
    _, files = _opened(paths)
    return reduce(sparse_sum, (_rows_of(file, first, last) for file in files))


def _opened(paths: Sequence[str | os.PathLike[str]]) -> tuple[Cooccurrence, list[Path]]:
    """Return the sum of saved counts except for their pairs, and the files that have those."""
    saved = [artefact.load(path, KIND, _described) for path in paths]
    if not saved:
        raise CountError("There are no counts to add.")
    # Counts without pairs are added as others are, and what doesn't fit together is refused.
    return reduce(add, (counts for counts, _ in saved)), [file for _, file in saved]


def _described(saved: artefact.Saved) -> tuple[Cooccurrence, Path]:
    """Return saved counts without their pairs, and the file that has those."""
    from safetensors import safe_open

    file, words, weights = saved.mapped_path(ARRAYS), saved.words(WORDS), saved.metadata["weights"]
    with safe_open(file, "numpy") as arrays:
        occurrences = arrays.get_tensor("word_counts")
    if _is_dense(file) and _shape(file, "pairs") != [len(words)] * 2:
        raise ValueError("its words and pairs don't match")
    counts = Cooccurrence(
        Vocabulary(words, occurrences),
        PairCounts.from_exact(sparse.csr_array((len(words), len(words)), dtype=np.uint32)),
        None if weights is None else tuple(weights),
        tuple(saved.metadata["sources"]),
    )
    return counts, file


def _is_dense(file: Path) -> bool:
    from safetensors import safe_open

    with safe_open(file, "numpy") as arrays:
        return "pairs" in arrays.keys()  # noqa: SIM118


def _shape(file: Path, name: str) -> list[int]:
    from safetensors import safe_open

    with safe_open(file, "numpy") as arrays:
        shape: list[int] = arrays.get_slice(name).get_shape()
        return shape


def _rows_of(file: Path, first: int, last: int) -> sparse.csr_array[Any]:
    """Return some rows of the pairs in a file."""
    from safetensors import safe_open

    with safe_open(file, "numpy") as arrays:
        if "pairs" in arrays.keys():  # noqa: SIM118
            return compress(arrays.get_slice("pairs")[first:last], 1)
        indptr = arrays.get_slice("pairs.indptr")[first : last + 1]
        size = arrays.get_slice("pairs.indptr").get_shape()[0] - 1
        entries = slice(int(indptr[0]), int(indptr[-1]))
        columns, values = (
            arrays.get_slice(f"pairs.{name}")[entries] for name in ("indices", "data")
        )
    shape = last - first, size
    check_csr(values, columns, indptr - indptr[0], *shape)
    return sparse.csr_array((values, columns, indptr - indptr[0]), shape=shape)


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
