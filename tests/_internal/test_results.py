"""Results: the same table as text, plain data and a data frame."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from qwem._internal.results import Result, as_plain
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


def test_a_data_frame_has_the_rows() -> None:
    pytest.importorskip("pandas")
    frame = TABLE.to_pandas()
    assert list(frame.columns) == ["word", "score", "place"]
    assert frame["score"].tolist() == [0.123456, 2.0]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"qwem\[all\]"):
        TABLE.to_pandas()
