"""Text for people: tables as text, Markdown and HTML, and what a terminal can show."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~&])")


class Markup(str):
    """A cell that is HTML already and is not escaped."""

    __slots__ = ()


def text_table(rows: Sequence[Sequence[str]]) -> str:
    r"""Return aligned columns, one line per row.

    >>> text_table([["king", "0.71"], ["a", "0.5"]])
    'king  0.71\na     0.5\n'
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a Markdown table; characters with a meaning in Markdown are escaped.

    >>> markdown_table(["word"], [["a|b"]])
    '| word |\n|---|\n| a\\|b |\n'
    """
    lines = [header, *rows]
    cells = [[_MARKDOWN.sub(r"\\\1", one_line(cell)) for cell in line] for line in lines]
    head, *body = (f"| {' | '.join(line)} |\n" for line in cells)
    return "".join([head, "|---" * len(header), "|\n", *body])


def html_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    style: str = "",
    row_headers: bool = False,
) -> str:
    """Return an HTML table; cells are escaped, except `Markup`.

    Parameters
    ----------
    header
        The names of the columns; a table without names has an empty header.
    rows
        The cells of each row.
    style
        The table's CSS class.
    row_headers
        Whether the first cell of each row names the row.

    >>> print(html_table(["word"], [["a <b>"]]), end="")
    <table>
    <thead><tr><th scope="col">word</th></tr></thead>
    <tbody>
    <tr><td>a &lt;b&gt;</td></tr>
    </tbody>
    </table>
    """
    head = "".join(f'<th scope="col">{_escaped(cell)}</th>' for cell in header)
    body = "".join(f"<tr>{_cells(row, row_headers)}</tr>\n" for row in rows)
    opening = f'<table class="{style}">' if style else "<table>"
    named = f"<thead><tr>{head}</tr></thead>\n" if header else ""
    return f"{opening}\n{named}<tbody>\n{body}</tbody>\n</table>\n"


def with_article(noun: str) -> str:
    """Return a noun after "a" or "an".

    >>> with_article("embedding"), with_article("model"), with_article("update state")
    ('an embedding', 'a model', 'an update state')
    """
    vowel = noun[:1] in "aeiou" and noun[:2] not in ("us", "un")  # usage, unit
    return f"{'an' if vowel else 'a'} {noun}"


def one_line(text: str) -> str:
    """Return `text` with each run of white space and control characters as one space."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _cells(row: Sequence[str], named: bool) -> str:
    cells = [f"<td>{_escaped(cell)}</td>" for cell in row]
    if named:
        cells[0] = f'<th scope="row">{_escaped(row[0])}</th>'
    return "".join(cells)


def _escaped(cell: str) -> str:
    return cell if isinstance(cell, Markup) else html.escape(cell)


_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except line breaks and tabs, line and paragraph separators, characters that
turn the direction of writing, and halves of surrogate pairs."""


def printable(text: str, encoding: str | None) -> str:
    r"""Return `text` with everything that is unsafe or can't be encoded as ``\u`` and a number.

    Valid JSON stays valid and means the same.

    >>> print(printable("a red \x1b[31mword, an é", "ascii"))
    a red \u001b[31mword, an \u00e9
    """
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        unknown = {ord(c): json.dumps(c)[1:-1] for c in set(text) if not _is_known(c, encoding)}
        text = text.translate(unknown)
    return text


def _is_known(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
