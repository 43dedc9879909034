"""Results as text, Markdown, HTML, plain data and data frames."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from qwem._internal.resources import require, text_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~&])")


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
    header: Sequence[str], rows: Iterable[Sequence[str]], *, row_headers: bool = False
) -> str:
    """Return an HTML table, with all cells escaped.

    `header` has the names of the columns, or nothing. With `row_headers` the first cell of each row
    names the row.

    >>> print(html_table(["word"], [["a <b>"]]), end="")
    <table>
    <thead><tr><th scope="col">word</th></tr></thead>
    <tbody>
    <tr><td>a &lt;b&gt;</td></tr>
    </tbody>
    </table>
    """
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "".join(f"<tr>{_cells(row, row_headers)}</tr>\n" for row in rows)
    named = f"<thead><tr>{head}</tr></thead>\n" if header else ""
    return f"<table>\n{named}<tbody>\n{body}</tbody>\n</table>\n"


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
    cells = [f"<td>{escape(cell)}</td>" for cell in row]
    if named:
        cells[0] = f'<th scope="row">{escape(row[0])}</th>'
    return "".join(cells)


Chart: TypeAlias = Literal["", "intervals", "paths"]
"""The small chart beside each row of a table on a page: an interval from ``low`` to ``high``, a
path over all columns but the first, or none."""


def _version() -> str:
    from qwem import __version__

    return __version__


@dataclass(frozen=True)
class ShownTable:
    """A result as it is shown: a heading and the rows of a table."""

    heading: str
    rows: list[dict[str, Any]]
    chart: Chart = ""

    def to_text(self) -> str:
        """Return the heading and the table as text."""
        if not self.rows:
            return self.heading
        return self.heading + text_table([list(self.rows[0]), *self._cells()])

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return markdown_table(list(self.rows[0]), self._cells()) if self.rows else ""

    def to_html(self) -> str:
        """Return the heading and the table as HTML."""
        lines = "<br>\n".join(map(escape, self.heading.splitlines()))
        heading = f"<p>{lines}</p>\n" if lines else ""
        return heading + (html_table(list(self.rows[0]), self._cells()) if self.rows else "")

    def _cells(self) -> list[list[str]]:
        return [[as_cell(value) for value in row.values()] for row in self.rows]


@dataclass(frozen=True)
class Provenance:
    """How a result was made: the settings, the seed, the size of the sample, and the version."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    n: int | None = None
    """The number of observations."""
    version: str = field(default_factory=_version)


class Plain:
    """Base of frozen dataclasses whose fields, and some properties, can be written as JSON.

    Fields with ``repr=False``, such as large arrays, are left out.
    """

    derived: ClassVar[tuple[str, ...]] = ()
    """The properties that `to_dict` includes."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; numbers that are not finite are None."""
        names = [each.name for each in fields(self) if each.repr]  # type: ignore[arg-type]
        return {
            name: as_plain(getattr(self, name)) for name in (*names, *getattr(self, "derived", ()))
        }


@dataclass(frozen=True, eq=False)
class Result(Plain, ABC):
    """Base of results that are tables; a subclass is a frozen dataclass that defines `rows`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Scores(Result):
    ...     scores: dict[str, float]
    ...
    ...     def rows(self):
    ...         return [{"word": word, "score": score} for word, score in self.scores.items()]
    >>> print(Scores({"king": 0.71, "a": 0.5}).to_text(), end="")
    word  score
    king  0.71
    a     0.5
    """

    chart: ClassVar[Chart] = ""
    provenance: Provenance | None = field(default=None, kw_only=True, repr=False, compare=False)
    """How the result was made, if recorded."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table, each as a mapping from columns to values."""

    def heading(self) -> str:
        """Return the text above the table; by default none."""
        return ""

    def shown(self) -> ShownTable:
        """Return the table that is shown: by default the heading and all rows."""
        return ShownTable(self.heading(), self.rows(), self.chart)

    def to_text(self) -> str:
        """Return the heading and the table as text."""
        return self.shown().to_text()

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        return self.shown().to_markdown()

    def to_html(self) -> str:
        """Return the heading and the table as HTML, with every word escaped."""
        return self.shown().to_html()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, with `provenance` if recorded."""
        made = {} if self.provenance is None else {"provenance": as_plain(self.provenance)}
        return {**super().to_dict(), **made}

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame; needs pandas."""
        return require("pandas", "all").DataFrame(self.rows())

    def _repr_html_(self) -> str:
        """Return the heading and the table for a notebook."""
        return self.to_html()


def as_cell(value: Any) -> str:
    """Return a value as the text of a cell: floats to three digits, empty for NaN and None.

    >>> [as_cell(value) for value in ("king", 1234, 0.12345, None, math.nan)]
    ['king', '1,234', '0.123', '', '']
    """
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else " ".join(str(value).splitlines())


def as_plain(value: Any) -> Any:
    """Convert a value to plain data for JSON: arrays and tuples to lists, dataclasses to objects.

    A number that is not finite is None, since JSON has no NaN.
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return Plain.to_dict(value)  # type: ignore[arg-type]
    if hasattr(value, "_asdict"):
        return as_plain(value._asdict())
    if isinstance(value, Mapping):
        return {str(key): as_plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return as_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [as_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def listed(words: Iterable[str], most: int = 10) -> str:
    """Return words as a list for a sentence, cut short if it is long.

    >>> listed("abcd", most=2)
    'a, b and 2 more'
    """
    shown = list(words)
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {rest} more" if rest > 0 else "")
