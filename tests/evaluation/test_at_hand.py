"""Evaluation on what is at hand: never the network, and no complaint about what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qwem.embedding import Embedding
from qwem.errors import DataError
from qwem.evaluation import benchmark_file, evaluate, evaluate_at_hand, where_at_hand

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = Embedding(
    ["boy", "girl", "brother", "sister", "tiger", "cat"],
    [[1, 0, 2], [1, 1, 2], [3, 0, 1], [3, 1, 1], [0, 0, 3], [0, 1, 3]],
)


def test_it_scores_what_is_there() -> None:
    found = evaluate_at_hand(FAMILY, similarity=("wordsim353", "mturk"))
    expected = evaluate(FAMILY, "google", ["wordsim353"])
    assert found.to_dict() == expected.to_dict()
    assert list(found.similarity) == ["wordsim353"]


def test_a_file_of_ones_own_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a file nor a benchmark"):
        evaluate_at_hand(FAMILY, tmp_path / "none.txt")


def test_the_network_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("asked"))
    assert where_at_hand("google", lambda file: file) is None
    with pytest.raises(DataError, match=r"not at hand.*qwem\[demo\]"):
        benchmark_file("google", fetch=False)
