"""A corpus is frozen, can be cut into parts, saved and loaded; damage is noticed."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from in_threads import in_threads
from qwem import Corpus, Vocabulary
from qwem.errors import ArtefactError, SettingError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def corpus() -> Corpus:
    return Corpus.from_documents(["the king", "", "the queen, the king"], oov="mask", min_count=2)


def same(a: Corpus, b: Corpus) -> bool:
    return (
        np.array_equal(a.tokens, b.tokens)
        and a.tokens.dtype == b.tokens.dtype
        and np.array_equal(a.offsets, b.offsets)
        and a.vocabulary == b.vocabulary
        and a.settings == b.settings
        and a.first_document == b.first_document
        and a.fingerprint == b.fingerprint
    )


def test_save_and_load(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "corpus")
    loaded = Corpus.load(tmp_path / "corpus")
    assert same(corpus, loaded)
    assert isinstance(loaded.tokens, np.memmap)
    assert loaded.mask_id == 2
    loaded.save(tmp_path / "corpus")  # over the very files it is mapped from
    assert same(corpus, Corpus.load(tmp_path / "corpus"))


def test_directory_is_the_saved_corpus(tmp_path: Path) -> None:
    made = Corpus.from_documents(["a b", "b"], directory=tmp_path / "corpus")
    assert same(made, Corpus.load(tmp_path / "corpus"))
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]
    names = sorted(path.name for path in (tmp_path / "corpus").iterdir())
    assert names == ["arrays.safetensors", "metadata.json", "tokens.bin", "words.txt"]


def test_a_failed_build_leaves_the_old_corpus(tmp_path: Path) -> None:
    old = Corpus.from_documents(["a b"], directory=tmp_path / "corpus")

    def failing() -> Any:
        yield "c"
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        Corpus.from_documents(failing(), directory=tmp_path / "corpus")
    assert same(old, Corpus.load(tmp_path / "corpus"))
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_without_a_directory_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    corpus = Corpus.from_documents(["a b", "b"])
    assert corpus.tokens.tolist() == [1, 0, 0]
    assert not list(tmp_path.iterdir())


def test_a_corpus_is_frozen(corpus: Corpus) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.first_document = 3  # type: ignore[misc]
    for array in (corpus.tokens, corpus.offsets, corpus.vocabulary.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_repr(corpus: Corpus) -> None:
    assert repr(corpus) == "Corpus(3 documents, 6 tokens, 2 words: the king)"


@settings(deadline=None)
@given(documents=st.lists(st.lists(st.sampled_from("abc")), min_size=1).filter(any), data=st.data())
def test_parts_keep_their_place(documents: list[list[str]], data: st.DataObject) -> None:
    corpus = in_threads(1, lambda: Corpus.from_documents(documents))
    start = data.draw(st.integers(0, len(documents)))
    stop = data.draw(st.integers(start, len(documents)))
    part = corpus.documents(start, stop)
    assert (len(part), part.first_document) == (stop - start, start)
    assert part.vocabulary is corpus.vocabulary
    for i in range(len(part)):
        a, b = corpus.offsets[start + i : start + i + 2]
        c, d = part.offsets[i : i + 2]
        assert part.tokens[c:d].tolist() == corpus.tokens[a:b].tolist()
    middle = data.draw(st.integers(0, len(part)))
    again = part.documents(middle, len(part))
    assert same(again, corpus.documents(start + middle, stop))


def test_parts_can_be_saved(corpus: Corpus, tmp_path: Path) -> None:
    part = corpus.documents(1, 3)
    part.save(tmp_path / "part")
    assert same(part, Corpus.load(tmp_path / "part"))
    assert part.fingerprint != corpus.fingerprint
    corpus.documents(1, 2).save(tmp_path / "part")  # a part without a single word
    assert Corpus.load(tmp_path / "part").tokens.size == 0


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 4)])
def test_parts_that_are_not_there(corpus: Corpus, start: int, stop: int) -> None:
    with pytest.raises(SettingError, match="not a range within the 3 documents"):
        corpus.documents(start, stop)


def test_the_fingerprint_tells_corpora_apart() -> None:
    base = Corpus.from_documents(["a b", "c"])
    others = [["a b c"], ["a b", "d"], ["b a", "c"], ["a b", "c", ""], ["a b", "c", "a"]]
    prints = {Corpus.from_documents(documents).fingerprint for documents in others}
    assert len(prints | {base.fingerprint}) == len(others) + 1
    assert Corpus.from_documents([["a", "b"], ["c"]]).fingerprint == base.fingerprint


@pytest.mark.parametrize("name", ["tokens.bin", "arrays.safetensors", "words.txt", "metadata.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damage_is_noticed(corpus: Corpus, tmp_path: Path, name: str, damage: str) -> None:
    corpus.save(tmp_path / "corpus")
    file = tmp_path / "corpus" / name
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(ArtefactError):
        Corpus.load(tmp_path / "corpus")


def test_metadata_without_its_fields_is_noticed(corpus: Corpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "corpus")
    file = tmp_path / "corpus" / "metadata.json"
    metadata = json.loads(file.read_text())
    del metadata["dtype"]
    file.write_text(json.dumps(metadata))
    with pytest.raises(ArtefactError, match="is damaged"):
        Corpus.load(tmp_path / "corpus")


def test_a_corpus_can_be_handed_in_ready_made() -> None:
    vocabulary = Vocabulary(("a", "b"), np.array([2, 1]))
    tokens = np.array([0, 1, 0], dtype=np.uint16)
    corpus = Corpus(tokens, np.array([0, 2, 3]), vocabulary)
    assert corpus.fingerprint == Corpus.from_documents(["a b", "a"]).fingerprint
    bad: list[tuple[Any, list[int], str]] = [
        (tokens, [0, 2], "must rise from 0 to its 3 tokens"),
        (tokens, [0, 3, 2, 3], "must rise from 0"),
        (tokens.astype(np.int64), [0, 3], "uint16 or uint32"),
        (tokens + np.uint16(1), [0, 3], "token id 2"),
    ]
    for bad_tokens, offsets, message in bad:
        with pytest.raises(SettingError, match=message):
            Corpus(bad_tokens, np.array(offsets), vocabulary)
