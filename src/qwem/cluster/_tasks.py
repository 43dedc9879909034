"""Tasks on a cluster: a bounded number at a time, and one sentence for a cluster that is lost."""

from __future__ import annotations

import logging
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import progress
from qwem.errors import ClusterError, QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_LOGGER = logging.getLogger(__name__)

PER_THREAD = 2
"""Tasks in flight per thread of the cluster. Dask would take them all at once."""
LOOK_EVERY = 1.0
"""Seconds without a result after which the scheduler is asked who has the tasks."""
LOOKS_WITHOUT_WORKERS = 600
"""How often in a row it may answer that there are no workers."""


def run_all(
    client: Any,
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    description: str,
    done: Callable[[int], object] = lambda _: None,
) -> list[Any]:
    """Return ``work(*task)`` of every task, in their order.

    The results travel to this process, so they should be small: paths, not arrays. If a worker is
    lost, its tasks are done again, even those that it had finished. `done` is called with the
    number of each task that has ended; its errors end the run.
    """
    results: list[Any] = [None] * len(tasks)

    def submit(number: int) -> Any:
        return client.submit(work, *tasks[number], pure=False)

    def take(number: int, future: Any) -> None:
        results[number] = future.result(LOOK_EVERY)
        bar.update()
        done(number)

    with (
        logging_time(description, len(tasks)),
        cluster_errors(client),
        progress(description, len(tasks), "task") as bar,
    ):
        _run(client, submit, len(tasks), PER_THREAD * thread_total(client), take)
    return results


def run_each(
    client: Any,
    work: Callable[..., object],
    tasks: Sequence[tuple[Any, ...]],
    done: Callable[[int], object],
) -> None:
    """Do ``work(*task)`` for every task, one task per thread, all at once.

    A task goes to the same worker in every call, as long as that worker is there: what it has read
    before is in its memory. Results should be files, since what `work` returns stays where it is.
    `done` is called with the number of each task that has ended.
    """
    homes: dict[int, str] = {}

    def submit(number: int) -> Any:
        home = homes.pop(number, None)  # the second time any worker will do
        return client.submit(
            work, *tasks[number], workers=home, allow_other_workers=bool(home), pure=False
        )

    with cluster_errors(client):
        threads = client.nthreads()
        workers = [worker for worker in sorted(threads) for _ in range(threads[worker])]
        if workers:
            homes |= {number: workers[number % len(workers)] for number in range(len(tasks))}
        _run(client, submit, len(tasks), len(tasks), lambda number, _: done(number))


def _run(
    client: Any,
    submit: Callable[[int], Any],
    count: int,
    at_once: int,
    take: Callable[[int, Any], object],
) -> None:
    """Do the tasks from 0 to `count`, so many at once.

    ``submit(number)`` returns the future of a task, and ``take(number, future)`` takes one that is
    finished. A task is submitted again if `take` can't get its result in time, since its worker may
    be lost, or if it has gone astray.
    """
    from distributed import wait

    waiting = deque(range(count))
    running: dict[Any, int] = {}
    strays = _Strays(client)
    with client.as_current():
        while waiting or running:
            while waiting and len(running) < at_once:
                number = waiting.popleft()
                running[submit(number)] = number
            lost = []
            try:
                ended = wait(list(running), LOOK_EVERY, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                lost = strays.find(running)
                ended = ()
            for future in ended:
                if future.status == "error":
                    _raise_error(future)
                if future.status != "finished":  # it was, but its worker was lost
                    continue
                try:
                    take(running[future], future)
                except TimeoutError:
                    lost.append(future)
                else:
                    del running[future]
            if lost:
                waiting.extendleft(running.pop(future) for future in lost)
                client.cancel(lost)


class _Strays:
    """Tasks that no worker has in two looks at the scheduler, although one has time for them.

    If all workers are lost at once, Dask waits for those that the tasks were to go to.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._suspects: set[Any] = set()
        self._looks_without_workers = 0

    def find(self, futures: Iterable[Any]) -> list[Any]:
        """Return the futures of such tasks."""
        threads, tasks = self._client.nthreads(), self._client.processing()
        self._looks_without_workers = 0 if threads else self._looks_without_workers + 1
        if self._looks_without_workers > LOOKS_WITHOUT_WORKERS:
            raise ClusterError(
                "The cluster has had no workers for "
                f"{LOOK_EVERY * LOOKS_WITHOUT_WORKERS / 60:.0f} minutes; the results that are "
                "finished are kept: run the same command again when there are some."
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
            f"A worker could not do its work: {error}; the results that are finished are kept: run "
            "the same command again when that is mended."
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
    """Return how many threads the cluster has, and 1 where it has just lost its last worker."""
    with cluster_errors(client):
        return max(1, sum(client.nthreads().values()))


@contextmanager
def cluster_errors(client: Any) -> Iterator[None]:
    """Turn the loss of the scheduler, or of worker after worker, into a `ClusterError`."""
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
            "One task ended every worker that did it; give the workers more memory, "
            "or cut smaller shards."
        ) from error
    except (CancelledError, OSError) as error:  # CommClosedError and TimeoutError among them
        raise ClusterError(
            f"The scheduler at {address} was lost; the results that are finished are kept: run the "
            "same command again when there is a cluster."
        ) from error
