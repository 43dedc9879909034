"""Threads and memory: how many cores to use, and refusing what would not fit."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from qwem.errors import MemoryLimitError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator


def thread_count(threads: int | None) -> int:
    """Return `threads`, or the number of cores this process may use where it is None."""
    if threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    if threads < 1:
        raise SettingError(f"threads must be at least 1, not {threads}.")
    return threads


@contextmanager
def blas_threads(threads: int | None) -> Iterator[None]:
    """Let the products of matrices in the block use so many threads; None changes nothing."""
    if threads is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(thread_count(threads)):
        yield


def available_memory() -> int:
    """Return the bytes of memory that new work may take, or a very large number if unknown."""
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemAvailable:"):
            return min(int(line.split()[1]) * 1024, _cgroup_headroom())
    return sys.maxsize


def require_memory(needed: int, what: str, remedy: str) -> None:
    """Raise `MemoryLimitError` unless `needed` bytes are available for `what`."""
    available = available_memory()
    if needed > available:
        raise MemoryLimitError(
            f"{what} would need {needed / 1e9:.1f} GB of memory and "
            f"{available / 1e9:.1f} GB are available; {remedy}."
        )


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _cgroup_headroom() -> int:
    group = Path("/sys/fs/cgroup")
    limit = "".join(_lines(group / "memory.max")).strip()
    used = "".join(_lines(group / "memory.current")).strip()
    return int(limit) - int(used) if limit.isdigit() and used.isdigit() else sys.maxsize


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
