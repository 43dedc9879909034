"""`qwem axis` and `qwem weat`: what the library finds, from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding
from qwem.cli import main
from qwem.comparison import axis, sc_weat, weat

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
WORDS = [f"w{i}" for i in range(20)]
SPACE = Embedding(WORDS, np.random.default_rng(0).normal(size=(20, 5)))


@pytest.fixture
def model(tmp_path: Path) -> str:
    SPACE.save(tmp_path / "model")
    return str(tmp_path / "model")


def json_of(capture: Capture, *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_words_on_an_axis(model: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "ends.txt").write_text("w2\n\nw3\n")
    ends = ["--positive", "w0,w1", "--negative", f"@{tmp_path / 'ends.txt'}"]
    found = json_of(capsys, "axis", model, "w7", "w8", *ends)
    expected = axis(SPACE, ["w0", "w1"], ["w2", "w3"]).project(["w7", "w8"])
    assert found["words"] == expected.to_dict()["words"]
    assert main(["axis", model, *ends, "-n", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "From w2, w3 (−) to w0, w1 (+)."
    assert len(lines) == 2 + 4


def test_weat_of_lists_and_of_words(model: str, capsys: Capture) -> None:
    attributes = ["--attributes", "w10,w11", "w12,w13"]
    found = json_of(capsys, "weat", model, "--targets", "w0,w1", "w2,w3", *attributes)
    expected = weat(SPACE, ["w0", "w1"], ["w2", "w3"], (["w10", "w11"], ["w12", "w13"]))
    shown = found.pop("shown")
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert shown["heading"] == expected.heading()
    found = json_of(capsys, "weat", model, "--words", "w5,w6", *attributes)
    single = sc_weat(SPACE, "w6", (["w10", "w11"], ["w12", "w13"]))
    assert found["tests"]["w6"]["p_value"] == single.p_value
    assert main(["weat", model, "--words", "w5,w6", *attributes]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "word",
        "w5",
        "w6",
    ]


def test_bad_lists_are_refused(model: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["axis", model, "--positive", "w0", "--negative", "lion"]) == 2
    assert "1 of the 1 words of negative" in capsys.readouterr().err
    for wrong in (",", f"@{tmp_path / 'absent'}"):
        with pytest.raises(SystemExit):
            main(["axis", model, "--positive", "w0", "--negative", wrong])
    assert "can't read" in capsys.readouterr().err
