"""The output is checked before the work: a command that can't write says so before it reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from qwem.cli import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

# No input exists, so that any reading before the check would be the error that is shown.
COMMANDS = (
    ["fit", "missing.txt"],
    ["count", "missing.txt"],
    ["train", "missing.txt"],
    ["reproduce", "missing.txt"],
    ["demo", "missing.txt"],
    ["report", "missing"],
    ["export", "missing"],
)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("precious")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("output", ["file/inside", "file/deep/inside"])
def test_a_path_below_a_file(
    command: list[str], output: str, directory: Path, capsys: Capture
) -> None:
    assert main([*command, "-o", output]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("qwem: file/")
    assert captured.err.endswith("is a file; choose another path.\n")
    assert captured.err.count("\n") == 1
    assert (directory / "file").read_text() == "precious"
    assert [path.name for path in directory.iterdir()] == ["file"]


@pytest.mark.parametrize("command", COMMANDS[:5], ids=lambda command: command[0])
def test_a_file_where_a_directory_is_needed(
    command: list[str], directory: Path, capsys: Capture
) -> None:
    assert main([*command, "-o", "file"]) == 2
    assert "is a file" in capsys.readouterr().err
    assert (directory / "file").read_text() == "precious"


def test_a_directory_where_a_file_is_needed(directory: Path, capsys: Capture) -> None:
    (directory / "folder").mkdir()
    assert main(["report", "missing", "-o", "folder"]) == 2
    assert "folder is a directory; name a file to write." in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_directory_that_may_not_be_written(
    command: list[str], directory: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "locked").mkdir(mode=0o500)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anywhere
    assert main([*command, "-o", "locked/inside"]) == 2
    assert "there is no permission to write to" in capsys.readouterr().err


def test_a_run_is_not_written_over_something_else(directory: Path, capsys: Capture) -> None:
    (directory / "run" / "trace").mkdir(parents=True)
    (directory / "run" / "trace" / "thesis.txt").write_text("precious")
    assert main(["train", "missing.txt", "-o", "run"]) == 2
    assert "run/trace exists and is not a saved trace" in capsys.readouterr().err
