"""An index finds what going through all words finds, and says what is wrong with its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.embedding import Embedding, NeighbourIndex
from qwem.errors import DataError, SettingError

pytest.importorskip("usearch", reason="the index needs the extra index")

if TYPE_CHECKING:
    from pathlib import Path

WORDS = [f"word{i}" for i in range(600)]


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    vectors = np.random.default_rng(0).normal(size=(600, 12))
    vectors[7] = 0
    return Embedding(WORDS, vectors)


@pytest.fixture(scope="module")
def index(embedding: Embedding) -> NeighbourIndex:
    return NeighbourIndex(embedding)


def test_neighbours_of_an_index_are_the_neighbours(
    embedding: Embedding, index: NeighbourIndex
) -> None:
    asked = WORDS[20:120]
    exact = embedding.most_similar_each(asked, topn=10)
    found = embedding.most_similar_each(asked, topn=10, indexer=index)
    shared = [len(set(one) & set(other)) for one, other in zip(exact, found, strict=True)]
    assert np.mean(shared) > 9.8
    assert embedding.most_similar("word3", topn=5, indexer=index) == embedding.most_similar(
        "word3", topn=5
    )
    assert embedding.most_similar(["word3", "word4"], ["word5"], indexer=index) == (
        embedding.most_similar(["word3", "word4"], ["word5"])
    )


def test_words_without_direction_are_never_found(
    embedding: Embedding, index: NeighbourIndex
) -> None:
    assert embedding.most_similar("word7", indexer=index) == []
    everything = embedding.most_similar("word3", topn=600, indexer=index)
    assert not {"word3", "word7"} & {word for word, _ in everything}


def test_a_saved_index_is_the_same(
    embedding: Embedding, index: NeighbourIndex, tmp_path: Path
) -> None:
    index.save(tmp_path / "words.index")
    again = NeighbourIndex(embedding, path=tmp_path / "words.index")
    assert embedding.most_similar_each(WORDS[:9], indexer=again) == (
        embedding.most_similar_each(WORDS[:9], indexer=index)
    )
    with pytest.raises(DataError, match="an index of 599 words of dimension 12, not of this"):
        NeighbourIndex(embedding.restrict(50), path=tmp_path / "words.index")
    (tmp_path / "not").write_bytes(b"an index")
    with pytest.raises(DataError, match="can't be read as an index"):
        NeighbourIndex(embedding, path=tmp_path / "not")


def test_what_an_index_can_not_do_is_told(embedding: Embedding, index: NeighbourIndex) -> None:
    with pytest.raises(SettingError, match="leave restrict_vocab out"):
        embedding.most_similar("word3", restrict_vocab=5, indexer=index)
    with pytest.raises(SettingError, match="a whole number of at least 1"):
        embedding.most_similar("word3", topn=0, indexer=index)
    with pytest.raises(SettingError, match="breadth must be at least 1"):
        NeighbourIndex(embedding, breadth=0)
