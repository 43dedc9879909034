"""Text comes from files, directories, pipes and standard input."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from qwem import Corpus
from qwem.cli import main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]
TEXT = "The king and the queen.\nA cat and a dog.\n"


@pytest.fixture
def fingerprint(tmp_path: Path) -> str:
    (tmp_path / "text.txt").write_text(TEXT)
    return Corpus.from_files(tmp_path / "text.txt").fingerprint


def test_standard_input(tmp_path: Path, fingerprint: str) -> None:
    command = [sys.executable, "-m", "qwem.cli", "count", "-", "--corpus", str(tmp_path / "corpus")]
    subprocess.run(command, input=TEXT.encode(), check=True, capture_output=True)
    assert Corpus.load(tmp_path / "corpus").fingerprint == fingerprint


def test_text_is_read_from_a_named_pipe(tmp_path: Path, fingerprint: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(TEXT,))
    writer.start()
    assert main(["count", str(pipe), "--corpus", str(tmp_path / "corpus")]) == 0
    writer.join()
    assert Corpus.load(tmp_path / "corpus").fingerprint == fingerprint


def test_a_directory_is_read_without_its_own_results(tmp_path: Path, fingerprint: str) -> None:
    for _ in range(2):
        assert main(["count", str(tmp_path), "--corpus", str(tmp_path / "corpus")]) == 0
        assert Corpus.load(tmp_path / "corpus").fingerprint == fingerprint


@pytest.mark.parametrize("command", ["fit", "count"])
def test_an_empty_name_is_not_the_current_directory(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    assert main([command, "", "-o", "out"]) == 2
    assert "empty" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_model_is_not_text(tmp_path: Path, fingerprint: str, capsys: Capture) -> None:
    model = str(tmp_path / "model")
    assert main(["fit", str(tmp_path / "text.txt"), "-o", model, "--dim", "1"]) == 0
    assert main(["fit", model, "-o", str(tmp_path / "other")]) == 2
    assert "holds a model; give text, an encoded corpus or counts" in capsys.readouterr().err
