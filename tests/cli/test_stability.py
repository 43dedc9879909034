"""`qwem fit --folds`: a model with replicates, and the commands that show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem.cli import main
from qwem.cli.io import plain
from qwem.comparison import Stability, stability, weat

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def stable(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("stability")
    rng = np.random.default_rng(0)
    lines = [" ".join(f"w{'abcdefghij'[i]}" for i in rng.integers(0, 10, 30)) for _ in range(40)]
    (directory / "text.txt").write_text("\n".join(lines))
    output = str(directory / "stable")
    text = str(directory / "text.txt")
    assert main(["fit", text, "-o", output, "--folds", "5", "--dim", "3"]) == 0
    return output


def json_of(capture: Capture, *arguments: str) -> Any:
    capture.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_neighbours_and_their_stability(stable: str, capsys: Capture) -> None:
    loaded = Stability.load(stable)
    assert len(loaded.replicates) == 5
    found = json_of(capsys, "similar", stable, "wa", "-n", "3")
    assert found["wa"] == json.loads(json.dumps(plain(loaded.neighbours("wa", 3))))
    assert main(["similar", stable, "wa", "-n", "3"]) == 0
    *lines, first, second = capsys.readouterr().out.splitlines()
    assert lines == loaded.neighbours("wa", 3).lines()
    assert first.startswith("± is the standard error of a pair chosen beforehand.")
    assert second == "these documents; in others they are less near."
    without = json_of(capsys, "similar", f"{stable}/model", "wa", "-n", "3")
    assert [each["word"] for each in without["wa"]] == [
        each["word"] for each in found["wa"]["neighbours"]
    ]


def test_projections_and_their_errors(stable: str, capsys: Capture) -> None:
    ends = ["--positive", "wa", "--negative", "wb"]
    found = json_of(capsys, "axis", stable, "wc", "wd", *ends)
    expected = Stability.load(stable).projections(["wc", "wd"], ["wa"], ["wb"])
    assert [each["error"] for each in found["estimates"]] == pytest.approx(expected.errors)
    assert len(json_of(capsys, "axis", stable, "-n", "2", *ends)["estimates"]) == 4


def test_answers_of_an_analogy_and_their_stability(stable: str, capsys: Capture) -> None:
    loaded = Stability.load(stable)
    found = json_of(capsys, "similar", stable, "--analogy", "wa", "wb", "wc", "-n", "3")
    expected = loaded.analogy("wa", "wb", "wc", 3)
    assert found == json.loads(json.dumps(plain(expected)))
    assert main(["similar", stable, "--analogy", "wa", "wb", "wc", "-n", "3"]) == 0
    assert capsys.readouterr().out.splitlines() == expected.lines()


def test_association_tests_and_their_errors(stable: str, capsys: Capture) -> None:
    attributes = ["--attributes", "we,wf", "wg,wh"]
    found = json_of(capsys, "weat", stable, "--targets", "wa,wb", "wc,wd", *attributes)
    test = weat(Stability.load(stable), ["wa", "wb"], ["wc", "wd"], (["we", "wf"], ["wg", "wh"]))
    assert test.over_documents is not None
    assert found["over_documents"]["estimates"] == test.over_documents.rows()
    assert main(["weat", stable, "--targets", "wa,wb", "wc,wd", *attributes]) == 0
    assert "Over documents: statistic" in capsys.readouterr().out
    assert main(["weat", stable, "--words", "wa,wb", *attributes]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split()[-3:] == ["error", "low", "high"]
    assert len(rows) == 2


def test_intervals_can_be_drawn(stable: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="figures need the plot extra")
    figure = tmp_path / "figure.png"
    assert main(["similar", stable, "wa", "--figure", str(figure)]) == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    ends = ["--positive", "wa", "--negative", "wb"]
    assert main(["axis", stable, "wc", *ends, "--figure", str(tmp_path / "axis.svg")]) == 0
    assert (tmp_path / "axis.svg").read_text("utf-8").startswith("<?xml")
    for arguments, reason in (
        (["similar", f"{stable}/model", "wa", "--figure", str(figure)], "qwem fit --folds"),
        (["similar", stable, "wa", "wb", "--figure", str(figure)], "of one word"),
        (["similar", stable, "wa", "--figure", "a.bmp"], "ends in .png, .pdf or"),
    ):
        assert main(arguments) == 2
        assert reason in capsys.readouterr().err


def test_a_report_says_how_sure_it_is(stable: str, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    assert main(["report", stable, "-o", str(page)]) == 0
    assert 'id="part-0/stability"' in page.read_text("utf-8")


def test_options_of_replicates_need_folds(stable: str, tmp_path: Path, capsys: Capture) -> None:
    text = str(tmp_path / "text.txt")
    assert main(["fit", text, "-o", str(tmp_path / "m"), "--method", "bootstrap"]) == 2
    assert "--method is for replicates; add --folds 20" in capsys.readouterr().err
    assert main(["fit", text, "-o", str(tmp_path / "m"), "--folds", "5", "--keep-counts"]) == 2
    assert "leave out --keep-counts" in capsys.readouterr().err


def test_documents_of_one_author_stay_together(tmp_path: Path, capsys: Capture) -> None:
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{'abcdefghij'[i]}" for i in rng.integers(0, 10, 30)) for _ in range(40)]
    authors = [None if number == 7 else number // 4 for number in range(40)]
    file = tmp_path / "posts.jsonl"
    file.write_text(
        "".join(
            json.dumps({"text": text, "author": author}) + "\n"
            for text, author in zip(texts, authors, strict=True)
        )
    )
    arguments = ["fit", str(file), "--folds", "3", "--dim", "2", "--no-polish"]
    arguments += ["-o", str(tmp_path / "stable")]
    assert main([*arguments, "--groups", "author"]) == 0
    labels = [-1 if author is None else author for author in authors]
    expected = stability(texts, folds=3, dim=2, polish=False, groups=labels)
    loaded = Stability.load(tmp_path / "stable")
    for one, other in zip(loaded.replicates, expected.replicates, strict=True):
        assert np.allclose(one.vectors, other.vectors, atol=2e-3)
    capsys.readouterr()
    assert main([*arguments, "--groups", "editor"]) == 2
    assert "editor" in capsys.readouterr().err
