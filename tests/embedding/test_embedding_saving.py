"""A saved embedding comes back as it was, or says what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.corpus import Vocabulary
from qwem.embedding import Embedding, read_vectors
from qwem.errors import ArtefactError, SettingError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("the", "naïve", "a\u00a0b", "e\u0301", "👑", "𐍈", "tab\there", "line\u2028end", "\x85", "")


@pytest.fixture
def embedding() -> Embedding:
    vocabulary = Vocabulary(WORDS, np.arange(len(WORDS), 0, -1))
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 5))
    return Embedding(vocabulary, vectors, provenance={"preset": "paper", "window": 16})


def test_it_comes_back_as_it_was(tmp_path: Path, embedding: Embedding) -> None:
    embedding.save(tmp_path / "e")
    back = Embedding.load(tmp_path / "e")
    assert back.vocabulary == embedding.vocabulary
    assert back.vectors.tobytes() == embedding.vectors.tobytes()
    assert back.provenance == embedding.provenance
    assert read_vectors(tmp_path / "e", limit=3).index_to_key == WORDS[:3]


def test_words_without_counts_come_back_without(tmp_path: Path) -> None:
    Embedding(["a", "b"], np.eye(2)).save(tmp_path / "e")
    assert not Embedding.load(tmp_path / "e").vocabulary.counts.any()


def test_saving_again_replaces_it(tmp_path: Path, embedding: Embedding) -> None:
    embedding.save(tmp_path / "e")
    embedding.restrict(2).save(tmp_path / "e")
    assert len(Embedding.load(tmp_path / "e")) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["e"]


def test_a_word_with_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"'a\\nb' can't stand in a saved embedding"):
        Embedding(["a\nb"], [[1.0]]).save(tmp_path / "e")
    with pytest.raises(SettingError, match="can't be written in UTF-8"):
        Embedding(["\ud800"], [[1.0]]).save(tmp_path / "e")
    assert not list(tmp_path.iterdir())


def test_damage_is_told(tmp_path: Path, embedding: Embedding) -> None:
    embedding.save(tmp_path / "e")
    (tmp_path / "e" / "words.txt").write_text("only\ntwo\n")
    with pytest.raises(ArtefactError, match="words and vectors do not match"):
        Embedding.load(tmp_path / "e")
    vectors = tmp_path / "e" / "vectors.safetensors"
    vectors.write_bytes(vectors.read_bytes()[:-7])
    with pytest.raises(ArtefactError, match="damaged"):
        Embedding.load(tmp_path / "e")
    with pytest.raises(ArtefactError, match="not a saved embedding"):
        Embedding.load(tmp_path)
