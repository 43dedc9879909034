"""Results on the page: tests, axes, paths and regressions, as tables with small drawings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem._internal.results import ShownTable, as_plain
from qwem.comparison.changes import AxisPath
from qwem.comparison.results import Estimates
from qwem.errors import DataError
from qwem.pages.overview import SHOWN_ROWS, read_results, results_data

if TYPE_CHECKING:
    from pathlib import Path

ESTIMATES = Estimates(
    ("a", "b"), np.array([0.2, -0.1]), np.array([[0.1, -0.1], [0.3, -0.2]] * 3), "jackknife"
)


def test_intervals_and_paths_have_their_numbers() -> None:
    low, high = ESTIMATES.confidence()
    (shown,) = results_data({"values": ESTIMATES})
    assert shown["drawn"] == "intervals"
    assert np.allclose(shown["numbers"], np.stack([low, high], axis=1))
    path = AxisPath(("old", "mid", "new"), {"nurse": (-0.1, 0.0, 0.3), "clerk": (0.2, 0.1, 0.0)})
    (shown,) = results_data({"gender": path})
    assert shown["drawn"] == "paths"
    assert shown["numbers"] == [[-0.1, 0.0, 0.3], [0.2, 0.1, 0.0]]
    assert shown["rows"][0] == ["nurse", "−0.1", "0", "0.3"]


def test_a_row_without_an_interval_has_no_drawing() -> None:
    rows: list[dict[str, Any]] = [{"word": "a", "low": 0.1, "high": 0.2}]
    rows.append({"word": "b", "low": None, "high": None})
    (shown,) = results_data({"some": ShownTable("", rows, "intervals")})
    assert shown["numbers"] == [[0.1, 0.2], []]


def test_long_tables_are_cut_and_say_so() -> None:
    rows = [{"word": f"w{i}", "p_value": i} for i in range(SHOWN_ROWS + 7)]
    (shown,) = results_data({"long": ShownTable("", rows)})
    assert len(shown["rows"]) == SHOWN_ROWS
    assert shown["more"] == 7
    assert shown["header"] == ["word", "p"]


def test_results_are_read_from_what_commands_print(tmp_path: Path) -> None:
    shown = {"shown": as_plain(ESTIMATES.shown())}
    (tmp_path / "one-result.json").write_text(json.dumps({"method": "jackknife", **shown}))
    (tmp_path / "two.json").write_text(json.dumps({"king": shown, "queen": shown, "seconds": 3}))
    found = read_results([tmp_path / "one-result.json", tmp_path / "two.json"])
    assert list(found) == ["one result", "two: king", "two: queen"]
    assert results_data({"x": found["one result"]}) == results_data({"x": ESTIMATES})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "can't be read as JSON"),
        ("[1]", "has no result to show; write it with"),
        ('{"shown": {"heading": 3, "rows": [], "chart": ""}}', "has no result to show"),
        ('{"shown": {"heading": "", "rows": [3], "chart": ""}}', "has no result to show"),
        ('{"shown": {"heading": "", "rows": [], "chart": []}}', "has no result to show"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_results([tmp_path / "a.json"])
    with pytest.raises(DataError, match="no-such"):
        read_results([tmp_path / "no-such.json"])
