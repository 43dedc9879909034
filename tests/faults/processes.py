"""Commands in processes of their own, forked from one that has imported everything already."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class Child:
    """A process, and the file that has what it printed."""

    process: Any
    log: Path

    def send(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def wait(self) -> int:
        """Wait for the end, and return the exit status, negative for a signal."""
        self.process.join()
        return int(self.process.exitcode)

    @property
    def said(self) -> str:
        """What it printed."""
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""


def start(log: Path, work: Callable[..., Any], *arguments: Any) -> Child:
    """Start a process that does some work, with temporary files beside its log."""
    _serve()
    process = FORKS.Process(target=_run, args=(str(log), work, *arguments))
    process.start()
    return Child(process, log)


@cache
def _serve() -> None:
    """Start the process that the others are forked from, with the path that modules have here."""
    FORKS.set_forkserver_preload(["__main__", "faults.warm"])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def start_command(log: Path, *arguments: str) -> Child:
    """Start a qwem command."""
    return start(log, command, *arguments)


def command(*arguments: str) -> int:
    """Run a qwem command and return its exit status."""
    from qwem.cli import main

    return main(list(arguments))


def _run(log: str, work: Callable[..., Any], *arguments: Any) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.environ["TMPDIR"] = tempfile.tempdir = os.path.join(os.path.dirname(log), "tmp")
    os.makedirs(tempfile.tempdir, exist_ok=True)
    try:
        status = work(*arguments)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.exit(status or 0)
