"""Results on the page: tests, axes, paths and regressions, as tables with small drawings."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem._internal.results import ShownTable, as_plain
from qwem.comparison import AxisPath, Estimates, weat
from qwem.errors import DataError
from qwem.report import read_results, write_report
from qwem.report.results import SHOWN_ROWS, results_section

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model

ESTIMATES = Estimates(
    ("a", "b"), np.array([0.2, -0.1]), np.array([[0.1, -0.1], [0.3, -0.2]] * 3), "jackknife"
)


def test_a_report_shows_results_by_title(practical: Model, tmp_path: Path) -> None:
    words = practical.embedding()
    names = words.index_to_key
    test = weat(words, names[10:12], names[12:14], (names[14:16], names[16:18]))
    page = write_report(
        practical, tmp_path / "r.html", tasks=None, results={"Kinds <b>of</b> words": test}
    )
    text = page.read_text("utf-8")
    assert '<a href="#results">' in text
    assert "<h3>Kinds &lt;b&gt;of&lt;/b&gt; words</h3>" in text
    assert f"statistic {test.statistic:.3g}, effect size {test.effect_size:.2f}" in text
    without = write_report(practical, tmp_path / "plain.html", tasks=None)
    assert "#results" not in without.read_text("utf-8")


def test_words_of_a_result_are_never_obeyed() -> None:
    hostile = "</script><script>alert(1)</script>"
    table = ShownTable(hostile, [{hostile: hostile, "low": 0.0, "high": 1.0}], "intervals")
    assert "<script" not in results_section({hostile: table})


def test_intervals_are_drawn_to_one_scale() -> None:
    section = results_section({"values": ESTIMATES})
    lines = re.findall(r'class="line" d="M([\d.]+) 9.0H([\d.]+)"', section)
    ends = np.array(lines, float)
    low, high = ESTIMATES.confidence()
    assert len(lines) == 2
    spans = (ends[:, 1] - ends[:, 0]) / (high - low)
    assert spans[0] == pytest.approx(spans[1], rel=0.01)
    zeros = set(re.findall(r'class="zero" d="M([\d.]+) 0V18"', section))
    assert len(zeros) == 1
    assert float(zeros.pop()) == pytest.approx(ends[0, 0] - spans[0] * low[0], abs=0.3)


def test_paths_are_drawn_from_left_to_right_and_up_for_more() -> None:
    path = AxisPath(("old", "mid", "new"), {"nurse": (-0.1, 0.0, 0.3), "clerk": (0.2, 0.1, 0.0)})
    section = results_section({"gender": path})
    found = re.findall(r'class="line" d="M([^"]+)"', section)
    nurse, clerk = (np.array([p.split() for p in line.split(" L")], float) for line in found)
    assert np.all(np.diff(nurse[:, 0]) > 0)
    assert np.all(np.diff(nurse[:, 1]) < 0)
    assert np.all(np.diff(clerk[:, 1]) > 0)
    assert clerk[2, 1] == nurse[1, 1]


def test_a_row_without_an_interval_has_no_drawing() -> None:
    rows: list[dict[str, Any]] = [{"word": "a", "low": 0.1, "high": 0.2}]
    rows.append({"word": "b", "low": None, "high": None})
    assert "<svg" not in results_section({"some": ShownTable("", rows, "intervals")})


def test_long_tables_are_cut_and_say_so() -> None:
    rows = [{"word": f"w{i}", "value": i} for i in range(SHOWN_ROWS + 7)]
    section = results_section({"long": ShownTable("", rows)})
    assert section.count("<tr>") == SHOWN_ROWS + 1
    assert "And 7 more rows." in section


def test_results_are_read_from_what_commands_print(tmp_path: Path) -> None:
    shown = {"shown": as_plain(ESTIMATES.shown())}
    (tmp_path / "one-result.json").write_text(json.dumps({"method": "jackknife", **shown}))
    (tmp_path / "two.json").write_text(json.dumps({"king": shown, "queen": shown, "seconds": 3}))
    found = read_results([tmp_path / "one-result.json", tmp_path / "two.json"])
    assert list(found) == ["one result", "two: king", "two: queen"]
    assert results_section({"x": found["one result"]}) == results_section({"x": ESTIMATES})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "can't be read as JSON"),
        ("[1]", "has no result to show; write it with"),
        ('{"shown": {"heading": 3, "rows": [], "drawn": ""}}', "has no result to show"),
        ('{"shown": {"heading": "", "rows": [3], "drawn": ""}}', "has no result to show"),
        ('{"shown": {"heading": "", "rows": [], "drawn": []}}', "has no result to show"),
    ],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_results([tmp_path / "a.json"])
    with pytest.raises(DataError, match="no-such"):
        read_results([tmp_path / "no-such.json"])
