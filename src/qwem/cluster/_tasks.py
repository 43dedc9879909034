"""Tasks on a cluster, a bounded number at a time, and their results: files that are made once."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import secrets
import shutil
import time
from collections import deque
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.arrays import even_cuts
from qwem._internal.artefact import kind_of, load
from qwem._internal.files import remove_directory
from qwem._internal.resources import progress
from qwem.corpus import Phrases
from qwem.corpus._files import InputFile
from qwem.corpus.reading import Reading
from qwem.corpus.tokenizer import tokenizer_name
from qwem.errors import ArtefactError, ClusterError, QwemError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence


_LOGGER = logging.getLogger(__name__)

TASKS_PER_THREAD = 2
"""Tasks in flight per thread of the cluster. Without a limit Dask would take all at once."""
POLL_SECONDS = 1.0
"""Delay in seconds before asking the scheduler which worker has each task."""
MOST_POLLS_WITHOUT_WORKERS = 600
"""How many times in a row the scheduler may report no workers."""


def run_all(
    client: Any,
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    description: str,
    done: Callable[[int], object] = lambda _: None,
) -> list[Any]:
    """Return ``work(*task)`` of every task, in their order.

    The results are sent to this process, so they should be small: paths, not arrays. If a worker is
    lost, its tasks are done again, even finished ones. `done` is called with the number of each
    finished task; an error that it raises ends the run.
    """
    results: list[Any] = [None] * len(tasks)

    def submit(number: int) -> Any:
        return client.submit(work, *tasks[number], pure=False)

    with (
        logging_time(description, len(tasks)),
        cluster_errors(client),
        progress(description, len(tasks), "task") as bar,
    ):
        at_once = TASKS_PER_THREAD * thread_total(client)
        for number, result in _finished(client, submit, len(tasks), at_once):
            results[number] = result
            bar.update()
            done(number)
    return results


def run_each(
    client: Any,
    work: Callable[..., object],
    tasks: Sequence[tuple[Any, ...]],
    done: Callable[[int], object],
) -> None:
    """Do ``work(*task)`` for every task, one task per thread, all at once.

    A task goes to the same worker in every call while that worker lives, because its files are in
    that worker's memory. Results should be files: what `work` returns is not fetched. `done` is
    called with the number of each finished task.
    """
    homes: dict[int, str] = {}

    def submit(number: int) -> Any:
        home = homes.pop(number, None)  # a second attempt may go to any worker
        return client.submit(
            work, *tasks[number], workers=home, allow_other_workers=bool(home), pure=False
        )

    with cluster_errors(client):
        threads = client.nthreads()
        workers = [worker for worker in sorted(threads) for _ in range(threads[worker])]
        if workers:
            homes |= {number: workers[number % len(workers)] for number in range(len(tasks))}
        for number, _ in _finished(client, submit, len(tasks), len(tasks), fetch=False):
            done(number)


def _finished(
    client: Any, submit: Callable[[int], Any], count: int, at_once: int, *, fetch: bool = True
) -> Iterator[tuple[int, Any]]:
    """Run the tasks numbered below `count`; yield the number and result of each that finishes.

    ``submit(number)`` returns the future of a task. At most `at_once` tasks are in flight. A task
    is submitted again if its result does not arrive in time, since its worker may be lost, or if no
    worker has it (see `_OrphanedTasks`). Each time its result has twice as long to arrive, so that
    a slow machine is not taken for a lost one for ever. Without `fetch`, results are None.
    """
    from distributed import wait

    waiting = deque(range(count))
    running: dict[Any, int] = {}
    timeouts = [POLL_SECONDS] * count
    orphaned = _OrphanedTasks(client)
    while waiting or running:
        while waiting and len(running) < at_once:
            number = waiting.popleft()
            running[submit(number)] = number
        lost = []
        try:
            with client.as_current():
                ended = wait(list(running), POLL_SECONDS, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            lost = orphaned.find(running)
            ended = ()
        for future in ended:
            if future.status == "error":
                _raise_error(future)
            if future.status != "finished":  # its worker was lost meanwhile
                continue
            number = running[future]
            try:
                result = future.result(timeouts[number]) if fetch else None
            except TimeoutError:
                timeouts[number] *= 2
                lost.append(future)
                continue
            del running[future]
            yield number, result
        if lost:
            waiting.extendleft(running.pop(future) for future in lost)
            client.cancel(lost)


class _OrphanedTasks:
    """Finds tasks that no worker has in two successive checks, although a worker is idle.

    This happens if all workers are lost at once: Dask waits for those that were to do the tasks.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._suspects: set[Any] = set()
        self._polls_without_workers = 0

    def find(self, futures: Iterable[Any]) -> list[Any]:
        """Return the futures of such tasks."""
        threads, tasks = self._client.nthreads(), self._client.processing()
        self._polls_without_workers = 0 if threads else self._polls_without_workers + 1
        if self._polls_without_workers > MOST_POLLS_WITHOUT_WORKERS:
            minutes = POLL_SECONDS * MOST_POLLS_WITHOUT_WORKERS / 60
            raise ClusterError(
                f"The cluster has had no workers for {minutes:.0f} minutes; finished results are "
                "kept: run the same command again when there are workers."
            )
        before, self._suspects = self._suspects, set()
        if any(size > len(tasks.get(worker, ())) for worker, size in threads.items()):
            given = {key for keys in tasks.values() for key in keys}
            self._suspects = {
                future for future in futures if not (future.done() or future.key in given)
            }
        return list(before & self._suspects)


