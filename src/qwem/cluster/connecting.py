"""Clients of a Dask cluster: one that is already running, or one started on this machine."""

from __future__ import annotations

import logging
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwem._internal.files import temporary_directory
from qwem._internal.resources import require
from qwem._internal.results import one_line
from qwem._internal.settings import require_whole
from qwem.errors import ClusterError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOGGER = logging.getLogger(__name__)

CONNECT_TIMEOUT = 30.0
"""Seconds to wait for a scheduler, and for its first worker."""
LOG_DELAY = 2.0
"""Delay in seconds before logging what we wait for."""
WORKER_TIMEOUT = 120.0
"""Seconds without a sign of life after which a local worker is given up."""
RESTART_TIMEOUT = 120.0
"""Seconds within which a local worker that ended must be back, or it is given up for good."""
ALLOWED_FAILURES = 10
"""How often a worker may be lost during the same task."""
_WORKER_TTL = "distributed.scheduler.worker-ttl"
_LOCAL = {
    "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
    # With Dask's own 15 seconds, a busy machine would lose one worker after the other.
    "distributed.deploy.lost-worker-timeout": f"{RESTART_TIMEOUT:.0f}s",
    # Dask makes workers return freed memory at once. That also keeps glibc from adapting to the
    # size of arrays, so each array would be fresh memory. None leaves glibc to its own rule.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    # The caller reports the error of a task once; workers would print a traceback too.
    "distributed.worker.preload": [
        "import logging\n"
        "logging.getLogger('distributed.worker').setLevel(logging.CRITICAL)\n"
        "logging.getLogger('distributed.worker.memory').setLevel(logging.WARNING)\n"
    ],
}


@contextmanager
def connected(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield a `dask.distributed.Client`.

    Parameters
    ----------
    address
        The address of a scheduler, such as ``tcp://host:8786``.
    workers
        Instead of an address: the number of processes to start on this machine, of one thread each.
    """
    if (address is None) == (workers is None):
        raise SettingError("Give either the address of a cluster or a number of local workers.")
    distributed = require("distributed", "cluster")
    if workers is not None:
        require_whole("workers", workers, least=1)
        with (
            require("dask", "cluster").config.set(
                {**_LOCAL, _WORKER_TTL: f"{WORKER_TIMEOUT:.0f}s"}
            ),
            temporary_directory("qwem-workers") as scratch,
            _started(distributed, workers, scratch) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        with _log_if_slow(f"waiting for the cluster at {address}"):
            client = distributed.Client(address, timeout=CONNECT_TIMEOUT)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"There is no cluster at {address}; start its scheduler, or check the address."
        ) from error
    with client:
        try:
            with _log_if_slow(f"waiting for workers of the cluster at {address}"):
                client.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
        except TimeoutError as error:
            raise ClusterError(
                f"The cluster at {address} has no workers; start some with `dask worker {address}`."
            ) from error
        yield client


def _started(distributed: Any, workers: int, scratch: Path) -> Any:
    """Start a cluster of processes on this machine, with its own files in `scratch`."""
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=str(scratch),
        )
    except (RuntimeError, OSError) as error:  # a worker ended while it started
        raise ClusterError(
            f"The {workers:,} workers could not be started ({one_line(str(error))}); start "
            "fewer, or run the same command again."
        ) from error


@contextmanager
def _log_if_slow(what: str) -> Iterator[None]:
    """Log what we wait for if the block takes long."""
    message = f"{what}, {CONNECT_TIMEOUT:.0f} seconds at most"
    timer = threading.Timer(LOG_DELAY, _LOGGER.warning, [message])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
