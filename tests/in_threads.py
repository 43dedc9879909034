"""Calls with a number of threads, for tests that it makes no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

import qwem
from qwem._internal import arrays

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


def in_threads(count: int, work: Callable[[], Result]) -> Result:
    """Return what `work` returns, on this many threads, however little work there is."""
    with qwem.threads(count), pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "LEAST_ENTRIES", 1)
        return work()
