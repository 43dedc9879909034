"""The part about results: tests, axes, changes and regressions that were made with the model."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from qwem._internal.results import Result, ShownTable, as_cell
from qwem._internal.text import Markup, html_table
from qwem.errors import DataError
from qwem.report.assets import asset

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

SHOWN_ROWS = 50
"""How many rows of a table are on the page."""

_WIDTH, _HEIGHT, _EDGE = 150, 18, 4
_NAMES = {"p_value": "p", "q_value": "q"}


def read_results(paths: Sequence[str | os.PathLike[str]]) -> dict[str, ShownTable]:
    """Read results that commands printed with ``--json``; each is named after its file.

    Parameters
    ----------
    paths
        The files. A file with several results has one table for each.
    """
    found: dict[str, ShownTable] = {}
    for path in paths:
        try:
            data = json.loads(Path(path).read_text("utf-8"))
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}.") from error
        except ValueError as error:
            raise DataError(f"{path} can't be read as JSON: {error}.") from error
        tables = _tables(data)
        if not tables:
            raise DataError(
                f"{path} has no result to show; write it with qwem weat, axis, changes, regression "
                "update or similar, and --json."
            )
        title = Path(path).stem.replace("-", " ").replace("_", " ")
        for name, table in tables.items():
            found[f"{title}: {name}" if len(tables) > 1 else title] = table
    return found


def results_section(results: Mapping[str, Result | ShownTable]) -> str:
    """Return the part about results, each a heading, a sentence and a table."""
    parts = []
    for title, result in results.items():
        table = result.shown() if isinstance(result, Result) else result
        lines = "<br>".join(map(escape, table.heading.splitlines()))
        more = len(table.rows) - SHOWN_ROWS
        note = f'<p class="note">And {more:,} more rows.</p>' if more > 0 else ""
        parts.append(
            f'<div class="result"><h3>{escape(title)}</h3>'
            + (f'<div class="prose"><p>{lines}</p></div>' if lines else "")
            + f'<div class="scroll">{_html(table)}</div>{note}</div>'
        )
    return Template(asset("results.html")).substitute(results="".join(parts))


def _tables(data: Any) -> dict[str, ShownTable]:
    """Return what people see of the results in the JSON of a command, at the top or one below."""
    if not isinstance(data, dict):
        return {}
    candidates = {"": data, **{name: each for name, each in data.items() if name != "shown"}}
    tables = {}
    for name, each in candidates.items():
        shown = each.get("shown") if isinstance(each, dict) else None
        if not isinstance(shown, dict):
            continue
        heading, rows, chart = (shown.get(key) for key in ("heading", "rows", "chart"))
        if not isinstance(heading, str) or chart not in ("", "intervals", "paths"):
            continue
        if isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
            tables[name] = ShownTable(heading, rows, chart)
    return tables


def _html(table: ShownTable) -> str:
    rows = table.rows[:SHOWN_ROWS]
    if not rows:
        return ""
    header = [_NAMES.get(name, name).replace("_", " ") for name in rows[0]]
    cells = [[_cell(value) for value in row.values()] for row in rows]
    drawings = _drawings(table.chart, rows)
    if drawings:
        header.append("")
        cells = [[*row, drawing] for row, drawing in zip(cells, drawings, strict=True)]
    return html_table(header, cells, row_headers=True, style="results")


def _cell(value: Any) -> str:
    text = as_cell(value)
    return text.replace("-", "−") if isinstance(value, int | float) else text


def _drawings(chart: str, rows: Sequence[dict[str, Any]]) -> list[Markup]:
    """Return a small drawing for each row, all to the same scale, or none."""
    numbers = [_chart_numbers(chart, row) for row in rows]
    if not all(numbers):
        return []
    every = [0.0, *(number for some in numbers for number in some)]
    low, high = min(every), max(every)

    def place(number: float, room: int) -> float:
        share = (number - low) / ((high - low) or 1.0)
        return round(_EDGE + share * (room - 2 * _EDGE), 1)

    draw = _interval if chart == "intervals" else _path
    return [draw(some, place) for some in numbers]


def _chart_numbers(chart: str, row: dict[str, Any]) -> list[float]:
    """Return the ends of a row's interval or the points of its path; none if one is missing."""
    if not chart:
        return []
    some = [row.get("low"), row.get("high")] if chart == "intervals" else list(row.values())[1:]
    numbers = [float(number) for number in some if isinstance(number, int | float)]
    return numbers if len(numbers) == len(some) else []


def _interval(ends: Sequence[float], place: Callable[[float, int], float]) -> Markup:
    """Return a line from one end to the other, a dot in the middle, and a mark at zero."""
    left, right, zero = (place(number, _WIDTH) for number in (*ends, 0.0))
    middle = round((left + right) / 2, 1)
    return _drawing(
        f"from {as_cell(ends[0])} to {as_cell(ends[1])}",
        f'<path class="zero" d="M{zero} 0V{_HEIGHT}"/>'
        f'<path class="line" d="M{left} {_HEIGHT / 2}H{right}"/>'
        f'<circle cx="{middle}" cy="{_HEIGHT / 2}" r="3"/>',
        _HEIGHT,
    )


def _path(points: Sequence[float], place: Callable[[float, int], float]) -> Markup:
    """Return a line through points at equal distances, a dot at the last, and a line at zero."""
    height = 2 * _HEIGHT
    step = (_WIDTH - 2 * _EDGE) / max(1, len(points) - 1)
    places = [
        (round(_EDGE + step * i, 1), round(height - place(number, height), 1))
        for i, number in enumerate(points)
    ]
    zero, (x, y) = round(height - place(0.0, height), 1), places[-1]
    return _drawing(
        " then ".join(map(as_cell, points)),
        f'<path class="zero" d="M0 {zero}H{_WIDTH}"/>'
        f'<path class="line" d="M{" L".join(f"{x} {y}" for x, y in places)}"/>'
        f'<circle cx="{x}" cy="{y}" r="3"/>',
        height,
    )


def _drawing(label: str, shapes: str, height: int) -> Markup:
    return Markup(
        f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}">{shapes}</svg>'
    )
