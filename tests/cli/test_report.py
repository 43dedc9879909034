"""The command `qwem report`: what it writes, prints and refuses."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from qwem.cli import main
from qwem.model.naming import write_names

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS = "The king and the queen rule.\nA cat and a dog play.\n" * 9


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text(DOCUMENTS)
    return file


@pytest.fixture(scope="module")
def model(text: Path) -> Path:
    path = text.parent / "model"
    assert main(["fit", str(text), "-o", str(path), "--dim", "1"]) == 0
    return path


def part(page: Path, name: str) -> Any:
    """Return a part of the data in a page."""
    content = page.read_text("utf-8").partition(f'id="part-{name}">')[2].partition("<")[0]
    return json.loads(zlib.decompress(base64.b64decode(content)))


def test_it_writes_one_page(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    arguments = ["report", str(model), "-o", str(page), "--title", "Kings & cats", "--words", "5"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "output": str(page),
        "bytes": page.stat().st_size,
    }
    assert part(page, "page")["title"] == "Kings & cats"
    assert len(part(page, "0/words")) == 5
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith(f"written  {page}: ")


def test_a_model_of_counts_is_told_its_corpus(text: Path, tmp_path: Path) -> None:
    corpus, counts, model, page = (str(tmp_path / name) for name in "abcd")
    assert main(["count", str(text), "--corpus", corpus]) == 0
    assert main(["count", corpus, "-o", counts]) == 0
    assert main(["fit", counts, "-o", model, "--dim", "1"]) == 0
    assert main(["report", model, "-o", page, "--corpus", corpus]) == 0
    (facts,) = part(tmp_path / "d", "page")["models"]
    assert "18 documents and 108 words" in facts["paragraphs"][0]


def test_it_shows_what_other_commands_found(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["axis", str(model), "rule", "--positive", "king", "--negative", "cat"]
    assert main([*asked, "--json"]) == 0
    (tmp_path / "animals_and-royals.json").write_text(capsys.readouterr().out)
    page = tmp_path / "report.html"
    results = ["--results", str(tmp_path / "animals_and-royals.json")]
    assert main(["report", str(model), "-o", str(page), *results]) == 0
    (shown,) = part(page, "page")["results"]
    assert shown["title"] == "animals and royals"
    assert "From cat (−) to king (+)." in shown["heading"]


def test_features_have_the_names_that_were_given(model: Path, tmp_path: Path) -> None:
    named = tmp_path / "named"
    shutil.copytree(model, named)
    write_names(named, {"closed": {1: "beasts & kings"}, "polished": {1: "other"}})
    assert main(["report", str(named), "-o", str(tmp_path / "r.html")]) == 0
    assert part(tmp_path / "r.html", "0/features")[0]["name"] == "beasts & kings"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--analogies", "no-such-file"], "no-such-file"),
        (["--corpus", "nowhere"], "nowhere"),
        (["--results", "nowhere.json"], "nowhere.json"),
        (["--init-scale", "-1"], "init_scale"),
    ],
)
def test_errors_are_one_sentence(
    options: list[str],
    message: str,
    model: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["report", str(model), "-o", str(tmp_path / "r.html"), *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_page_on_standard_output(model: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["report", str(model), "-o", "-", "--words", "5"]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out.startswith(b"<!doctype html>")
    assert captured.out.rstrip().endswith(b"</html>")
    assert captured.err == b"written  -\n"
