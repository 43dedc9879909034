"""Tables of words as Markdown and HTML, with whatever the words contain made harmless."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~&])")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table; what Markdown would read as its own is escaped.

    >>> markdown_table(["word"], [["a|b"]])
    '| word |\n|---|\n| a\\|b |\n'
    """
    lines = [header, *rows]
    cells = [[_MARKDOWN.sub(r"\\\1", one_line(cell)) for cell in line] for line in lines]
    head, *body = (f"| {' | '.join(line)} |\n" for line in cells)
    return "".join([head, "|---" * len(header), "|\n", *body])


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an HTML table, everything in it escaped.

    >>> "a &lt;b&gt;" in html_table(["word"], [["a <b>"]])
    True
    """
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n"
        for row in rows
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"


def one_line(text: str) -> str:
    """Return `text` with every run of white space and control characters as one space."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
