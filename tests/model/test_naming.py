"""Names of features stay with features that are clearly the same, and with no others."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding, Model, Spectrum, Vocabulary
from qwem.model.model import ClosedForm
from qwem.model.naming import name_feature, read_names, write_names
from qwem.polish import Polished
from qwem.polish.loss import Contexts

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

WORDS = [f"w{number}" for number in range(60)]
RANDOM = np.random.default_rng(0)
COLUMNS = np.linalg.qr(RANDOM.normal(size=(60, 6)))[0]


def model_of(
    columns: NDArray[np.float64], words: list[str] = WORDS, polished: bool = False
) -> Model:
    """A model with these features, in this order."""
    vocabulary = Vocabulary(tuple(words), np.full(len(words), 10))
    values = np.arange(columns.shape[1], 0, -1.0)
    spectrum = Spectrum(values, columns, np.zeros(len(values)), vocabulary, 1e-5)
    turned = (columns * values) @ np.linalg.qr(RANDOM.normal(size=(len(values),) * 2))[0]
    solution: Any = ClosedForm(spectrum)
    if polished:
        ones, nothing = np.ones(len(words)), np.zeros(len(values), np.float32)
        contexts = Contexts(turned.astype(np.float32), ones, ones, 5.0)
        settings = {"negatives": 5.0, "evidence": 100.0}
        solution = Polished(
            spectrum, Embedding(vocabulary, turned), contexts, nothing, ones, True, settings
        )
    return Model(solution, {"target": "mstar"}, {})


@pytest.fixture
def named(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    model_of(COLUMNS).save(path)
    write_names(path, {"closed": {1: "first", 3: "third"}})
    return path


def test_names_follow_their_features(named: Path, caplog: pytest.LogCaptureFixture) -> None:
    """To another rank, with another sign, and where words left, entered and moved."""
    order = RANDOM.permutation(50)
    others = np.vstack([COLUMNS[order] * [1, -1, 1, 1, 1, 1], np.zeros((5, 6))])
    words = [*(WORDS[row] for row in order), *(f"new{number}" for number in range(5))]
    model_of(others[:, [2, 1, 0, 3]], words).save(named)
    assert read_names(named) == {"closed": {1: "third", 3: "first"}}
    assert caplog.messages == ["Names of features: kept first, third."]


def test_a_feature_that_turned_loses_its_name(
    named: Path, caplog: pytest.LogCaptureFixture
) -> None:
    turned = COLUMNS.copy()
    for place, angle in ((0, 0.3), (2, 0.6)):  # |cosine| 0.96 and 0.83
        c, s = np.cos(angle), np.sin(angle)
        turned[:, [place, place + 1]] = turned[:, [place, place + 1]] @ [[c, -s], [s, c]]
    model_of(turned).save(named)
    assert read_names(named) == {"closed": {1: "first"}}
    assert caplog.messages == [
        "Names of features: kept first; dropped third (feature 3), because no feature of the new "
        "model is clearly the same."
    ]


def test_another_model_has_no_names(named: Path) -> None:
    model_of(np.linalg.qr(RANDOM.normal(size=(60, 6)))[0]).save(named)
    assert read_names(named) == {}


def test_features_of_which_little_is_shared_are_not_compared(named: Path) -> None:
    """Few words would make any two features look the same."""
    columns = np.zeros((42, 2))
    columns[:2, 0], columns[2:, 1] = COLUMNS[:2, 0] / np.linalg.norm(COLUMNS[:2, 0]), 40**-0.5
    model_of(columns, [*WORDS[:2], *(f"new{number}" for number in range(40))]).save(named)
    assert read_names(named) == {}


def test_polished_vectors_have_features_of_their_own(tmp_path: Path) -> None:
    """They are found again however the vectors are rotated."""
    path = tmp_path / "model"
    model_of(COLUMNS, polished=True).save(path)
    write_names(path, {"polished": {2: "second"}, "closed": {1: "first"}})
    model_of(COLUMNS[:, [1, 0, 2, 3, 4, 5]], polished=True).save(path)
    assert read_names(path) == {"polished": {1: "second"}, "closed": {2: "first"}}
    model_of(COLUMNS).save(path)  # not polished
    assert read_names(path) == {"closed": {1: "first"}}


def test_names_can_come_from_another_place(named: Path, tmp_path: Path) -> None:
    model_of(COLUMNS).save(tmp_path / "other", names_from=named)
    assert read_names(tmp_path / "other") == {"closed": {1: "first", 3: "third"}}


def test_damaged_names_keep_no_model_from_being_saved(
    named: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.rmtree(named / "spectrum")
    with pytest.raises(Exception, match="spectrum"):
        Model.load(named)
    model_of(COLUMNS).save(named)
    assert "Names of features are not kept" in caplog.text
    assert read_names(named) == {}
    Model.load(named)


def test_names_that_two_programs_give_are_both_kept(tmp_path: Path) -> None:
    path = tmp_path / "model"
    model_of(COLUMNS).save(path)
    name_feature(path, "closed", 1, "first")
    name_feature(path, "closed", 2, "second")
    assert read_names(path) == {"closed": {1: "first", 2: "second"}}
    assert name_feature(path, "closed", 1, "") == {"closed": {2: "second"}}
