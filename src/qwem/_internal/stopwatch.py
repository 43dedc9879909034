"""Stopwatch for the stages of a run."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STAGES = logging.getLogger("qwem.stages")
"""Logs the name of each stage as it starts, at level INFO."""


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
