"""Names of features are kept with the model, which stays what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pages.conftest import client_of
from qwem import Model
from qwem._internal import artefact
from qwem._internal.artefact import METADATA_FILE
from qwem.comparison import Stability
from qwem.errors import SettingError
from qwem.model.naming import checked_name, read_names, write_names
from qwem.pages import load_models

if TYPE_CHECKING:
    from pathlib import Path


def named(client: Any, rank: int, name: str) -> Any:
    return client.post("/api/name", json={"rank": rank, "name": name})


def test_a_name_is_there_when_the_model_is_loaded_again(saved: Path, saved_client: Any) -> None:
    answer = named(saved_client, 2, " Politik & <b>Recht</b> ")
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"rank": 2, "name": "Politik & <b>Recht</b>"}
    again = client_of(load_models([saved]))
    assert again.get("/data/page").json()["models"][0]["can_name"] is True
    features = again.get("/data/0/features").json()
    assert [feature["name"] for feature in features[:3]] == ["", "Politik & <b>Recht</b>", ""]
    named(again, 2, "")
    assert read_names(saved) == {}
    assert [feature["name"] for feature in again.get("/data/0/features").json()[:2]] == ["", ""]


def test_names_given_by_two_servers_are_both_kept(saved: Path, saved_client: Any) -> None:
    other = client_of(load_models([saved]))
    named(saved_client, 1, "first")
    named(other, 2, "second")
    assert read_names(saved) == {"closed": {1: "first", 2: "second"}}


def test_the_model_stays_what_it_was(saved: Path, polished: Model) -> None:
    before = {
        file.relative_to(saved): file.read_bytes() for file in saved.rglob("*") if file.is_file()
    }
    write_names(saved, {"polished": {1: "first"}})
    artefact.opened(saved).check()
    loaded = Model.load(saved)
    assert np.array_equal(loaded.wv.vectors, polished.wv.vectors)
    assert loaded.settings == polished.settings
    for name, content in before.items():
        if name.name != METADATA_FILE or name.parent.name:
            assert (saved / name).read_bytes() == content
    write_names(saved, {})
    assert {
        file.relative_to(saved): file.read_bytes() for file in saved.rglob("*") if file.is_file()
    } == before


def test_names_are_kept_with_replicates(
    closed: Model, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stable = Stability(closed, (closed.wv, closed.wv), "jackknife")
    path = tmp_path / "stable"
    stable.save(path)
    write_names(path, {"closed": {2: "second"}})
    assert artefact.opened(path).check() > 0
    assert read_names(path) == read_names(path / "model") == {"closed": {2: "second"}}
    assert load_models([path])[0].names == {"closed": {2: "second"}}
    Stability.load(path).save(path)
    assert read_names(path) == {"closed": {2: "second"}}
    assert caplog.messages == ["Names of features: kept second."]


def test_a_model_that_was_replaced_is_not_named(
    saved: Path, saved_client: Any, closed: Model
) -> None:
    closed.save(saved)
    answer = named(saved_client, 1, "first")
    assert answer.status_code == 409
    assert "was replaced" in answer.json()["error"]
    assert read_names(saved) == {}


def test_names_changed_by_hand_are_refused(saved: Path) -> None:
    from qwem.errors import ArtefactError

    write_names(saved, {"polished": {1: "first"}})
    file = saved / "feature-names" / "metadata.json"
    file.write_text(file.read_text().replace("first", "fifth"))
    with pytest.raises(ArtefactError, match="damaged"):
        read_names(saved)


def test_a_failed_write_leaves_the_old_names(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_names(saved, {"polished": {1: "first"}})

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(artefact, "write_metadata", full)
    with pytest.raises(Exception, match="No space"):
        write_names(saved, {"polished": {1: "second"}})
    assert read_names(saved) == {"polished": {1: "first"}}
    assert [entry.name for entry in saved.parent.iterdir()] == ["model"]


def test_a_model_that_was_not_saved_keeps_no_names(client: Any) -> None:
    answer = named(client, 1, "first")
    assert answer.status_code == 409


def test_files_beside_the_model_are_not_lost(saved: Path, saved_client: Any) -> None:
    (saved / "notes.txt").write_text("mine")
    assert saved_client.get("/data/page").json()["models"][0]["can_name"] is False
    answer = named(saved_client, 1, "first")
    assert answer.status_code == 409
    assert "notes.txt" in answer.json()["error"]
    assert (saved / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["a" * 81, "two\nlines", "bell\x07", "\ud800", 5])
def test_names_are_short_lines_of_text(name: Any) -> None:
    with pytest.raises(SettingError, match="name"):
        checked_name(name)
