"""Sums of saved counts, read a block of rows at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import check_csr
from qwem._internal.blocks import blocks, cut_evenly, for_each
from qwem._internal.resources import thread_count
from qwem.cooccurrence.cooccurrence import ARRAYS, KIND, WORDS, Cooccurrence
from qwem.cooccurrence.csr import compress, row_ends
from qwem.cooccurrence.estimating import expected_row_pairs
from qwem.cooccurrence.pair_counts import PairCounts, sparse_sum
from qwem.cooccurrence.slots import slots_as_json, slots_from_json
from qwem.corpus import Vocabulary
from qwem.errors import CountError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.cooccurrence.slots import Slot


ROWS_KIND = "rows of counts"
_RUNS = 8  # of rows, per thread


def add_saved(paths: Sequence[str | os.PathLike[str]], threads: int | None = None) -> Cooccurrence:
    """Return the sum of counts that were saved, of the same words and with the same window.

    They are read a few rows at a time. Where all are dense, the sum is the only large array in
    memory.

    >>> import tempfile
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> counts.save(path := tempfile.mkdtemp() + "/counts")
    >>> add_saved([path, path])["a", "b"]
    4
    """
    rest, files = _opened(paths)
    size, threads = len(rest.vocabulary), thread_count(threads)
    totals = []
    for slot in range(len(rest.slots)):
        total: Any
        if None in [_dense_shape(file, slot) for file in files]:
            total = _add_sparse(files, slot, rest.word_counts, threads)
        else:
            total, largest = _add_dense(files, slot, size, np.dtype(np.uint32), threads)
            if largest >= 2**32:
                total, _ = _add_dense(files, slot, size, np.dtype(np.uint64), threads)
        totals.append(PairCounts.from_exact(total, threads))
    return replace(rest, matrices=tuple(totals))


class CountRows(NamedTuple):
    """Some rows of counts."""

    pairs: tuple[sparse.csr_array[Any], ...]
    """The rows of each slot."""
    word_counts: NDArray[np.int64]


def saved_rows(paths: Sequence[str | os.PathLike[str]], first: int, last: int) -> CountRows:
    """Return the rows from `first` to `last` of a sum of saved counts; no others are read.

    What was saved is whole counts of the same words, or just these rows of such.
    """
    parts = (_rows_at(path, first, last) for path in paths)
    return reduce(lambda a, b: CountRows(tuple(map(sparse_sum, a[0], b[0])), a[1] + b[1]), parts)


def add_rows(
    paths: Sequence[str | os.PathLike[str]], first: int, last: int, output: str | os.PathLike[str]
) -> None:
    """Save the rows from `first` to `last` of a sum of saved counts."""
    pairs, word_counts = saved_rows(paths, first, last)
    arrays = {
        "word_counts": word_counts,
        **{
            f"pairs.{slot}.{name}": getattr(rows, name)
            for slot, rows in enumerate(pairs)
            for name in ("indptr", "indices", "data")
        },
    }
    slots, sources = saved_sources(paths)
    with artefact.writing(output, ROWS_KIND) as directory:
        artefact.write_arrays(directory / ARRAYS, arrays)
        fields = {
            "columns": pairs[0].shape[1],
            "slots": slots_as_json(slots),
            "sources": sources,
        }
        artefact.write_metadata(directory, ROWS_KIND, fields)


def saved_sources(
    paths: Sequence[str | os.PathLike[str]],
) -> tuple[tuple[Slot, ...], list[dict[str, Any]]]:
    """Return the slots of saved counts, or rows of such, and all their sources."""
    saved = [artefact.opened(path).metadata for path in paths]
    return slots_from_json(saved[0]["slots"]), [
        source for each in saved for source in each["sources"]
    ]


def _rows_at(path: str | os.PathLike[str], first: int, last: int) -> CountRows:
    if artefact.kind_of(path) == ROWS_KIND:
        return artefact.load(path, ROWS_KIND, _whole_rows)
    return artefact.load(path, KIND, lambda saved: _some_rows(saved, first, last))


def _whole_rows(saved: artefact.Saved) -> CountRows:
    arrays, pairs = saved.arrays(ARRAYS), []
    for slot in range(len(saved.metadata["slots"])):
        data, indices, indptr = (
            arrays[f"pairs.{slot}.{name}"] for name in ("data", "indices", "indptr")
        )
        shape = len(indptr) - 1, int(saved.metadata["columns"])
        check_csr(data, indices, indptr, *shape)
        pairs.append(sparse.csr_array((data, indices, indptr), shape=shape))
    return CountRows(tuple(pairs), arrays["word_counts"])


def _some_rows(saved: artefact.Saved, first: int, last: int) -> CountRows:
    from safetensors import safe_open

    file, size = saved.mapped_path(ARRAYS), int(saved.metadata["vocab_size"])
    with safe_open(file, "numpy") as arrays:
        word_counts = arrays.get_slice("word_counts")[first:last]
    slots = range(len(saved.metadata["slots"]))
    return CountRows(tuple(_pairs_of(file, slot, size, first, last) for slot in slots), word_counts)


def _pairs_of(file: Path, slot: int, size: int, first: int, last: int) -> sparse.csr_array[Any]:
    """Return some rows of the pairs of one slot in a file."""
    from safetensors import safe_open

    name = f"pairs.{slot}"
    with safe_open(file, "numpy") as arrays:
        if name in arrays.keys():  # noqa: SIM118
            return compress(arrays.get_slice(name)[first:last], 1)
        indptr = arrays.get_slice(f"{name}.indptr")[first : last + 1]
        indptr, entries = indptr - indptr[0], slice(int(indptr[0]), int(indptr[-1]))
        if not indptr[-1]:  # safetensors refuses slices without an entry
            return sparse.csr_array((last - first, size), dtype=np.uint32)
        columns, values = (
            arrays.get_slice(f"{name}.{part}")[entries] for part in ("indices", "data")
        )
    check_csr(values, columns, indptr, last - first, size)
    return sparse.csr_array((values, columns, indptr), shape=(last - first, size))


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

    file, words = saved.path(ARRAYS), saved.words(WORDS)
    slots = slots_from_json(saved.metadata["slots"])
    with safe_open(file, "numpy") as arrays:
        occurrences = arrays.get_tensor("word_counts")
    for slot in range(len(slots)):
        if _dense_shape(file, slot) not in (None, [len(words)] * 2):
            raise ValueError("its words and pairs don't match")
    none = PairCounts.from_exact(sparse.csr_array((len(words), len(words)), dtype=np.uint32))
    counts = Cooccurrence(
        Vocabulary(words, occurrences),
        (none,) * len(slots),
        slots,
        tuple(saved.metadata["sources"]),
    )
    return counts, file


def _dense_shape(file: Path, slot: int) -> list[int] | None:
    """Return the shape of the pairs of one slot in a file, or None where they are sparse."""
    from safetensors import safe_open

    with safe_open(file, "numpy") as arrays:
        shape: list[int] | None = None
        if f"pairs.{slot}" in arrays.keys():  # noqa: SIM118
            shape = arrays.get_slice(f"pairs.{slot}").get_shape()
        return shape


def _add_sparse(
    files: Sequence[Path], slot: int, word_counts: NDArray[np.int64], threads: int
) -> sparse.csr_array[Any]:
    """Return the sum of counts of which some are sparse."""
    size = len(word_counts)
    ends = np.cumsum(np.append(0.0, expected_row_pairs(word_counts, 1)))
    runs = cut_evenly(ends, _RUNS * threads)

    def add_run(run: tuple[int, int]) -> sparse.csr_array[Any]:
        return reduce(sparse_sum, (_pairs_of(file, slot, size, *run) for file in files))

    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(add_run, runs))
    indptr = row_ends(np.concatenate([np.diff(part.indptr) for part in parts]))
    columns = np.concatenate([part.indices for part in parts])
    values = np.concatenate([part.data for part in parts])
    return sparse.csr_array((values, columns.astype(indptr.dtype), indptr), shape=(size, size))


def _add_dense(
    files: Sequence[Path], slot: int, size: int, dtype: np.dtype[Any], threads: int
) -> tuple[NDArray[Any], int]:
    """Return the sum of dense counts and its largest entry, which may not fit in the type."""
    from safetensors import safe_open

    total = np.empty((size, size), dtype)
    largest = []

    def add_block(rows: slice) -> None:
        block = np.zeros((rows.stop - rows.start, size), np.uint64)
        for file in files:
            with safe_open(file, "numpy") as arrays:
                block += arrays.get_slice(f"pairs.{slot}")[rows]
        total[rows] = block
        largest.append(int(block.max(initial=0)))

    for_each(add_block, blocks(size, size), threads)
    return total, max(largest, default=0)
