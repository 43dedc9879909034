"""A table of what was tried, printed at the end where QWEM_FAULTS asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from faults.effort import EFFORT
from qwem._internal.resources import text_table

if TYPE_CHECKING:
    from collections.abc import Callable

_ROWS = pytest.StashKey[list[tuple[str, str, str]]]()


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Callable[[str, int, str], None]:
    """Note what was tried, how often, and what came of it."""
    rows = request.config.stash.setdefault(_ROWS, [])
    return lambda what, tried, outcome: rows.append((what, f"{tried:,}", outcome))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    rows = config.stash.get(_ROWS, [])
    if EFFORT and rows:
        terminalreporter.section("faults")
        terminalreporter.write(text_table([("fault", "tried", "outcome"), *rows]))
