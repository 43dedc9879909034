"""Tasks on a cluster: a bounded number at a time, and one sentence for a cluster that is lost."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwem._internal.progress import progress
from qwem.errors import ClusterError, QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PER_THREAD = 2
"""Tasks in flight per thread of the cluster. Dask would take them all at once."""


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

    with telling_losses(client), progress(description, len(tasks), "piece") as bar:
        for _ in range(PER_THREAD * max(1, sum(client.nthreads().values()))):
            start_next()
        for future in running:
            results[places.pop(future.key)] = future.result()
            bar.update()
            start_next()
    return results


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
            "One piece of the text ended every worker that read it; give the workers more memory, "
            "or cut smaller pieces."
        ) from error
    except (CancelledError, OSError) as error:  # CommClosedError and TimeoutError among them
        raise ClusterError(
            f"The scheduler at {address} was lost; the pieces that are finished are kept: run the "
            "same command again when there is a cluster."
        ) from error
