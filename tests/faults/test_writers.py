"""Several processes that save to one path: one wins, and whoever reads gets one whole version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from faults.artefacts import contents, saved_models
from faults.effort import LONG, SAVES
from faults.jobs import read_often, save_often
from faults.processes import start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two models with different files, one of them polished."""
    return saved_models(tmp_path_factory.mktemp("models"))


def test_readers_get_whole_versions_while_others_write(
    models: list[Path], tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    path, stop = tmp_path / "model", tmp_path / "stop"
    save_often(models[0], path, 1)
    readers = [
        start(tmp_path / f"reader-{k}", read_often, models, path, stop)
        for k in range(2 if LONG else 1)
    ]
    writers = [
        start(tmp_path / f"writer-{k}", save_often, model, path, SAVES)
        for k, model in enumerate(models)
    ]
    for writer in writers:
        assert writer.wait() == 0, writer.said
    stop.touch()
    for reader in readers:
        assert reader.wait() == 0, reader.said
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]
    looks = sum(int(reader.said) for reader in readers)
    tally("read while two save", looks, f"one whole version each, during {2 * SAVES} saves")


@pytest.mark.slow
def test_first_saves_at_once_leave_one_whole_artefact(
    models: list[Path], tmp_path: Path, tally: Callable[[str, int, str], None]
) -> None:
    rounds = SAVES // 5
    for k in range(rounds):
        path = tmp_path / f"model-{k}"
        children = [
            start(tmp_path / f"log-{n}", save_often, models[n % 2], path, 1) for n in range(3)
        ]
        for child in children:
            assert child.wait() == 0, child.said
        read_once(models, path)
    assert not [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")]
    tally("three first saves at once", rounds, "one winner each, no error")


def read_once(models: list[Path], path: Path) -> None:
    from qwem.model import Model

    assert contents(Model.load(path)) in [contents(Model.load(model)) for model in models]
