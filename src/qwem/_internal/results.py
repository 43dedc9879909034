"""Results as text, plain data and data frames."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from qwem._internal.extras import require
from qwem._internal.tables import text_table

if TYPE_CHECKING:
    from collections.abc import Iterable

Drawn: TypeAlias = Literal["", "intervals", "paths"]
"""What a table has beside its numbers on a page: intervals from ``low`` to ``high``, paths over all
columns but the first, or nothing."""


@dataclass(frozen=True)
class ShownTable:
    """What people see of a result: a heading and the rows of a table."""

    heading: str
    rows: list[dict[str, Any]]
    drawn: Drawn = ""

    def to_text(self) -> str:
        """Return the heading and the table as text."""
        if not self.rows:
            return self.heading
        values = ([as_cell(value) for value in row.values()] for row in self.rows)
        return self.heading + text_table([list(self.rows[0]), *values])


class Result(ABC):
    """Base of results that are a table; a subclass is a dataclass that names its `rows`.

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

    drawn: ClassVar[Drawn] = ""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the table, each as a value for each column."""

    def heading(self) -> str:
        """Return what `to_text` says above the table; by default nothing."""
        return ""

    def shown(self) -> ShownTable:
        """Return what people see: by default the heading and all rows."""
        return ShownTable(self.heading(), self.rows(), self.drawn)

    def to_text(self) -> str:
        """Return the heading and the table as text."""
        return self.shown().to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: every field of the result."""
        return {
            field.name: as_plain(getattr(self, field.name))
            for field in fields(self)  # type: ignore[arg-type]
        }

    def to_pandas(self) -> Any:
        """Return the table as a pandas data frame, where pandas is installed."""
        return require("pandas", "all").DataFrame(self.rows())


def as_cell(value: Any) -> str:
    """Return a value as the text of a cell: numbers to three digits.

    >>> [as_cell(value) for value in ("king", 1234, 0.12345, None)]
    ['king', '1,234', '0.123', '']
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def as_plain(value: Any) -> Any:
    """Return a value as JSON can hold it: arrays and tuples as lists, dataclasses as objects.

    A number that is not finite is None, which JSON has and NaN it has not.
    """
    if isinstance(value, Result) or hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: as_plain(getattr(value, field.name)) for field in fields(value)}
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
