"""`qwem evaluate --concepts`: one concept in detail, or a file of many, one row each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding
from qwem.cli import main
from qwem.interpretation import Task, concept_test, principal_axes
from qwem.interpretation.shapes import built_in_shapes

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
PAIRS = tuple((f"w{i}", f"w{i + 20}") for i in range(20, 30))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random vectors in which ten words have shifted copies, and ten others have not."""
    vectors = np.random.default_rng(0).normal(size=(80, 8))
    vectors[40:50] = vectors[20:30] + np.array([3, 0, 0, 0, 0, 0, 0, 2])
    path = tmp_path_factory.mktemp("concept") / "model"
    Embedding([f"w{i}" for i in range(80)], vectors).save(path)
    return path


@pytest.fixture
def shifted(tmp_path: Path) -> Path:
    file = tmp_path / "shifted.tsv"
    file.write_text("".join(f"{a}\t{b}\n" for a, b in (*PAIRS, ("w1", "elsewhere"))))
    return file


def json_of(capture: Capture, *arguments: object) -> Any:
    model, pairs, *more = map(str, arguments)
    assert main(["evaluate", model, "--concepts", pairs, *more, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_it_reports_what_the_library_finds(model: Path, shifted: Path, capsys: Capture) -> None:
    found = json_of(capsys, model, shifted, "--draws", 99, "--seed", 3)
    task = Task("shifted", (*PAIRS, ("w1", "elsewhere")))
    expected = concept_test(principal_axes(Embedding.load(model)), task, draws=99, seed=3)
    assert found["concepts"] == [json.loads(json.dumps(expected.to_dict()))]
    assert found["concepts"][0]["verdict"] == "relation"
    assert found["concepts"][0]["dropped"] == [["w1", "elsewhere"]]


def test_it_tells_people_what_the_verdict_means(
    model: Path, shifted: Path, capsys: Capture
) -> None:
    assert main(["evaluate", str(model), "--concepts", str(shifted), "--draws", "99"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("shifted: relation, a shared direction, and ")
    assert "10 of 11 pairs have known words" in lines[1]
    assert any(line.startswith("feature 1 ") for line in lines)


def test_categories_have_a_row_each(model: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "questions.txt"
    questions = [": shifted", *(f"{a} {b} w20 w40" for a, b in PAIRS[1:])]
    questions += [": random", *(f"w{i} w{i + 10} w2 w12" for i in range(3, 10))]
    file.write_text("\n".join([*questions, ": unknown", "a b c d", ""]))
    found = json_of(capsys, model, file, "--draws", 99)
    verdicts = {concept["task"]: concept["verdict"] for concept in found["concepts"]}
    assert verdicts == {"shifted": "relation", "random": "none"}
    assert list(found["refused"]) == ["unknown"]
    assert main(["evaluate", str(model), "--concepts", str(file), "--draws", "99"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["concept", "shifted", "random", "unknown"]


def test_a_negative_seed_is_refused(model: Path, shifted: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["evaluate", str(model), "--concepts", str(shifted), "--seed", "-1"])
    assert "--seed takes a whole number of at least 0, not '-1'" in capsys.readouterr().err


def test_too_few_known_pairs(model: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "few.tsv"
    file.write_text("w1\tw2\nw3\telsewhere\n")
    assert main(["evaluate", str(model), "--concepts", str(file)]) == 2
    assert "needs 3" in capsys.readouterr().err


def test_shapes_are_tested_by_name_or_from_a_file(tmp_path: Path, capsys: Capture) -> None:
    angle = 2 * np.pi * np.arange(12) / 12
    months = built_in_shapes()["months"].words
    model, file = tmp_path / "circle", tmp_path / "half.tsv"
    Embedding(months, np.c_[np.cos(angle), np.sin(angle)]).save(model)
    file.write_text("".join(f"{word}\t{place}\n" for place, word in enumerate(months[:6])))
    asked = ["evaluate", str(model), "--shapes", "months", f"line:{file}", "--draws", "19"]
    assert main(asked) == 0
    shown = capsys.readouterr().out
    assert "months: 12 words, on a cycle; 19 permutations" in shown
    assert "half: 6 words, on a line" in shown
    assert main([*asked, "--json"]) == 0
    whole, half = json.loads(capsys.readouterr().out)["shapes"]
    assert whole["held"] == pytest.approx(1)
    assert whole["held_p"] == 0.05
    assert half["words"] == list(months[:6])
    assert main(["evaluate", str(model), "--shapes", "moons"]) == 2
    assert "not 'moons'" in capsys.readouterr().err
    assert main(["evaluate", str(model), "--shapes", "months", "--analogies", "google"]) == 2
    assert "each is tested by itself" in capsys.readouterr().err
