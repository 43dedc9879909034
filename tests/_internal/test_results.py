"""Results have the same table in every form."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import qwem
from qwem._internal.results import Provenance, Result, as_plain
from qwem.errors import MissingExtraError


@dataclass(frozen=True)
class Inner:
    value: float


@dataclass(frozen=True)
class Table(Result):
    words: tuple[str, ...]
    scores: np.ndarray[Any, Any]

    def heading(self) -> str:
        return "Scores.\n"

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"word": word, "score": float(score), "place": place}
            for place, (word, score) in enumerate(zip(self.words, self.scores, strict=True), 1)
        ]


TABLE = Table(("king", "a"), np.array([0.123456, 2.0]))


def test_text_has_a_heading_and_aligned_columns() -> None:
    assert TABLE.to_text() == "Scores.\nword  score  place\nking  0.123  1\na     2      2\n"
    assert Table((), np.empty(0)).to_text() == "Scores.\n"


def test_plain_data_is_what_json_holds() -> None:
    assert TABLE.to_dict() == {"words": ["king", "a"], "scores": [0.123456, 2.0]}
    mixed = {"inner": Inner(float("nan")), "table": TABLE, 1: (np.int64(3), True, None)}
    plain = as_plain(mixed)
    assert plain["inner"] == {"value": None}
    assert plain["1"] == [3, True, None]
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_numbers_that_are_not_finite_are_null_in_json_and_empty_cells() -> None:
    odd = Table(("king", "a"), np.array([np.nan, np.inf]))
    assert odd.to_dict()["scores"] == [None, None]
    assert odd.to_text().splitlines()[2].split() == ["king", "1"]


def test_a_notebook_shows_the_heading_and_the_table_escaped() -> None:
    page = Table(("<king>",), np.array([0.5]))._repr_html_()
    assert page.startswith("<p>Scores.</p>")
    assert "<td>&lt;king&gt;</td><td>0.5</td><td>1</td>" in page


def test_provenance_is_in_plain_data_where_it_was_recorded() -> None:
    made = replace(TABLE, provenance=Provenance({"folds": 10}, seed=3, n=100))
    found = made.to_dict()["provenance"]
    assert (found["settings"], found["seed"], found["n"]) == ({"folds": 10}, 3, 100)
    assert found["version"] == qwem.__version__
    assert "provenance" not in TABLE.to_dict()


def test_a_data_frame_has_the_rows() -> None:
    pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert list(frame.columns) == ["word", "score", "place"]
    assert frame["score"].tolist() == [0.123456, 2.0]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"qwem\[all\]"):
        TABLE.to_pandas()
