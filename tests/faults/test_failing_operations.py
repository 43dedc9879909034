"""Whichever write, read or allocation fails, results are whole and the error is one sentence."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import safetensors.numpy

from faults.artefacts import contents, save_all, saved_models
from faults.effort import LONG
from qwem import Model
from qwem._internal import artefact, files
from qwem.errors import QwemError

if TYPE_CHECKING:
    from collections.abc import Callable

Operations = tuple[tuple[Any, str], ...]

WRITES: Operations = (
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
READS: Operations = (
    (os, "open"),
    (Path, "open"),
    (Path, "read_bytes"),
    (safetensors.numpy, "load_file"),
    (mmap, "mmap"),
)
"""What a load calls to read the disk."""
ALLOCATIONS: Operations = tuple(
    (np, name)
    for name in (
        "append", "arange", "array", "asarray", "ascontiguousarray", "concatenate", "cumsum",
        "diff", "empty", "full", "ones", "where", "zeros",
    )
)  # fmt: skip
"""What asks for the memory of an array."""
SHORT_LOADS = ("corpus", "sparse-counts", "polished-model", "updatable-model")


def no_disk() -> OSError:
    return OSError(errno.EIO, "Input/output error")


def no_memory() -> MemoryError:
    return MemoryError("Unable to allocate an array")


class Failing:
    """Operations of which the n-th fails, and no other."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        operations: Operations,
        number: int,
        error: Callable[[], BaseException],
    ) -> None:
        self.done, self.number, self.error = 0, number, error
        for owner, name in operations:
            monkeypatch.setattr(owner, name, self.guard(getattr(owner, name)))

    def guard(self, operation: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any, **options: Any) -> Any:
            self.done += 1
            if self.done == self.number:
                raise self.error()
            return operation(*arguments, **options)

        return guarded

    @property
    def happened(self) -> bool:
        """Whether there were so many operations that one failed."""
        return self.done >= self.number


@pytest.mark.parametrize("first", [0, 1] if LONG else [0])
@pytest.mark.parametrize(
    ("what", "operations", "error"),
    [("operation", WRITES, no_disk), ("allocation", ALLOCATIONS, no_memory)],
)
def test_whatever_fails_in_a_save_leaves_the_old_or_the_new(
    what: str,
    operations: Operations,
    error: Callable[[], BaseException],
    first: int,
    tmp_path: Path,
    tally: Callable[[str, int, str], None],
) -> None:
    paths = saved_models(tmp_path)
    before, after = paths[first], Model.load(paths[1 - first])
    old, new = contents(Model.load(before)), contents(after)
    place = tmp_path / "place"
    outcomes: list[str] = []
    while True:
        shutil.copytree(before, place)
        with pytest.MonkeyPatch.context() as monkeypatch:
            failing = Failing(monkeypatch, operations, len(outcomes) + 1, error)
            with suppress(OSError, MemoryError):
                after.save(place)
        found = contents(Model.load(place))
        outcomes.append("old" if found == old else "new" if found == new else "mixed")
        assert not [entry.name for entry in tmp_path.glob(".place*")], outcomes
        shutil.rmtree(place)
        if not failing.happened:
            break
    assert "mixed" not in outcomes
    assert outcomes.pop() == "new", "nothing failed"
    assert outcomes.count("old") > (5 if operations is WRITES else 3)
    said = f"{outcomes.count('old')} old, {outcomes.count('new')} new, 0 mixed"
    tally(f"fail each {what} of a save", len(outcomes), said)


@pytest.mark.parametrize(
    ("what", "operations", "error"),
    [("read", READS, no_disk), ("allocation", ALLOCATIONS, no_memory)],
)
def test_whatever_fails_in_a_load_is_one_sentence(
    what: str,
    operations: Operations,
    error: Callable[[], BaseException],
    tmp_path: Path,
    tally: Callable[[str, int, str], None],
) -> None:
    loaders = save_all(tmp_path)
    refused = loaded = 0
    for name in sorted(loaders) if LONG else SHORT_LOADS:
        load, path = loaders[name], tmp_path / name
        expected = contents(load(path))
        number = 0
        while True:
            number += 1
            with pytest.MonkeyPatch.context() as monkeypatch:
                failing = Failing(monkeypatch, operations, number, error)
                outcome = loaded_or_sentence(load, path)
            if not failing.happened:
                break
            if isinstance(outcome, str):
                refused += 1
                assert "\n" not in outcome, name
            else:
                loaded += 1
                assert contents(outcome) == expected, f"{name}, {what} {number}"
        assert contents(load(path)) == expected, f"{name} is there afterwards"
    assert refused > 20
    tally(f"fail each {what} of a load", refused + loaded, f"{refused} refused, {loaded} as saved")


def loaded_or_sentence(load: Callable[[Path], Any], path: Path) -> Any:
    try:
        return load(path)
    except (QwemError, MemoryError) as problem:
        return str(problem)


def test_every_file_is_on_the_disk_before_it_is_put_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power cut a name never leads to a file whose contents did not reach the disk."""
    path = saved_models(tmp_path)[0]
    model = Model.load(path)
    flushed: set[int] = set()
    places = []

    def fsync(descriptor: int, flush: Callable[[int], None] = os.fsync) -> None:
        flushed.add(os.fstat(descriptor).st_ino)
        flush(descriptor)

    def put_in_place(
        partial: Path, final: Path, check: Any, put: Callable[..., None] = files._put_in_place
    ) -> None:
        if final.name == "again":
            for entry in [partial, *partial.rglob("*")]:
                assert entry.stat().st_ino in flushed, entry.name
        places.append(final.name)
        put(partial, final, check)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(files, "_put_in_place", put_in_place)
    model.save(tmp_path / "again")
    assert places[-1] == "again"
    assert tmp_path.stat().st_ino in flushed, "the directory that has its name"
    with files.writing_file(tmp_path / "file") as file:
        file.write(b"text")
    assert (tmp_path / "file").stat().st_ino in flushed
