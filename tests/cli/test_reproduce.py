"""``qwem reproduce``: what it prints, and how it fails."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from paper.families import TINY, write_families
from qwem import paper
from qwem.cli.share import reproduce as command
from qwem.errors import QwemError, RankError, SettingError
from qwem.paper import SCALES
from qwem.paper.reproduction import RECIPES

if TYPE_CHECKING:
    from pathlib import Path


def parse(*arguments: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args([str(argument) for argument in arguments])


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_families(tmp_path)


def test_it_prints_what_was_found(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCALES, "laptop", TINY)
    options = parse(
        text, "-o", tmp_path / "out", "--only", "geometry, categories", "--json",
        "--analogies", tmp_path / "questions.txt",
    )  # fmt: skip
    command.run(options)
    report = json.loads(capsys.readouterr().out)
    assert list(report["findings"]) == ["categories", "geometry"]
    assert report["output"] == str(tmp_path / "out" / "index.html")
    assert (tmp_path / "out" / "geometry.png").is_file()
    options.json = False
    command.run(options)
    printed = capsys.readouterr().out
    assert report["findings"]["geometry"][0] in printed
    assert "index.html" in printed


def test_the_page_is_written_without_a_figure_that_failed(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(experiment: object) -> None:
        raise RankError("There are no eigenvalues <left>.")

    monkeypatch.setitem(SCALES, "laptop", TINY)
    broken = replace(RECIPES["geometry"], make=fail)  # type: ignore[arg-type]
    monkeypatch.setitem(RECIPES, "geometry", broken)
    options = parse(
        text, "-o", tmp_path / "out", "--only", "geometry,categories", "--json",
        "--analogies", tmp_path / "questions.txt",
    )  # fmt: skip
    with pytest.raises(QwemError, match="geometry could not be made, for the reasons above"):
        command.run(options)
    report = json.loads(capsys.readouterr().out)
    assert report["failures"] == {"geometry": "There are no eigenvalues <left>."}
    page = (tmp_path / "out" / "index.html").read_text()
    assert "geometry could not be made: There are no eigenvalues &lt;left&gt;." in page
    assert 'id="categories"' in page
    options.only = "geometry"
    with pytest.raises(RankError):
        command.run(options)


@pytest.mark.usefixtures("gensim")
def test_a_refused_run_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(QwemError, match=r"missing\.txt"):
        command.run(parse(tmp_path / "missing.txt", "-o", tmp_path / "out"))
    assert not list(tmp_path.iterdir())
    (tmp_path / "empty.txt").touch()
    with pytest.raises(QwemError, match=r"empty|no words"):
        command.run(parse(tmp_path / "empty.txt", "-o", tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]


@pytest.mark.usefixtures("gensim")
def test_unknown_names_are_listed(text: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"'fig7'; there are fig1, .*table1"):
        command.run(parse(text, "-o", tmp_path / "out", "--only", "fig7"))
    with pytest.raises(QwemError, match=r"missing\.txt"):
        command.run(parse(tmp_path / "missing.txt", "-o", tmp_path / "out", "--only", "fig2"))


def test_every_scale_can_be_chosen() -> None:
    for name in paper.SCALES:
        assert parse("a.txt", "-o", "b", "--scale", name).scale == name
    with pytest.raises(SystemExit):
        parse("a.txt", "-o", "b", "--scale", "huge")
