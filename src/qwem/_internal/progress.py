"""Progress bars: on a terminal only, so that logs and pipes stay clean."""

from __future__ import annotations

import sys
from typing import Any, Protocol


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
