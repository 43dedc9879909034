"""A saved artefact whose digests are right but whose contents are not is refused."""

from __future__ import annotations

import json
import random
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from faults.artefacts import save_all
from faults.effort import FORGERIES
from qwem._internal.artefact import DIGEST, FILES, METADATA_FILE, seal, write_json
from qwem.errors import ArtefactError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

VALUES: tuple[Any, ...] = (None, 7, -1, "text", [], [1], {"a": 1})
OWN = ("qwem", FILES, DIGEST)
LISTS = ("documents", "batches", "polished.safetensors: losses", "state.safetensors: state.")
"""Arrays whose length nothing else fixes, or whose bytes count and not their shape."""


@pytest.fixture(scope="module")
def loaders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    directory = tmp_path_factory.mktemp("intact")
    return directory, save_all(directory)


def shapes(array: np.ndarray[Any, Any]) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield an array in shapes that it must not have."""
    yield "a row more", np.concatenate([array, array[:1]])
    yield "a row less", array[:-1]
    yield "an axis more", array[None]
    if array.ndim > 1:
        yield "one axis", array.ravel()


def reseal(directory: Path) -> None:
    """Give an artefact and those inside it the digests of what they hold now."""
    inside = [file.parent for file in directory.rglob(METADATA_FILE)]
    for place in sorted(inside, key=lambda path: -len(path.parts)):
        fields = json.loads((place / METADATA_FILE).read_text("utf-8"))
        fields.pop(DIGEST, None)
        write_json(place, fields)
        seal(place)


class Forgery(NamedTuple):
    """A change of a file of an artefact, which must be refused or at least not crash."""

    what: str
    must_be_refused: bool
    file: Path
    write: Callable[[Path], None]


def write_arrays(arrays: dict[str, Any], file: Path) -> None:
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, file)


def write_fields(fields: dict[str, Any], file: Path) -> None:
    write_json(file.parent, fields)


def forgeries(directory: Path) -> Iterator[Forgery]:
    for path in sorted(directory.rglob("*.safetensors")):
        file = path.relative_to(directory)
        arrays = load_file(path)
        for name, array in arrays.items():
            if array.ndim and array.size:
                for shape, other in shapes(array):
                    what = f"{file}: {name} with {shape}"
                    known = not any(each in what for each in LISTS)
                    write = partial(write_arrays, {**arrays, name: other})
                    yield Forgery(what, known, file, write)
    for path in sorted(directory.rglob(METADATA_FILE)):
        file = path.relative_to(directory)
        fields = json.loads(path.read_text("utf-8"))
        for name in sorted(set(fields).difference(OWN)):
            for value in VALUES:
                write = partial(write_fields, {**fields, name: value})
                yield Forgery(f"{file}: {name} is {value}", False, file, write)


def test_no_forgery_ends_in_a_traceback(
    loaders: tuple[Path, dict[str, Callable[[Path], Any]]],
    tmp_path: Path,
    tally: Callable[[str, int, str], None],
) -> None:
    intact, load = loaders
    shutil.copytree(intact / "model", tmp_path / "resealed")
    reseal(tmp_path / "resealed")
    load["model"](tmp_path / "resealed")
    every = [(name, each) for name in sorted(load) for each in forgeries(intact / name)]
    chosen = every if FORGERIES is None else random.Random(0).sample(every, FORGERIES)
    refused, wrong = 0, []
    for name, forgery in chosen:
        work = tmp_path / name
        shutil.copytree(intact / name, work)
        forgery.write(work / forgery.file)
        reseal(work)
        outcome = "loaded"
        try:
            load[name](work)
        except (ArtefactError, SettingError) as error:
            outcome = "refused" if "\n" not in str(error) else str(error)
        except Exception as error:
            outcome = repr(error)
        refused += outcome == "refused"
        if outcome != "refused" and (forgery.must_be_refused or outcome != "loaded"):
            wrong.append(f"{name}/{forgery.what}: {outcome}")
        shutil.rmtree(work)
    assert wrong == []
    tally("forge a saved artefact", len(chosen), f"{refused:,} refused, 0 tracebacks")
