"""Whichever write, rename or sync of a save fails, the old artefact or the new one is there."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from faults.artefacts import contents, saved_models
from faults.effort import LONG
from qwem import Model
from qwem._internal import artefact

if TYPE_CHECKING:
    from collections.abc import Callable

PLACES: tuple[tuple[Any, str], ...] = (
    (os, "rename"),
    (os, "replace"),
    (os, "mkdir"),
    (os, "fsync"),
    (Path, "write_bytes"),
    (artefact, "write_arrays"),
    (artefact, "write_words"),
    (artefact, "digest_of_file"),
)
"""What a save calls to change the disk."""


class Disk:
    """A disk on which the n-th operation fails, and all others don't."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
        self.done, self.failing = 0, failing
        for owner, name in PLACES:
            monkeypatch.setattr(owner, name, self.guard(getattr(owner, name)))

    def guard(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **options: Any) -> Any:
            self.done += 1
            if self.done == self.failing:
                raise OSError(errno.EIO, "Input/output error")
            return operation(*arguments, **options)

        return guarded


@pytest.mark.parametrize("first", [0, 1] if LONG else [0])
def test_every_failing_operation_leaves_the_old_or_the_new(
    first: int, tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    paths = saved_models(tmp_path)
    before, after = paths[first], Model.load(paths[1 - first])
    old, new = contents(Model.load(before)), contents(after)
    place = tmp_path / "place"
    outcomes: list[str] = []
    while True:
        shutil.copytree(before, place)
        with pytest.MonkeyPatch.context() as monkeypatch:
            disk = Disk(monkeypatch, len(outcomes) + 1)
            with suppress(OSError):
                after.save(place)
        found = contents(Model.load(place))
        outcomes.append("old" if found == old else "new" if found == new else "mixed")
        assert not [entry.name for entry in tmp_path.glob(".place*")], outcomes
        shutil.rmtree(place)
        if disk.done < disk.failing:
            break
    assert "mixed" not in outcomes
    assert outcomes.pop() == "new", "nothing failed"
    assert outcomes.count("old") > 5
    said = f"{outcomes.count('old')} old, {outcomes.count('new')} new, 0 mixed"
    tally("fail each operation of a save", len(outcomes), said)
