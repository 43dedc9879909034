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


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and a worker as processes of their own: its address, and the scheduler's."""
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
        yield json.loads(file.read_text())["address"], scheduler
    finally:
        for process in (worker, scheduler):
            process.kill()
            process.wait()


def kill_workers(client: Any, most: int = sys.maxsize) -> None:
    """Kill the processes of workers, of those that are there just now."""
    for pid in list(client.run(os.getpid, on_error="ignore").values())[:most]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
