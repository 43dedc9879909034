"""A full disk ends a command in one sentence, and the old result stays."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from faults.effort import LONG
from faults.jobs import NO_SPACE, check_artefacts, on_a_small_disk, with_small_files
from faults.processes import command, start
from paper.families import write_families

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs limits of Linux")

COMMANDS = {
    "encode": ("count", "TEXT", "--corpus", "OUT/result"),
    "count": ("count", "TEXT", "-o", "OUT/result"),
    "fit": ("fit", "TEXT", "-o", "OUT/result", "--dim", "30"),
    "export": ("export", "MODEL", "-o", "OUT/result.txt"),
    "report": ("report", "MODEL", "-o", "OUT/result.html"),
    "train": ("train", "TEXT", "-o", "OUT/result", "--dim", "8", "--steps", "6"),
}
PAGE = 4096  # bytes; a file on a disk in memory takes whole pages


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text and a model."""
    directory = tmp_path_factory.mktemp("full")
    text = str(write_families(directory))
    arguments = ("fit", text, "-o", str(directory / "model"), "--dim", "12")
    assert start(directory / "log", command, *arguments).wait() == 0
    return directory


def filled(name: str, place: Path, output: Path) -> list[str]:
    names = {"TEXT": str(place / "families.txt"), "MODEL": str(place / "model")}
    return [names.get(a, a).replace("OUT", str(output)) for a in COMMANDS[name]]


@pytest.mark.parametrize("name", COMMANDS if LONG else ["count", "fit", "train"])
def test_files_that_may_not_grow(
    name: str, place: Path, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    work = tmp_path / "work"
    refused = 0
    limits = [1_000, 2_000, 5_000, 20_000, 50_000] if LONG else [2_000]
    for limit in limits:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        child = start(tmp_path / "log", with_small_files, limit, *filled(name, place, work))
        status = child.wait()
        assert status in (0, 2), child.said
        refused += status == 2
        if status == 2:
            assert "Traceback" not in child.said
            assert not [path.name for path in work.rglob("*") if path.name.startswith(".")]
        check_artefacts(work)
    assert refused
    tally(f"{name} with small files", len(limits), f"{refused} refused, the rest as usual")


@pytest.mark.parametrize("name", COMMANDS if LONG else ["fit", "export"])
def test_a_disk_that_is_full(
    name: str, place: Path, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    disk, old = tmp_path / "disk", tmp_path / "old"
    for directory in (disk, old):
        directory.mkdir()
    assert start(tmp_path / "log", command, *filled(name, place, old)).wait() == 0
    shutil.rmtree(old / "result" / "checkpoint", ignore_errors=True)
    sizes = [entry.stat().st_size for entry in old.rglob("*") if entry.is_file()]
    used = sum(-(-size // PAGE) * PAGE for size in sizes)
    refused = 0
    for size in [used + PAGE, used + 4 * PAGE, 3 * used // 2] if LONG else [used + 2 * PAGE]:
        child = start(tmp_path / "log", on_a_small_disk, size, disk, old, filled(name, place, disk))
        status = child.wait()
        if status == NO_SPACE:
            pytest.skip("this user can't mount a disk")
        assert status in (0, 2), child.said
        refused += status == 2
        if status == 2:
            assert "No space left on device; free some space" in child.said
            assert "Traceback" not in child.said
    assert refused
    tally(f"{name} on a full disk", 3 if LONG else 1, f"{refused} refused, the old result whole")
