"""`qwem stability`: a model with replicates, and the commands that show them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from qwem.cli import main
from qwem.comparison import Stability

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("stability")
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{'abcdefghij'[i]}" for i in rng.integers(0, 10, 30)) for _ in range(40)]
    (directory / "text.txt").write_text("\n".join(lines))
    output = str(directory / "stable")
    text = str(directory / "text.txt")
    assert main(["stability", text, "-o", output, "--folds", "5", "--dim", "3"]) == 0
    return output


def json_of(capture: Capture, *arguments: str) -> Any:
    capture.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_neighbours_and_their_stability(stable: str, capsys: Capture) -> None:
    loaded = Stability.load(stable)
    assert len(loaded.replicates) == 5
    found = json_of(capsys, "similar", stable, "wa", "-n", "3", "--stability")
    assert found["wa"] == json.loads(json.dumps(loaded.neighbours("wa", 3).to_dict()))
    assert main(["similar", stable, "wa", "-n", "3", "--stability"]) == 0
    assert capsys.readouterr().out.splitlines() == loaded.neighbours("wa", 3).lines()
    plain = json_of(capsys, "similar", stable, "wa", "-n", "3")
    assert [each["word"] for each in plain["wa"]] == [
        each["word"] for each in found["wa"]["neighbours"]
    ]


def test_projections_and_their_errors(stable: str, capsys: Capture) -> None:
    ends = ["--positive", "wa", "--negative", "wb", "--stability"]
    found = json_of(capsys, "axis", stable, "wc", "wd", *ends)
    expected = Stability.load(stable).projections(["wc", "wd"], ["wa"], ["wb"])
    assert [each["error"] for each in found["estimates"]] == pytest.approx(expected.errors)
    assert len(json_of(capsys, "axis", stable, "-n", "2", *ends)["estimates"]) == 4


def test_other_models_are_refused(stable: str, capsys: Capture) -> None:
    assert main(["similar", f"{stable}/model", "wa", "--stability"]) == 2
    assert "has no replicates" in capsys.readouterr().err
    assert main(["similar", stable, "wa", "--stability", "--dim", "2"]) == 2
    assert "can't be combined" in capsys.readouterr().err
