"""Results on the page: tests, axes, changes and regressions that were made with the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.results import Result, ShownTable, as_cell
from qwem.errors import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

SHOWN_ROWS = 50
"""How many rows of a table are on the page."""

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
                f"{path} has no result to show; write it with qwem weat, axis, compare, "
                "regression, update or similar, and --json."
            )
        title = Path(path).stem.replace("-", " ").replace("_", " ")
        for name, table in tables.items():
            found[f"{title}: {name}" if len(tables) > 1 else title] = table
    return found


def results_data(results: Mapping[str, Result | ShownTable]) -> list[dict[str, Any]]:
    """Return what the page shows of results: title, heading, names and cells, and a drawing."""
    found = []
    for title, result in results.items():
        table = result.shown() if isinstance(result, Result) else result
        rows = table.rows[:SHOWN_ROWS]
        header = [_NAMES.get(name, name).replace("_", " ") for name in (rows[0] if rows else ())]
        found.append(
            {
                "title": title,
                "heading": table.heading.strip(),
                "header": header,
                "rows": [[_cell(value) for value in row.values()] for row in rows],
                "more": max(0, len(table.rows) - SHOWN_ROWS),
                "drawn": table.chart,
                "numbers": [_chart_numbers(table.chart, row) for row in rows],
            }
        )
    return found


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


def _cell(value: Any) -> str:
    text = as_cell(value)
    return text.replace("-", "−") if isinstance(value, int | float) else text


def _chart_numbers(chart: str, row: dict[str, Any]) -> list[float]:
    """Return the ends of a row's interval or the points of its path; none if one is missing."""
    if not chart:
        return []
    some = [row.get("low"), row.get("high")] if chart == "intervals" else list(row.values())[1:]
    numbers = [float(number) for number in some if isinstance(number, int | float)]
    return numbers if len(numbers) == len(some) else []
