"""A scheduler and a worker as processes of their own, to be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TypeAlias

    Popen: TypeAlias = subprocess.Popen[bytes]


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Popen, Popen]]:
    """A scheduler and a worker as processes of their own, after the scheduler's address."""
    file = folder / "scheduler.json"
    command = [sys.executable, "-m", "dask"]
    common = ["--no-dashboard", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen(
        [*command, "scheduler", "--port", "0", *common], stderr=subprocess.DEVNULL
    )
    worker = subprocess.Popen(
        [*command, "worker", "--no-nanny", *common], stderr=subprocess.DEVNULL
    )
    try:
        while not file.exists() or not file.read_text().strip():
            assert scheduler.poll() is None
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], scheduler, worker
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def kill_workers(client: Any, most: int = sys.maxsize) -> None:
    """Kill the processes of workers of a local cluster, of those that are there just now.

    Their nannies are asked: a worker that was just killed would be asked in vain for half a minute.
    A nanny whose worker is killed while it starts gives up, so only those that run are killed.
    """
    present = client.nthreads()
    nannies = [
        each
        for each in client.cluster.workers.values()
        if each.worker_address in present and each.status.name == "running"
    ]
    for nanny in nannies[:most]:
        if nanny.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(nanny.pid, signal.SIGKILL)
