"""`qwem demo`: one command from text to a model, scores and a page; the next time from cache."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from qwem import Corpus, Model
from qwem.cli import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def text(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few articles, one a line."""
    articles = Corpus.from_files(real_data / "enwiki-2M.parquet", vocab_size=800)
    words = articles.vocabulary.words
    lines = [
        " ".join(words[token] for token in articles.tokens[start:stop])
        for start, stop in zip(articles.offsets[:200], articles.offsets[1:201], strict=True)
    ]
    file = tmp_path_factory.mktemp("demo") / "articles.txt"
    file.write_text("\n".join(lines))
    return file


def demo(capture: Capture, *arguments: object) -> Any:
    assert main(["demo", *map(str, arguments), "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_all_at_once_and_then_from_cache(text: Path, tmp_path: Path, capsys: Capture) -> None:
    first = demo(capsys, text, "-o", tmp_path / "out")
    assert {"read", "count", "factorize", "polish", "report"} <= set(first["seconds"])
    model = Model.load(first["model"])
    assert model.polished is not None
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "articles" in page
    assert first["scores"]["analogies"]["accuracy"] > 0.05
    again = demo(capsys, text, "-o", tmp_path / "out")
    assert set(again["seconds"]) == {"load", "score", "total"}
    assert again["neighbours"] == first["neighbours"]
    assert again["scores"] == first["scores"]


@pytest.mark.parametrize("change", ["text", "model", "report"])
def test_what_changed_is_made_again(
    text: Path, tmp_path: Path, capsys: Capture, change: str
) -> None:
    own = tmp_path / "own.txt"
    own.write_text(text.read_text())
    demo(capsys, own, "-o", tmp_path / "out")
    if change == "text":
        own.write_text(text.read_text() + "\nking queen man woman")
    elif change == "model":
        shutil.rmtree(tmp_path / "out" / "model")
    else:
        (tmp_path / "out" / "report.html").unlink()
    again = demo(capsys, own, "-o", tmp_path / "out")
    assert "polish" in again["seconds"]
    assert (tmp_path / "out" / "report.html").exists()


def test_a_directory_is_looked_into(text: Path, tmp_path: Path, capsys: Capture) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "one.txt").write_text(text.read_text())
    demo(capsys, files, "-o", tmp_path / "out")
    (files / "two.txt").write_text("king queen man woman\n")
    assert "polish" in demo(capsys, files, "-o", tmp_path / "out")["seconds"]


def test_people_are_told_where_things_are(text: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", str(text), "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert str(tmp_path / "out" / "report.html") in shown
    commands = [line.partition("qwem ")[2] for line in shown.splitlines() if " qwem " in line]
    assert len(commands) == 3
    for command in commands:
        name, *arguments = command.split()
        assert main([name, *arguments]) in (0, 2)  # 2 where a word of the example is not there


def test_the_next_command_is_one_that_the_shell_finds(
    text: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `make demo` the program is in an environment that is not on the path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [".venv/bin/qwem", "demo"])
    assert main(["demo", str(text), "-o", str(tmp_path / "out")]) == 0
    assert "  .venv/bin/qwem similar " in capsys.readouterr().out


def test_text_that_is_not_there(tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", str(tmp_path / "none.txt"), "-o", str(tmp_path / "out")]) == 2
    assert "none.txt" in capsys.readouterr().err
