"""Artefacts are written whole or not at all."""

from __future__ import annotations

import sys
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from qwem._internal import artefact
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, content: str) -> None:
    with artefact.writing(path, "note") as directory:
        (directory / "text").write_text(content)
        artefact.write_metadata(directory, "note", {"content": content})


def test_a_failed_write_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "note"
    write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half a pair: \ud800")
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
    assert artefact.read_metadata(path, "note")["content"] == "49"


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    write(tmp_path / "note", "text")
    with pytest.raises(ArtefactError, match="holds a note, not a letter"):
        artefact.read_metadata(tmp_path / "note", "letter")
    with (
        pytest.raises(ArtefactError, match="holds a note, not a letter; choose another path"),
        artefact.writing(tmp_path / "note", "letter"),
    ):
        pass
    (tmp_path / "note" / artefact.METADATA_FILE).write_text("{")
    with pytest.raises(ArtefactError, match="not valid JSON"):
        artefact.kind_of(tmp_path / "note")
