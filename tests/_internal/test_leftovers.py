"""What a killed process leaves is removed by the next one, and what a living one uses is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from qwem._internal import leftovers
from qwem._internal.output import writing_file

KILLED = """
import os, sys
from pathlib import Path
from qwem._internal import leftovers
from qwem._internal.output import writing_file
{before}
with {writing} as made:
    {after}
    os.kill(os.getpid(), 9)
"""


def run_and_kill(writing: str, *arguments: Path, before: str = "", after: str = "pass") -> None:
    program = KILLED.format(writing=writing, before=before, after=after)
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False)
    assert done.returncode == -9


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def test_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"old")
    run_and_kill("writing_file(sys.argv[1])", path)
    assert len(names(tmp_path)) == 2
    with writing_file(path) as file:
        file.write(b"new")
    assert names(tmp_path) == ["page.html"]


def test_temporary_directories_of_killed_processes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with leftovers.temporary_directory("work") as mine:
        run_and_kill("leftovers.temporary_directory('work')", after="(made / 'f').touch()")
        run_and_kill("leftovers.temporary_directory('other')")
        assert len(names(tmp_path)) == 3
        with leftovers.temporary_directory("work") as second:
            assert mine.exists()
            (second / "file").touch()
    assert [name.split(".")[1] for name in names(tmp_path)] == ["other"]


def test_a_number_that_was_given_again_does_not_keep_what_is_left(tmp_path: Path) -> None:
    """In a container every process may have the same number."""
    left = leftovers.temporary_name(tmp_path / "model")
    left.mkdir()
    leftovers.remove_abandoned(tmp_path / "model")
    assert left.exists(), "this process may be about to lock it"
    os.utime(left, (0, 0))
    leftovers.remove_abandoned(tmp_path / "model")
    assert not left.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such locks")
def test_what_is_locked_is_kept_whoever_made_it(tmp_path: Path) -> None:
    """Two containers that share a disk don't see each other's processes."""
    left = leftovers.temporary_name(tmp_path / "model")
    foreign = left.with_name(left.name.replace(f"-{os.getpid()}-", "-999999999-"))
    foreign.mkdir()
    with leftovers.claimed(foreign):
        leftovers.remove_abandoned(tmp_path / "model")
        assert foreign.exists()
    leftovers.remove_abandoned(tmp_path / "model")
    assert not foreign.exists()


def test_other_names_are_left_alone(tmp_path: Path) -> None:
    others = [".model", ".model.txt", ".model.backup-1-abcdef01", "model-999999999-abcdef01"]
    for name in others:
        (tmp_path / name).mkdir()
    leftovers.remove_abandoned(tmp_path / "model")
    assert names(tmp_path) == sorted(others)


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 127)
    with writing_file(path) as file:
        file.write(b"text")
    assert path.read_bytes() == b"text"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_errors_name_the_path_that_was_given(tmp_path: Path) -> None:
    def fill() -> None:
        with writing_file("/dev/full") as file:
            file.write(b"text")
            file.flush()

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill()
    assert caught.value.filename == "/dev/full"
    directory = tmp_path / "gone"

    def remove_it() -> None:
        with writing_file(directory / "file"):
            shutil.rmtree(directory)

    with pytest.raises(OSError, match="No such file") as caught:
        remove_it()
    assert caught.value.filename == str(directory / "file")
