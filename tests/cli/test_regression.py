"""`qwem regression`: covariates from columns of the input or of another table."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem.cli import main
from qwem.cli.io import plain
from qwem.comparison import context_regression

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
RNG = np.random.default_rng(0)
ROWS: list[dict[str, Any]] = [
    {
        "text": " ".join(f"w{'abcdefghij'[i]}" for i in RNG.integers(0, 10, 25)),
        "party": "DR"[number % 2],
        "year": int(RNG.integers(1990, 2020)),
        "speaker": number // 2,
    }
    for number in range(40)
]
SETTINGS: Any = {"dim": 3, "polish": False, "permutations": 19}
OPTIONS = ["--dim", "3", "--no-polish", "--permutations", "19"]


@pytest.fixture
def speeches(tmp_path: Path) -> str:
    file = tmp_path / "speeches.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(file)


def json_of(capture: Capture, *arguments: str) -> Any:
    capture.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capture.readouterr().out)


def column(name: str) -> list[Any]:
    return [row[name] for row in ROWS]


def test_covariates_are_columns_of_the_text(speeches: str, capsys: Capture) -> None:
    asked = ["--words", "wa,wb", "--covariates", "party", "year", "--groups", "speaker"]
    found = json_of(capsys, "regression", speeches, *asked, *OPTIONS)
    expected = context_regression(
        ROWS, ["wa", "wb"], ["party", "year"], groups="speaker", **SETTINGS
    )
    labels = context_regression(
        column("text"),
        ["wa", "wb"],
        {"party": column("party"), "year": column("year")},
        groups=column("speaker"),
        **SETTINGS,
    )
    assert labels.coefficients == expected.coefficients
    assert found == json.loads(json.dumps(plain(expected)))
    assert main(["regression", speeches, *asked, *OPTIONS]) == 0
    assert capsys.readouterr().out == expected.to_text()
    table = speeches.replace(".jsonl", ".csv")
    with open(table, "w", newline="", encoding="utf-16") as file:
        csv.writer(file).writerows([ROWS[0], *(row.values() for row in ROWS)])
    assert json_of(capsys, "regression", table, *asked, *OPTIONS) == found
    with open(table, "w", newline="", encoding="utf-16-le") as file:
        csv.writer(file).writerows([ROWS[0], *(row.values() for row in ROWS)])
    encoded = [table, "--encoding", "utf-16-le"]
    assert json_of(capsys, "regression", *encoded, *asked, *OPTIONS) == found


def test_an_encoded_corpus_has_its_columns_elsewhere(
    speeches: str, tmp_path: Path, capsys: Capture
) -> None:
    corpus, model = str(tmp_path / "corpus"), str(tmp_path / "model")
    assert main(["count", speeches, "--corpus", corpus]) == 0
    assert main(["fit", corpus, "-o", model, "--dim", "3", "--no-polish"]) == 0
    asked = ["--words", "wa", "--covariates", "year"]
    found = json_of(
        capsys, "regression", corpus, *asked, *OPTIONS, "--table", speeches, "--model", model
    )
    assert found == json_of(capsys, "regression", speeches, *asked, *OPTIONS)
    assert main(["regression", corpus, *asked]) == 2
    assert "give the table that it was made from" in capsys.readouterr().err


def test_the_coefficients_can_be_drawn(speeches: str, tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("matplotlib", reason="figures need the plot extra")
    figure = tmp_path / "figure.pdf"
    asked = ["--words", "wa", "--covariates", "year", "party", "--figure"]
    assert main(["regression", speeches, *asked, str(figure), *OPTIONS]) == 0
    assert figure.read_bytes().startswith(b"%PDF")
    assert main(["regression", speeches, *asked, "figure.txt"]) == 2
    assert "ends in .png" in capsys.readouterr().err


def test_a_column_that_is_not_there(speeches: str, capsys: Capture) -> None:
    assert main(["regression", speeches, "--words", "wa", "--covariates", "age"]) == 2
    assert "No document has a value for 'age'" in capsys.readouterr().err


def test_two_groups_are_compared_too(speeches: str, capsys: Capture) -> None:
    asked = ["regression", speeches, "--words", "wa", "--covariates", "party", "year", *OPTIONS]
    found = json_of(capsys, *asked, "--between", "party=R,year=2000", "party=D,year=2000")
    *_, contrast = found["coefficients"]
    assert contrast["name"] == "party=R, year=2000 − party=D, year=2000"
    own = found["coefficients"][0]
    assert np.isclose(contrast["debiased"], own["debiased"])
    assert contrast["p_value"] == own["p_value"]
    with pytest.raises(SystemExit):
        main([*asked, "--between", "party=D", "party"])
    assert "a group has covariates, such as party=R" in capsys.readouterr().err
    assert main([*asked, "--between", "party=D", "year=x"]) != 0
    assert "year is a number, not 'x'" in capsys.readouterr().err
