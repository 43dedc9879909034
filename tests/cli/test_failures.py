"""Commands end in one sentence and the right status, whatever goes wrong."""

from __future__ import annotations

import argparse
import io
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from qwem.cli import in_options, main, run_command
from qwem.cli.io import emit
from qwem.errors import SettingError
from qwem.model import Settings

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


def failing(error: BaseException) -> int:
    def command() -> None:
        raise error

    return run_command(command, lambda: ["min_count"])


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (SettingError("`min_count` is wrong."), 2, "--min-count is wrong."),
        (
            OSError(28, "No space left on device", "model"),
            2,
            "model: No space left on device; free some space",
        ),
        (ModuleNotFoundError(name="jax"), 2, "this needs jax, which is not installed: pip"),
        (MemoryError(), 2, "memory ran out; use fewer words"),
        (RuntimeError("can't start new thread"), 2, "no more threads can be started; use fewer"),
        (KeyboardInterrupt(), 130, "interrupted."),
    ],
)
def test_errors_are_sentences(
    error: BaseException, status: int, message: str, capsys: Capture
) -> None:
    assert failing(error) == status
    assert capsys.readouterr().err.startswith(f"qwem: {message}")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_end_as_ctrl_c_does(name: str, capsys: Capture) -> None:
    number = getattr(signal, name)
    outer = signal.signal(number, signal.SIG_DFL)  # after nohup it would be ignored
    cleaned = []

    def command() -> None:
        try:
            os.kill(os.getpid(), number)
        finally:
            cleaned.append(True)

    try:
        assert run_command(command) == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, outer)
    assert cleaned == [True]
    assert capsys.readouterr().err == "qwem: stopped by a signal.\n"


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no SIGHUP")
def test_an_ignored_signal_stays_ignored() -> None:
    """As after nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_command(lambda: os.kill(os.getpid(), signal.SIGHUP)) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_output_to_a_full_device() -> None:
    program = (
        "import sys; from qwem.cli import run_command\n"
        "sys.exit(run_command(lambda: sys.stdout.write('text')))"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith("qwem: No space left on device; free some space")
    assert done.stderr.count("\n") == 1


def test_words_do_nothing_to_the_terminal(capsys: Capture) -> None:
    options = argparse.Namespace(json=False)
    emit(options, {}, [("\x1b[2Jword", "0.5")])
    assert capsys.readouterr().out == "\\u001b[2Jword  0.5\n"
    assert failing(SettingError("There is no \x1b[2J.")) == 2
    assert capsys.readouterr().err == "qwem: There is no \\u001b[2J.\n"


def test_a_terminal_that_knows_only_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    for as_json in (False, True):
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", stream)
        emit(argparse.Namespace(json=as_json), {"word": "東"}, [("東",)])
        stream.flush()
        shown = stream.buffer.getvalue().decode("ascii")
        assert shown == ('{"word": "\\u6771"}\n' if as_json else "\\u6771\n")


def test_other_errors_are_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("pass `vocab_size=None` to keep them all", "pass --vocab-size all to keep them all"),
        ("name the text by `text`.", "name the text by --text."),
        ("or fit with `polish=False`.", "or fit with --no-polish."),
        ("pass `errors='replace'` to", "pass --errors replace to"),
        ("the window of the target", "the window of the target"),
        ("`vocabulary` gives them", "`vocabulary` gives them"),
        ("it has 'text'", "it has 'text'"),
    ],
)
def test_settings_are_written_as_options(message: str, expected: str) -> None:
    assert in_options(message, Settings.options()) == expected


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            "--vocab-size",
            "many",
            "--vocab-size takes a whole number of at least 1 or all",
        ),
        ("--weights", "3,x", "--weights takes dynamic, flat, or whole numbers"),
    ],
)
def test_values_of_options_are_explained(
    option: str, value: str, message: str, capsys: Capture
) -> None:
    with pytest.raises(SystemExit):
        main(["count", "text.txt", "-o", "counts", option, value])
    assert message in capsys.readouterr().err


def test_bad_bytes_name_the_option(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff")
    assert main(["count", str(tmp_path / "a.txt"), "--corpus", str(tmp_path / "c")]) == 2
    assert "or --errors replace to put U+FFFD there" in capsys.readouterr().err


def test_a_warning_does_not_break_a_bar() -> None:
    program = (
        "import logging, sys; sys.stderr.isatty = lambda: True\n"
        "from qwem.cli import main\n"
        "from qwem._internal.resources import progress\n"
        "main([])\n"
        "with progress('reading', total=2): logging.getLogger('qwem').warning('Look.')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    before, _, after = done.stderr.partition(b"qwem: Look.\n")
    assert before.endswith(b"\r")
    assert b"reading" in before.splitlines()[-2]
    assert b"reading" in after
