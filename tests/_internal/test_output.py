"""Files are replaced in one step; pipes, devices and links are what they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from qwem._internal.output import writing_file
from qwem.errors import ArtefactError


def write(path: Path, content: bytes, error: Exception | None = None) -> None:
    with writing_file(path) as file:
        file.write(content)
        if error is not None:
            raise error


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    write(tmp_path / "file", b"old")
    with pytest.raises(RuntimeError, match="half"):
        write(tmp_path / "file", b"new", RuntimeError("half"))
    assert (tmp_path / "file").read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    with pytest.raises(ArtefactError, match="is a directory"):
        write(tmp_path, b"")


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    for content in (b"old", b"new"):
        write(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_bytes() == content


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes in the file system")
def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=write, args=(pipe, b"through"))
    writer.start()
    assert pipe.read_bytes() == b"through"
    writer.join()
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output(name: str) -> None:
    if name != "-" and not Path(name).is_symlink():
        pytest.skip("this system has no link /dev/stdout")
    program = (
        "from qwem._internal.output import writing_file\n"
        f"with writing_file({name!r}) as file: file.write(b'text')"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert result.stdout == b"text"
    assert name == "-" or Path(name).is_symlink()


def test_the_umask_is_honoured(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        write(tmp_path / "file", b"")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
