"""Calls with a number of threads, for tests that it makes no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import qwem

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def in_threads(count: int, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, on this many threads."""
    with qwem.threads(count):
        return work()
