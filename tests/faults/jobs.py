"""What processes of their own do in these tests.

It stands in a module that they can import, which test modules are not: pytest names those itself.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import shutil
from typing import TYPE_CHECKING

from faults.artefacts import contents
from faults.processes import command
from paper.families import TINY
from qwem._internal.artefact import opened
from qwem.model.naming import write_names

if TYPE_CHECKING:
    from pathlib import Path

NO_SPACE = 9  # the exit status by which a child says that it can't make a small disk


def with_small_files(limit: int, *arguments: str) -> int:
    """Run a command that can't write a file of more than so many bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return command(*arguments)


def on_a_small_disk(size: int, disk: Path, old: Path, arguments: list[str]) -> int:
    """Run a command on a disk of so many bytes, and check what it leaves there."""
    system = ctypes.CDLL(None, use_errno=True)
    new_namespace, recursive_private = 0x20000, 0x44000
    if system.unshare(new_namespace) or system.mount(b"none", b"/", None, recursive_private, None):
        return NO_SPACE
    if system.mount(b"tmpfs", os.fsencode(disk), b"tmpfs", 0, f"size={size}".encode()):
        return NO_SPACE
    for entry in old.iterdir():
        if entry.is_dir():
            shutil.copytree(entry, disk / entry.name)
        else:
            shutil.copy(entry, disk)
    before = tree(disk)
    status = command(*arguments)
    check_artefacts(disk)
    assert status == 0 or set(before.items()) <= set(tree(disk).items())
    assert not list(disk.rglob(".*")), "nothing is left on a full disk"
    return status


def save_often(model: Path, path: Path, times: int) -> None:
    from qwem.model import Model

    loaded = Model.load(model)
    for _ in range(times):
        loaded.save(path)


def name_often(path: Path) -> None:
    """Name a feature of a model again and again, and say when the first name is there."""
    for number in itertools.count():
        write_names(path, {"closed": {1: f"name {number}"}})
        if number == 0:
            print("named", flush=True)  # noqa: T201


def read_often(models: list[Path], path: Path, stop: Path) -> None:
    from qwem.model import Model

    versions = [contents(Model.load(model)) for model in models]
    looks = 0
    while not stop.exists():
        found = contents(Model.load(path))
        assert found in versions
        looks += 1
    print(looks)  # noqa: T201


def reproduce_tiny(place: Path, output: Path) -> int:
    """Make one figure of the paper, with its training runs, from a small text."""
    from qwem.cli import run_command
    from qwem.paper import reproduce

    arguments = {"analogies": str(place / "questions.txt"), "similarity": (), "scale": TINY}
    return run_command(
        lambda: reproduce(place / "new.txt", output, only=["fig2"], **arguments)  # type: ignore[arg-type]
    )


def tree(directory: Path) -> dict[str, str]:
    """Return a digest of every file below a directory, hidden ones included."""
    files = sorted(entry for entry in directory.rglob("*") if entry.is_file())
    return {
        str(file.relative_to(directory)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }


def check_artefacts(directory: Path) -> None:
    """Check that every artefact with a name of its own is whole."""
    for file in directory.rglob("metadata.json"):
        if "/." not in str(file.relative_to(directory.parent)):
            opened(file.parent).check()
