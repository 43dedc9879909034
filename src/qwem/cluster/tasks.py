"""Tasks on a cluster: a bounded number at a time, and one sentence for a cluster that is lost."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwem._internal.progress import progress
from qwem.errors import ClusterError, QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LOGGER = logging.getLogger(__name__)

PER_THREAD = 2
"""Tasks in flight per thread of the cluster. Dask would take them all at once."""
LOOK_EVERY = 3.0
"""Seconds without a result after which it is looked whether a task's worker is still there."""


def run_all(
    client: Any, work: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], description: str
) -> list[Any]:
    """Return ``work(*task)`` of every task, in their order.

    The results travel to this process, so they should be small: paths, not arrays.
    """
    from distributed import as_completed

    results: list[Any] = [None] * len(tasks)
    waiting = iter(enumerate(tasks))
    places: dict[str, int] = {}
    running = as_completed()

    def start_next() -> None:
        for place, task in waiting:
            future = client.submit(work, *task, pure=False)
            places[future.key] = place
            running.add(future)
            return

    start = time.perf_counter()
    with telling_losses(client), progress(description, len(tasks), "piece") as bar:
        for _ in range(PER_THREAD * thread_total(client)):
            start_next()
        for future in running:
            results[places.pop(future.key)] = future.result()
            bar.update()
            start_next()
    seconds = time.perf_counter() - start
    _LOGGER.info("%s: %d pieces in %.1f s", description, len(tasks), seconds)
    return results


def run_each(
    client: Any,
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    done: Callable[[int], object],
) -> list[Any]:
    """Return ``work(*task)`` of every task, one task per thread, all at once.

    A task goes to the same worker in every call, as long as that worker is there: what it has read
    before is in its memory. `done` is called with the number of each task that has ended.
    """
    from distributed import wait

    results: list[Any] = [None] * len(tasks)
    places: dict[Any, int] = {}
    homes: dict[Any, str | None] = {}

    def start(numbers: Sequence[int]) -> None:
        threads = client.nthreads()
        workers = [worker for worker in sorted(threads) for _ in range(threads[worker])]
        for number in numbers:
            home = workers[number % len(workers)] if workers else None
            future = client.submit(
                work, *tasks[number], workers=home, allow_other_workers=bool(home), pure=False
            )
            places[future], homes[future] = number, home

    with telling_losses(client):
        start(range(len(tasks)))
        while places:
            try:
                ended = wait(list(places), LOOK_EVERY, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                # If all workers are lost at once, Dask waits for these very ones.
                present = client.nthreads()
                lost = [future for future in places if homes[future] not in present]
                numbers = [places.pop(future) for future in lost]
                client.cancel(lost)
                start(numbers)
                continue
            for future in ended:
                try:
                    results[places[future]] = future.result(LOOK_EVERY)
                except TimeoutError:  # its worker was lost with the result, and others may be too
                    continue
                done(places.pop(future))
    return results


def thread_total(client: Any) -> int:
    """Return how many threads the cluster has, and 1 where it has just lost its last worker."""
    return max(1, sum(client.nthreads().values()))


@contextmanager
def telling_losses(client: Any) -> Iterator[None]:
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
            "One piece of the work ended every worker that did it; give the workers more memory, "
            "or cut smaller pieces."
        ) from error
    except (CancelledError, OSError) as error:  # CommClosedError and TimeoutError among them
        raise ClusterError(
            f"The scheduler at {address} was lost; the pieces that are finished are kept: run the "
            "same command again when there is a cluster."
        ) from error
