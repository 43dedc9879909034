"""`qwem compare` of texts: what the library finds, from the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from qwem.cli import main
from qwem.cli.io import plain
from qwem.comparison import compare_corpora

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_changes_between_two_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    texts = {}
    for name in ("old", "new"):
        lines = [" ".join(f"w{'abcdefgh'[i]}" for i in rng.integers(0, 8, 20)) for _ in range(30)]
        texts[name] = tmp_path / f"{name}.txt"
        texts[name].write_text("\n".join(lines))
    arguments = [*map(str, texts.values()), "--folds", "4", "--permutations", "3", "--dim", "2"]
    assert main(["compare", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = compare_corpora(texts, folds=4, permutations=3, dim=2)
    assert found == json.loads(json.dumps(plain(expected)))
    assert main(["compare", *arguments, "-n", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "old: 30 documents, 4 folds; new: 30 documents, 4 folds."
    assert lines[2].split() == ["word", "change", "low", "high", "at", "least", "q", "old", "new"]
    assert len(lines) == 5


def test_paths_along_an_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    texts = {}
    for name in ("old", "new"):
        lines = [" ".join(f"w{'abcdefgh'[i]}" for i in rng.integers(0, 8, 20)) for _ in range(30)]
        texts[name] = tmp_path / f"{name}.txt"
        texts[name].write_text("\n".join(lines))
    arguments = [*map(str, texts.values()), "--folds", "2", "--dim", "2"]
    path = ["--path", "wa,wb", "--positive", "wc", "--negative", "wd,we"]
    assert main(["compare", *arguments, *path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    compared = compare_corpora(texts, folds=2, permutations=0, dim=2)
    expected = compared.path(["wa", "wb"], ["wc"], ["wd", "we"])
    assert found == json.loads(json.dumps(plain(expected)))
    assert main(["compare", *arguments, *path, "--figure", str(tmp_path / "path.png")]) == 0
    assert (tmp_path / "path.png").read_bytes().startswith(b"\x89PNG")
    assert main(["compare", *arguments, "--figure", str(tmp_path / "path.png")]) == 2
    assert "needs --path, --positive and --negative" in capsys.readouterr().err


def test_one_text_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.txt").write_text("a b\n")
    assert main(["compare", str(tmp_path / "old.txt")]) == 2
    assert "two different texts" in capsys.readouterr().err


def test_one_text_is_divided_by_a_column(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(2)
    rows = [
        {
            "text": " ".join(f"w{'abcdefgh'[i]}" for i in rng.integers(0, 8, 20)),
            "decade": 1990 + 10 * (number % 3),
            "topic": "xy"[number % 2],
            "author": f"author {number // 6}",
        }
        for number in range(180)
    ]
    file = tmp_path / "all.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    arguments = [str(file), "--by", "decade", "--dim", "2", "--folds", "4", "--permutations", "19"]
    more = ["--strata", "topic", "--between", "1990", "2000", "--methods"]
    assert main(["compare", *arguments, *more, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = compare_corpora(
        [row["text"] for row in rows],
        by=[row["decade"] for row in rows],
        strata=[row["topic"] for row in rows],
        between=("1990", "2000"),
        folds=4,
        permutations=19,
        dim=2,
    )
    assert found["changes"] == json.loads(json.dumps(expected.to_dict()["changes"]))
    assert found["methods"] == expected.methods()
    assert found["documents"] == {"1990": 60, "2000": 60, "2010": 60}
    grouped = ["--groups", "author", "--permutations", "0"]
    assert main(["compare", *arguments[:-2], *grouped, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"]["1990"] == 30
