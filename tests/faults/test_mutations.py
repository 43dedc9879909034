"""A saved artefact that was damaged is refused in one sentence, or loads as it was."""

from __future__ import annotations

import json
import random
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from faults.artefacts import contents, save_all
from faults.effort import MUTATIONS
from qwem.cli import main
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def loaders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    directory = tmp_path_factory.mktemp("intact")
    return directory, save_all(directory)


def flip_a_bit(file: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def overwrite(file: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    start = rng.randrange(len(data))
    data[start : start + 8] = rng.randbytes(len(data[start : start + 8]))
    file.write_bytes(data)


def insert(file: Path, rng: random.Random) -> None:
    data = file.read_bytes()
    at = rng.randrange(len(data))
    file.write_bytes(data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:])


def truncate(file: Path, rng: random.Random) -> None:
    file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size)])


def delete(file: Path, rng: random.Random) -> None:
    file.unlink()


def delete_folder(file: Path, rng: random.Random) -> None:
    shutil.rmtree(file.parent)


def make_a_directory(file: Path, rng: random.Random) -> None:
    file.unlink()
    file.mkdir()


def take_from_elsewhere(artefacts: Path, file: Path, rng: random.Random) -> None:
    file.write_bytes(rng.choice(sorted(artefacts.rglob(f"*{file.suffix}"))).read_bytes())


def change_metadata(file: Path, rng: random.Random) -> None:
    """Delete a field, or give it another type."""
    description = file.with_name("metadata.json")
    fields = json.loads(description.read_text("utf-8"))
    name = rng.choice(sorted(fields))
    fields[name] = rng.choice([None, 7, "text", [], {"a": 1}])
    if rng.random() < 0.5:
        del fields[name]
    description.write_text(json.dumps(fields), encoding="utf-8")


KINDS = (
    flip_a_bit,
    overwrite,
    insert,
    truncate,
    delete,
    delete_folder,
    make_a_directory,
    change_metadata,
)


def test_no_mutation_is_silent(
    loaders: tuple[Path, dict[str, Callable[[Path], Any]]],
    tmp_path: Path,
    tally: Callable[[str, int, str], None],
) -> None:
    intact, load = loaders
    expected = {name: contents(load[name](intact / name)) for name in load}
    kinds = {kind.__name__: kind for kind in KINDS}
    kinds["take_from_elsewhere"] = partial(take_from_elsewhere, intact)
    rng = random.Random(0)
    refused = 0
    for number in range(MUTATIONS):
        name = sorted(load)[number % len(load)]
        work = tmp_path / "artefacts"
        shutil.copytree(intact / name, work / name)
        file = rng.choice(sorted(entry for entry in (work / name).rglob("*") if entry.is_file()))
        kind = rng.choice(sorted(kinds))
        what = f"{kind} of {file.relative_to(work)}"
        kinds[kind](file, rng)
        try:
            outcome = contents(load[name](work / name))
        except ArtefactError as error:
            outcome = str(error)
        if isinstance(outcome, str):
            refused += 1
            assert "\n" not in outcome, what
            assert str(work) in outcome, what
        else:
            assert outcome == expected[name], what
        shutil.rmtree(work)
    assert refused > 0.7 * MUTATIONS
    kept = MUTATIONS - refused
    tally("mutate a saved artefact", MUTATIONS, f"{refused:,} refused, {kept:,} loaded as saved")


def test_the_command_line_finds_damage(
    loaders: tuple[Path, dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    intact, load = loaders
    paths = [str(intact / name) for name in sorted(load)]
    assert main(["info", *paths]) == 0
    assert capsys.readouterr().out.count(", intact\n") == len(paths)
    shutil.copytree(intact / "model", tmp_path / "model")
    flip_a_bit(tmp_path / "model" / "spectrum" / "spectrum.safetensors", random.Random(1))
    assert main(["info", str(tmp_path / "model")]) == 2
    assert "spectrum.safetensors is damaged" in capsys.readouterr().err
    assert main(["info", str(tmp_path)]) == 2
    assert "is not a saved" in capsys.readouterr().err


def test_a_polished_model_without_its_vectors_is_refused(
    loaders: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    intact, load = loaders
    shutil.copytree(intact / "polished-model", tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "polished" / "words")
    with pytest.raises(ArtefactError, match="is missing; make the artefact again"):
        load["polished-model"](tmp_path / "model")
