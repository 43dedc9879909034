"""Progress bars and a stopwatch for the stages of a run."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


STAGES = logging.getLogger("qwem.stages")
"""Logs the name of each stage as it starts, at level INFO."""


class Progress(Protocol):
    """A progress bar."""

    def update(self, amount: float = 1) -> Any:
        """Advance by `amount`."""

    def set_postfix_str(self, text: str) -> Any:
        """Show `text` after the bar."""

    def __enter__(self) -> Progress: ...
    def __exit__(self, *exception: object) -> Any: ...


def progress(description: str, total: float | None = None, unit: str = "it") -> Progress:
    """Return a progress bar on standard error, silent where that is not a terminal."""
    from tqdm import tqdm

    bar: Progress = tqdm(
        desc=description,
        total=total,
        unit=unit,
        unit_scale=True,
        disable=not sys.stderr.isatty(),
        leave=False,
        dynamic_ncols=True,
    )
    return bar


class Stopwatch:
    """Seconds by stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time that the block takes to stage `name`."""
        STAGES.info(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
