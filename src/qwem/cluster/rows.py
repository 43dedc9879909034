"""Rows of a matrix in files that workers map, and blocks of vectors that go to them and back."""

from __future__ import annotations

import shutil
import uuid
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.artefact import write_metadata
from qwem._internal.resources import blas_threads
from qwem.cluster.tasks import run_each, telling_losses

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    Arrays = Mapping[str, NDArray[Any]]

KIND = "rows"
_REMEMBERED = 16
"""Blocks of rows that a worker keeps open."""


class Block(NamedTuple):
    """Some rows of a matrix: where they stand in it, and their entries."""

    rows: slice
    arrays: Arrays
    """``dense``, or ``indptr`` (from 0), ``indices`` and ``data``; and what was stored beside."""


class SpreadRows:
    """Blocks of rows in files, one for each thread of a cluster.

    A worker that is lost loses nothing: another one opens the files.
    """

    def __init__(self, client: Any, folder: Path, runs: Sequence[tuple[int, int]]) -> None:
        self._client = client
        self._folder = folder
        self._runs = list(runs)
        self._calls = 0

    def run(
        self,
        work: Callable[[Block, Arrays], Arrays],
        sent: Arrays,
        done: Callable[[slice], object] = lambda _: None,
    ) -> Iterator[tuple[slice, Arrays]]:
        """Yield the rows of every block, and what `work` makes of it and of the arrays `sent`.

        The arrays are written once and mapped by the workers, and so are their answers by this
        process. `done` is called with the rows of each block that is finished.
        """
        self._calls += 1
        place = self._folder / f"call-{self._calls}"
        with telling_losses(self._client):
            place.mkdir()
        try:
            _write(place, sent)
            answers = [place / f"answer-{number}" for number in range(len(self._runs))]
            tasks = [
                (work, self._folder / f"block-{number}", run, place, answer)
                for number, (run, answer) in enumerate(zip(self._runs, answers, strict=True))
            ]
            run_each(self._client, _answer, tasks, lambda number: done(slice(*self._runs[number])))
            for run, answer in zip(self._runs, answers, strict=True):
                yield slice(*run), _read(answer)
        finally:
            shutil.rmtree(place, ignore_errors=True)


@contextmanager
def spread(
    client: Any,
    directory: str | os.PathLike[str],
    matrix: NDArray[Any] | sparse.csr_array[Any],
    runs: Sequence[tuple[int, int]],
    beside: Sequence[Arrays] = (),
) -> Iterator[SpreadRows]:
    """Write runs of rows of a matrix to files, and remove them at the end.

    Parameters
    ----------
    client
        A `dask.distributed.Client`.
    directory
        Where to write, which every worker can reach.
    matrix
        The whole matrix.
    runs
        The first row of each block, and the row after its last.
    beside
        What else to store with each block.
    """
    folder = Path(directory).absolute() / f"rows-{uuid.uuid4().hex[:20]}"
    folder.mkdir(parents=True)
    try:
        # Known as ours from the start, so that `remove_pieces` removes what a killed run left.
        write_metadata(folder, KIND, {"files": {}})
        for number, (first, last) in enumerate(runs):
            place = folder / f"block-{number}"
            place.mkdir()
            _write(place, _entries(matrix, first, last))
            _write(place, beside[number] if beside else {})
        yield SpreadRows(client, folder, runs)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _entries(matrix: NDArray[Any] | sparse.csr_array[Any], first: int, last: int) -> Arrays:
    if isinstance(matrix, np.ndarray):
        return {"dense": matrix[first:last]}
    start, stop = matrix.indptr[first], matrix.indptr[last]
    return {
        "indptr": matrix.indptr[first : last + 1] - start,
        "indices": matrix.indices[start:stop],
        "data": matrix.data[start:stop],
    }


def _answer(
    work: Callable[[Block, Arrays], Arrays],
    block: Path,
    run: tuple[int, int],
    sent: Path,
    output: Path,
) -> None:
    """Do the work of one block on a worker, and write the result to `output`."""
    with blas_threads(1):  # as on one machine; and other threads of the worker have tasks too
        result = work(Block(slice(*run), _mapped(block)), _read(sent))
    # Another worker may do the same, if this one was given up too early: whole files only.
    partial = output.with_name(f"{output.name}-{uuid.uuid4().hex}")
    partial.mkdir()
    _write(partial, result)
    try:
        partial.rename(output)
    except OSError:
        if not output.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)


@lru_cache(maxsize=_REMEMBERED)
def _mapped(block: Path) -> Arrays:
    return _read(block)


def _read(place: Path) -> Arrays:
    """Map the arrays of a directory."""
    return {file.stem: np.load(file, mmap_mode="r") for file in sorted(place.glob("*.npy"))}


def _write(place: Path, arrays: Arrays) -> None:
    for name, array in arrays.items():
        np.save(place / f"{name}.npy", array, allow_pickle=False)
