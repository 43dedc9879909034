"""`qwem features`: tables for people, pages and machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem import Cooccurrence, Embedding, Model, fit
from qwem.cli import main
from qwem.interpretation import features

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    matrix = np.random.default_rng(0).poisson(3.0, (30, 30))
    counts = Cooccurrence.from_matrix([f"w{i}" for i in range(30)], matrix + matrix.T)
    path = tmp_path_factory.mktemp("features") / "model"
    fit(counts, preset="paper", dim=5).save(path)
    return path


def output(capture: Capture, *arguments: object) -> str:
    assert main(["features", *map(str, arguments)]) == 0
    return capture.readouterr().out


def test_it_prints_the_table_of_the_library(model: Path, capsys: Capture) -> None:
    table = features(Model.load(model), 3, topn=4)
    asked = (model, "--count", 3, "--topn", 4)
    assert output(capsys, *asked) == table.to_text()
    assert output(capsys, *asked, "--format", "markdown") == table.to_markdown()
    assert output(capsys, *asked, "--format", "html") == table.to_html()
    assert json.loads(output(capsys, *asked, "--json")) == json.loads(json.dumps(table.to_dict()))


def test_fewer_dimensions_and_other_starts(model: Path, capsys: Capture) -> None:
    spectrum = Model.load(model).spectrum.restrict(3)
    found = json.loads(
        output(capsys, model, "--dim", 3, "--count", 3, "--init-scale", 1e-2, "--json")
    )
    assert found["dim"] == 3
    expected = features(spectrum, 3, init_scale=1e-2).features
    assert [f["share"] for f in found["features"]] == [f.share for f in expected]
    assert [f["learning_time"] for f in found["features"]] == [f.learning_time for f in expected]


def test_only_frequent_words(model: Path, capsys: Capture) -> None:
    found = json.loads(output(capsys, model, "--count", 1, "--most-frequent", 5, "--json"))
    ends = [
        entry["word"] for end in ("positive", "negative") for entry in found["features"][0][end]
    ]
    assert sorted(ends) == sorted(Model.load(model).vocabulary.words[:5])


def test_vectors_without_a_model(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("3 2\nup 2 0\ndown -2 0.1\nside 0 1\n")
    lines = output(capsys, file, "--count", 2).splitlines()
    assert lines[2:4] == ["     + down", "     − up"]  # side lies at neither end
    assert lines[-1] == "     − (no word)"
    Embedding(["up", "down"], [[2.0], [-1.0]]).save(tmp_path / "saved")
    assert "carried by 1 word\n" in output(capsys, tmp_path / "saved", "--count", 1)


def test_too_many_features(model: Path, capsys: Capture) -> None:
    assert len(json.loads(output(capsys, model, "--json"))["features"]) == 5  # all, by default
    assert main(["features", str(model), "--count", "6"]) == 2
    assert "the 5 features there are" in capsys.readouterr().err
