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


def test_half_precision_is_half_as_large_and_comes_back_as_float32(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 50)).astype(np.float32)
    embedding = Embedding([f"w{i}" for i in range(200)], vectors)
    sizes = []
    for dtype in ("float32", "float16"):
        embedding.save(tmp_path / dtype, dtype=dtype)
        sizes.append((tmp_path / dtype / "vectors.safetensors").stat().st_size)
    assert sizes[1] < 0.55 * sizes[0]
    back = Embedding.load(tmp_path / "float16").vectors
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, vectors.astype(np.float16))


def test_a_byte_per_number_is_a_quarter_as_large_and_nearly_as_good(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(200, 50)).astype(np.float32)
    vectors[3] = 0
    vectors[4] *= 1e6
    embedding = Embedding([f"w{i}" for i in range(200)], vectors)
    for dtype in ("float32", "int8"):
        embedding.save(tmp_path / dtype, dtype=dtype)
    size = {p.name: (p / "vectors.safetensors").stat().st_size for p in tmp_path.iterdir()}
    assert size["int8"] < 0.3 * size["float32"]
    back = Embedding.load(tmp_path / "int8").vectors
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert (np.abs(back - vectors) <= largest / 253).all()


def test_numbers_beyond_half_precision_are_refused(tmp_path: Path) -> None:
    embedding = Embedding(["a"], [[7e4]])
    with pytest.raises(SettingError, match="float16 ends at 65504"):
        embedding.save(tmp_path / "e", dtype="float16")
    with pytest.raises(SettingError, match="must be one of float32, float16, int8, not int4"):
        embedding.save(tmp_path / "e", dtype="int4")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_words_without_counts_come_back_without(tmp_path: Path) -> None:
    Embedding(["a", "b"], np.eye(2)).save(tmp_path / "e")
    assert not Embedding.load(tmp_path / "e").vocabulary.counts.any()


def test_saving_again_replaces_it(tmp_path: Path, embedding: Embedding) -> None:
    embedding.save(tmp_path / "e")
    embedding.restrict(2).save(tmp_path / "e")
    assert len(Embedding.load(tmp_path / "e")) == 2
    assert [file.name for file in tmp_path.iterdir()] == ["e"]


def test_a_word_with_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"'a\\nb' can't be saved: it has a line break"):
        Embedding(["a\nb"], [[1.0]]).save(tmp_path / "e")
    with pytest.raises(ArtefactError, match="half of a surrogate pair"):
        Embedding(["\ud800"], [[1.0]]).save(tmp_path / "e")
    assert not list(tmp_path.iterdir())


def test_damaged_files_are_refused_by_name(tmp_path: Path, embedding: Embedding) -> None:
    embedding.save(tmp_path / "e")
    (tmp_path / "e" / "words.txt").write_text("only\ntwo\n")
    with pytest.raises(ArtefactError, match=r"words\.txt is damaged: it has 9 bytes"):
        Embedding.load(tmp_path / "e")
    vectors = tmp_path / "e" / "vectors.safetensors"
    vectors.write_bytes(vectors.read_bytes()[:-7])
    with pytest.raises(ArtefactError, match="damaged"):
        Embedding.load(tmp_path / "e")
    with pytest.raises(ArtefactError, match="not a saved embedding"):
        Embedding.load(tmp_path)