def _raise_error(future: Any) -> None:
    """Raise the error of a task."""
    error = future.exception()
    if isinstance(error, OSError):
        raise ClusterError(
            f"A worker could not do its work: {error}; finished results are kept: run the same "
            "command again when that is fixed."
        ) from error
    future.result()


@contextmanager
def logging_time(description: str, tasks: int) -> Iterator[None]:
    """Log how long a stage takes."""
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    _LOGGER.info("%s: %d tasks in %.1f s", description, tasks, seconds)


def thread_total(client: Any) -> int:
    """Return how many threads the cluster has, at least 1 (it may just have lost all workers)."""
    with cluster_errors(client):
        return max(1, sum(client.nthreads().values()))


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Turn the loss of the scheduler, or of several workers by one task, into a `ClusterError`."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    address = client.scheduler.address if client.scheduler else "the cluster"
    try:
        if client.scheduler is None:
            raise CommClosedError
        yield
    except QwemError:
        raise
    except KilledWorker as error:
        raise ClusterError(
            "One task killed every worker that tried it; give the workers more memory, "
            "or cut smaller shards."
        ) from error
    except (CancelledError, OSError) as error:  # CommClosedError and TimeoutError among them
        raise ClusterError(
            f"The scheduler at {address} was lost; finished results are kept: run the same command "
            "again when there is a cluster."
        ) from error


FAN_IN = 8
"""How many results are added in one task."""
SHARING_TIMEOUT = 10.0
"""Seconds within which a file must become visible on other machines."""
_RESULT = re.compile("(shard|joined|words|pairs|phrases|vocabulary|counts|sum|rows)-[0-9a-f]{20}")
_PROBE = re.compile(r"\.probe-[0-9a-f]{16}")


def remove_results(directory: str | os.PathLike[str]) -> None:
    """Remove the files of cluster runs from a directory, and the directory if it is then empty."""
    place = Path(directory)
    if not place.exists():
        return
    for entry in place.iterdir():
        if _RESULT.fullmatch(entry.name) and kind_of(entry) is not None:
            shutil.rmtree(entry)
        elif _PROBE.fullmatch(entry.name):  # of a killed run
            entry.unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def require_shared(client: Any, place: Path) -> None:
    """Raise `ClusterError` unless workers see what this process writes to a directory."""
    place.mkdir(parents=True, exist_ok=True)
    probe = place / f".probe-{secrets.token_hex(8)}"
    probe.touch()
    try:
        tasks = [(probe, SHARING_TIMEOUT)] * thread_total(client)
        seen = run_all(client, _is_visible, tasks, "looking for shared files")
    finally:
        probe.unlink(missing_ok=True)
    if not all(seen):
        with suppress(OSError):  # it has other files
            place.rmdir()
        raise ClusterError(
            f"Workers don't see files written to {place}; choose a directory that all machines of "
            "the cluster share under the same name."
        )


def _is_visible(file: Path, timeout: float) -> bool:
    """Return whether a file exists; files of other machines may take a moment to appear."""
    until = time.monotonic() + timeout
    while not file.exists():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def make_all(
    client: Any,
    work: Callable[..., object],
    tasks: Sequence[tuple[Any, ...]],
    description: str,
    done: Callable[[int], object] = lambda _: None,
) -> list[Path]:
    """Make the output of every task that is not there yet; return the outputs.

    ``work(*task)`` writes the output, which is the last item of the task.
    """
    return run_all(client, _make, [(work, *task) for task in tasks], description, done)


def _make(work: Callable[..., object], *task: Any) -> Path:
    return once(task[-1], lambda: work(*task))


def add_up(
    client: Any,
    add: Callable[[Sequence[Path], Path], object],
    paths: Sequence[Path],
    place: Path,
    name: str,
) -> Path:
    """Add up results in a tree, and return the path of the sum.

    ``add(paths, output)`` writes the sum of some results.
    """
    while len(paths) > 1:
        groups = [paths[start:stop] for start, stop in groups_of(paths)]
        tasks = [
            (group, place / f"{name}-{key_of(*(path.name for path in group))}") for group in groups
        ]
        paths = make_all(client, add, tasks, f"adding {name}")
    return paths[0]


def groups_of(paths: Sequence[Path]) -> list[tuple[int, int]]:
    """Return the ranges of paths that are added in one task: at most `FAN_IN` each."""
    cuts = even_cuts(0, len(paths), -(-len(paths) // FAN_IN)).tolist()
    return list(pairwise(cuts))


def once(output: Path, work: Callable[[], object]) -> Path:
    """Do the work unless its output exists already, and return the output's path.

    Outputs are written whole or not at all, under a name that depends on their inputs. A damaged
    output is made again.
    """
    if not output.exists():
        work()
    elif not _is_whole(output):
        with suppress(FileNotFoundError):
            remove_directory(output)
        work()
    return output


def _is_whole(output: Path) -> bool:
    try:
        kind = kind_of(output)
        return kind is not None and load(output, kind, lambda saved: saved.check() > 0)
    except ArtefactError:
        return False


def key_of(*parts: Any) -> str:
    """Return a digest that names what this version makes from these parts."""

    def plain(part: Any) -> Any:
        if isinstance(part, Reading):
            return {**vars(part), "tokenizer": tokenizer_name(part.tokenizer)}
        if isinstance(part, Phrases):
            return [part.firsts, part.seconds, part.passes]
        if isinstance(part, InputFile):
            return [part.state, part.shard]
        return str(part)

    text = json.dumps([__version__, *map(plain, parts)], sort_keys=True, default=plain)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
