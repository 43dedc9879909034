"""``qwem evaluate``: both formulas, totals and coverage, for people and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from qwem.cli import main
from qwem.embedding import Embedding

if TYPE_CHECKING:
    from pathlib import Path


def test_scores_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["man", "woman", "king", "queen"]
    Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]]).save(tmp_path / "e")
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nman woman king queen\n: gram1-x\nman woman good bad\n")
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("man woman 5\nking man 2\nking dragon 1\n")
    command = ["evaluate", str(tmp_path / "e"), "--analogies", str(questions)]
    command += ["--similarity", str(pairs)]
    assert main(command) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["analogies,", "all", "1", "1", "1", "1"]
    assert lines[2][1] == "semantic"  # no syntactic question could be asked
    assert lines[-1][-2:] == ["2", "1"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["analogies"]["accuracy_mul"] == 1.0
    assert report["analogies"]["totals"]["syntactic"]["coverage"] == 0.0
    assert report["similarity"]["pairs"]["coverage"] == pytest.approx(2 / 3)
