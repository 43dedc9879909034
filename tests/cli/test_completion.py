"""The completion scripts know every command and its options."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from qwem.cli import build_parser, main
from qwem.cli.options import SHELLS, completion_script

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_are_printed(shell: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--completion", shell])
    assert end.value.code == 0
    assert capsys.readouterr().out == completion_script(build_parser(), shell)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (["qwem", "ev"], ["evaluate"]),
        (["qwem", "fit", "--vo"], ["--vocab-size"]),
        (["qwem", "fit", "--no-po"], ["--no-polish"]),
    ],
)
def test_bash_completes(line: list[str], expected: list[str]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = completion_script(build_parser(), "bash")
    words = " ".join(f"'{word}'" for word in line)
    script += f"COMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _qwem; echo ${{COMPREPLY[@]}}"
    result = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == expected
