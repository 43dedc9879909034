"""Blocks of rows of a matrix in files that workers memory-map, and calls on all blocks."""

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
from qwem.cluster._tasks import cluster_errors, run_all, run_each

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy import sparse

    Arrays = Mapping[str, NDArray[Any]]

KIND = "rows"
_CSR = ("indptr", "indices", "data")
_REMEMBERED = 16
"""Blocks of rows that a worker keeps open."""
_FIRST, _SENT = "first", "sent"


class Block(NamedTuple):
    """Contiguous rows of a matrix: their range, and their arrays."""

    rows: slice
    arrays: Arrays

    def csr(self, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return `indptr`, `indices` and `data` of the rows of a sparse matrix."""
        indptr, indices, data = (self.arrays[f"{name}.{array}"] for array in _CSR)
        return np.array(indptr), indices, data


class RowBlocks:
    """Blocks of rows in files, one for each thread of a cluster.

    If a worker is lost, another one opens the same files.
    """

    def __init__(
        self, client: Any, folder: Path, runs: Sequence[tuple[int, int]], folders: Sequence[Path]
    ) -> None:
        self.runs = list(runs)
        """The first row of each block, and the row after its last."""
        self._client = client
        self._folder = folder
        self._folders = list(folders)

    def run(
        self,
        work: Callable[[Block, Arrays], Arrays],
        sent: Arrays,
        done: Callable[[slice], object] = lambda _: None,
    ) -> Iterator[tuple[slice, Arrays]]:
        """Call `work` with every block and the arrays `sent`; yield the rows and the result.

        The arrays are written once and memory-mapped by the workers; their results are
        memory-mapped by this process. `done` is called with the rows of each finished block.
        """
        place = self._new_folder("call")
        try:
            self._run_on_all(work, sent, place, done)
            for number, run in enumerate(self.runs):
                yield slice(*run), _read(place / _block(number))
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def extended(self, work: Callable[[Block, Arrays], Arrays], sent: Arrays) -> RowBlocks:
        """Return the same blocks with further arrays, which `work` returns for each."""
        more = self._new_folder("more")
        self._run_on_all(work, sent, more, lambda _: None)
        return RowBlocks(self._client, self._folder, self.runs, [*self._folders, more])

    def arrays(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield the array of this name of every block, memory-mapped by this process."""
        for number in range(len(self.runs)):
            yield _read_all(self._places(number))[name]

    def _run_on_all(
        self,
        work: Callable[[Block, Arrays], Arrays],
        sent: Arrays,
        place: Path,
        done: Callable[[slice], object],
    ) -> None:
        write_arrays(place / _SENT, sent)
        tasks = [
            (work, self._places(number), run, place / _SENT, place / _block(number))
            for number, run in enumerate(self.runs)
        ]
        run_each(self._client, _run_on_block, tasks, lambda number: done(slice(*self.runs[number])))
        shutil.rmtree(place / _SENT, ignore_errors=True)

    def _places(self, number: int) -> tuple[Path, ...]:
        return tuple(folder / _block(number) for folder in self._folders)

    def _new_folder(self, name: str) -> Path:
        place = self._folder / f"{name}-{uuid.uuid4().hex}"
        with cluster_errors(self._client):
            place.mkdir()
        return place


@contextmanager
def gather_rows(
    client: Any,
    directory: str | os.PathLike[str],
    work: Callable[..., Arrays],
    tasks: Sequence[tuple[Any, ...]],
    description: str,
) -> Iterator[RowBlocks]:
    """Have workers write blocks of rows to files, which are removed at the end.

    Parameters
    ----------
    client
        A `dask.distributed.Client`.
    directory
        Where to write; every worker must reach it.
    work
        Returns the arrays of a block: ``work(*task)``.
    tasks
        The first row of each block, the row after its last, and further arguments of `work`.
    description
        The name of the stage in progress bars and logs.
    """
    folder = Path(directory).absolute() / f"rows-{uuid.uuid4().hex[:20]}"
    folder.mkdir(parents=True)
    try:
        # Marked as ours from the start, so that `remove_results` removes what a killed run left.
        write_metadata(folder, KIND, {"files": {}})
        place = folder / _FIRST
        calls = [(work, task, place / _block(number)) for number, task in enumerate(tasks)]
        run_all(client, _gather, calls, description)
        yield RowBlocks(client, folder, [(task[0], task[1]) for task in tasks], [place])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def csr_arrays(matrix: sparse.csr_array[Any], name: str) -> Arrays:
    """Return a sparse matrix as arrays whose names begin with `name`."""
    return {
        f"{name}.indptr": matrix.indptr.astype(np.int64),
        f"{name}.indices": matrix.indices,
        f"{name}.data": matrix.data,
    }


def _gather(work: Callable[..., Arrays], task: tuple[Any, ...], output: Path) -> None:
    write_arrays(output, work(*task))


def _run_on_block(
    work: Callable[[Block, Arrays], Arrays],
    block: tuple[Path, ...],
    run: tuple[int, int],
    sent: Path,
    output: Path,
) -> None:
    """Do the work of one block on a worker, and write the result to `output`."""
    with blas_threads(1):  # other threads of the worker have tasks of their own
        result = work(Block(slice(*run), _cached_arrays(block)), _read(sent))
    write_arrays(output, result)


@lru_cache(maxsize=_REMEMBERED)
def _cached_arrays(places: tuple[Path, ...]) -> Arrays:
    return _read_all(places)


def _read_all(places: Sequence[Path]) -> Arrays:
    return {name: array for place in places for name, array in _read(place).items()}


def _read(place: Path) -> Arrays:
    """Map the arrays of a directory."""
    return {file.stem: np.load(file, mmap_mode="r") for file in sorted(place.glob("*.npy"))}


def write_arrays(place: Path, arrays: Arrays) -> None:
    """Write arrays to a directory, which appears whole or not at all.

    Another worker may write the same directory, if this one was given up too early.
    """
    partial = place.with_name(f"{place.name}-{uuid.uuid4().hex}")
    partial.mkdir(parents=True)
    for name, array in arrays.items():
        np.save(partial / f"{name}.npy", array, allow_pickle=False)
    try:
        partial.rename(place)
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(partial, ignore_errors=True)


def _block(number: int) -> str:
    return f"block-{number}"
