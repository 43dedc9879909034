"""Artefacts are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem._internal import artefact, files
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path


def write(
    path: Path, content: str, *, added: Path | None = None, error: Exception | None = None
) -> None:
    """Write a note; meanwhile a file is added elsewhere, or an error happens."""
    with artefact.writing(path, "note") as directory:
        (directory / "text").write_text(content)
        artefact.write_metadata(directory, "note", {"content": content})
        if added is not None:
            added.write_text("added")
        if error is not None:
            raise error


def test_a_failed_write_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "old")
    with pytest.raises(RuntimeError, match="half"):
        write(path, "new", error=RuntimeError("half"))
    assert (path / "text").read_text() == "old"
    write(path, "new")
    assert (path / "text").read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["note"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps two names in one step")
def test_a_replaced_artefact_is_never_missing(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "0")

    def write_often() -> None:
        for k in range(50):
            write(path, str(k))

    writer = Thread(target=write_often)
    writer.start()
    looks = 0
    while writer.is_alive():
        assert path.exists()
        looks += 1
    writer.join()
    assert looks > 0
    assert artefact.opened(path).metadata["content"] == "49"


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "note", "text")
    with pytest.raises(ArtefactError, match="holds a note, not a letter"):
        artefact.load(tmp_path / "note", "letter", lambda saved: saved)
    with (
        pytest.raises(ArtefactError, match="holds a note, not a letter; choose another path"),
        artefact.writing(tmp_path / "note", "letter"),
    ):
        pass
    (tmp_path / "note" / artefact.METADATA_FILE).write_text("{")
    with pytest.raises(ArtefactError, match="not valid JSON"):
        artefact.kind_of(tmp_path / "note")


def read(path: Path) -> tuple[str, str]:
    """Return the note from its file and from its metadata, which must agree."""

    def build(saved: artefact.Saved) -> tuple[str, str]:
        return saved.path("text").read_text(), saved.metadata["content"]

    return artefact.load(path, "note", build)


def test_a_directory_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "old")
    (path / "thesis").mkdir()
    (path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(ArtefactError, match=r"\(thesis and 1 more\), which would be lost"):
        artefact.require_replaceable(path, "note")
    with pytest.raises(ArtefactError, match="which would be lost"):
        write(path, "new")
    assert (path / "thesis" / "chapter.txt").read_text() == "years of work"
    assert read(path) == ("old", "old")


def test_files_added_during_the_work_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "old")
    with pytest.raises(ArtefactError, match=r"late\.txt"):
        write(path, "new", added=path / "late.txt")
    assert (path / "late.txt").read_text() == "added"
    assert (path / "text").read_text() == "old"


def test_files_added_at_the_last_moment_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note"
    write(path, "old")
    exchange = files._exchange

    def add_and_exchange(first: Path, second: Path) -> bool:
        if not (path / "late.txt").exists():
            (path / "late.txt").write_text("added")
        return exchange(first, second)

    monkeypatch.setattr(files, "_exchange", add_and_exchange)
    with pytest.raises(ArtefactError, match=r"note has files beside the saved note \(late\.txt\)"):
        write(path, "new")
    assert (path / "late.txt").read_text() == "added"
    assert [entry.name for entry in tmp_path.iterdir()] == ["note"]


def test_artefacts_inside_an_artefact_are_replaced_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "folder"

    def write_folder(content: str) -> None:
        with artefact.writing(path, "folder") as directory:
            write(directory / "note", content)
            artefact.write_metadata(directory, "folder", {})

    write_folder("old")
    write_folder("new")
    assert artefact.load(path, "folder", lambda saved: read(saved.child("note"))) == ("new", "new")
    write(tmp_path / "other", "older")
    shutil.rmtree(path / "note")
    (tmp_path / "other").rename(path / "note")
    with pytest.raises(ArtefactError, match=r"were written|damaged"):
        artefact.load(path, "folder", lambda saved: read(saved.child("note")))
    (path / "note" / "mine.txt").write_text("mine")
    with pytest.raises(ArtefactError, match=r"note/mine\.txt"):
        write_folder("newer")


def test_a_link_to_a_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for content in ("old", "new"):
        write(tmp_path / "link", content)
        assert (tmp_path / "link").is_symlink()
        assert read(tmp_path / "real") == (content, content)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "real"]


def test_the_umask_is_honoured(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with artefact.writing(tmp_path / "note", "note") as directory:
            artefact.write_arrays(directory / "a.safetensors", {"a": np.zeros(3)})
            artefact.write_words(directory / "words.txt", ("a",))
            artefact.write_metadata(directory, "note", {})
    finally:
        os.umask(old)
    modes = {entry.name: entry.stat().st_mode & 0o777 for entry in (tmp_path / "note").iterdir()}
    assert modes == {"a.safetensors": 0o640, "words.txt": 0o640, "metadata.json": 0o640}
    assert (tmp_path / "note").stat().st_mode & 0o777 == 0o750


@pytest.mark.skipif(os.geteuid() == 0, reason="everything is readable to root")
def test_what_may_not_be_read_is_not_called_missing(tmp_path: Path) -> None:
    write(tmp_path / "note", "text")
    (tmp_path / "note" / "text").chmod(0)
    with pytest.raises(ArtefactError, match="can't be read: Permission denied"):
        read(tmp_path / "note")


def test_what_could_not_be_loaded_is_not_saved(tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    with pytest.raises(ArtefactError, match=r"'a\\nb' can't be saved: it has a line break"):
        artefact.write_words(file, ("a", "a\nb"))
    with pytest.raises(ArtefactError, match="half of a surrogate pair"):
        artefact.write_words(file, ("a", "\ud800"))
    write(tmp_path / "note", "text")
    with artefact.writing(tmp_path / "named", "note") as directory:
        artefact.write_metadata(directory, "note", {"file": "\udcff.txt"})
    assert artefact.opened(tmp_path / "named").metadata["file"] == "\udcff.txt"


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    program = (
        "import os, sys; from qwem._internal import artefact\n"
        "with artefact.writing(sys.argv[1], 'note') as directory:\n"
        "    (directory / 'text').write_text('half')\n"
        "    os.kill(os.getpid(), 9)"
    )
    path = tmp_path / "note"
    subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with artefact.writing(path, "note") as directory:
        artefact.write_metadata(directory, "note", {})
        assert sorted(entry.name for entry in tmp_path.iterdir()) == [directory.name]
    assert [entry.name for entry in tmp_path.iterdir()] == ["note"]


def test_a_reader_gets_one_whole_version(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "0")

    def write_often() -> None:
        for k in range(60):
            write(path, str(k))

    writer = Thread(target=write_often)
    writer.start()
    looks = 0
    while writer.is_alive():
        text, content = read(path)
        assert text == content
        looks += 1
    writer.join()
    assert looks > 0


def test_a_version_that_comes_back_is_not_taken_for_damage(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "first")
    looks = []

    def build(saved: artefact.Saved) -> str:
        looks.append(saved.metadata["content"])
        if len(looks) == 1:
            write(path, "second")
            with contextlib.suppress(ArtefactError):
                saved.path("text")
                pytest.fail("the file of another version was taken")
            write(path, "first")
            raise ArtefactError("text is damaged")
        return saved.path("text").read_text()

    assert artefact.load(path, "note", build) == "first"
    assert looks == ["first", "first"]


def test_a_reader_waits_for_a_name_that_is_missing_for_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "note"
    write(path, "text")
    waiting = files.temporary_name(path)
    path.rename(waiting)
    monkeypatch.setattr("time.sleep", lambda seconds: waiting.rename(path))
    assert read(path) == ("text", "text")
    with pytest.raises(ArtefactError, match="There is no saved note"):
        read(tmp_path / "other")


def test_of_two_writers_one_wins(tmp_path: Path) -> None:
    for attempt in range(20):
        path = tmp_path / str(attempt)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda content, path=path: write(path, content), "abcd"))
        text, content = read(path)
        assert text == content
    assert len(list(tmp_path.iterdir())) == 20


def test_a_second_update_is_refused_and_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "0")
    with artefact.updating(path):
        with (
            pytest.raises(ArtefactError, match="is being updated by another process"),
            artefact.updating(path),
        ):
            pass
        write(path, "1")
    with artefact.updating(path):
        pass

    def add_one() -> None:
        for _ in range(10):
            with artefact.updating(path, wait=True):
                write(path, str(int((path / "text").read_text()) + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: add_one(), range(4)))
    assert (path / "text").read_text() == "41"
    assert [entry.name for entry in tmp_path.iterdir()] == ["note"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only POSIX systems have named pipes")
@pytest.mark.parametrize("name", ["metadata.json", "text"])
def test_pipes_and_devices_are_not_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / "note"
    for replace in (os.mkfifo, lambda file: os.symlink("/dev/zero", file)):
        shutil.rmtree(path, ignore_errors=True)
        write(path, "old")
        (path / name).unlink()
        replace(path / name)
        with pytest.raises(ArtefactError, match=rf"{name} is not a regular file"):
            artefact.load(path, "note", lambda saved: saved.path("text").read_text())
