"""Shards of text: encoded with all their words, and put together once a vocabulary is chosen."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem import Corpus, Vocabulary
from qwem.corpus._encoding import Interner
from qwem.corpus._shards import encode_shard, split_files
from qwem.corpus._text import packed
from qwem.corpus.reading import Reading
from qwem.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["a", "b", "é", "漢", "longer than fifteen bytes", "a\0b", "eight by", ""]
TEXT = ["the king and the queen", "a very-internationalistically long word", "the Ärzte", "x"]


@settings(deadline=None)
@given(
    known=st.lists(st.text(max_size=20), unique=True, max_size=30),
    asked=st.lists(st.text(max_size=20) | st.sampled_from(WORDS), max_size=30),
)
def test_words_are_looked_up_as_in_a_dictionary(known: list[str], asked: list[str]) -> None:
    known = [*known, *(word for word in WORDS[::2] if word not in known)]
    interner = Interner()
    interner.intern(*packed(known), amount=0)
    place = {word: number for number, word in enumerate(known)}
    found = interner.look_up(*packed(asked), unknown=999)
    assert found.tolist() == [place.get(word, 999) for word in asked]
    assert len(interner) == len(known)
    assert interner.words(np.arange(len(known))) == known


def encoded(folder: Path, lines: list[str], **options: Any) -> Corpus:
    folder.mkdir(exist_ok=True)
    file = folder / "text.txt"
    file.write_text("\n".join(lines))
    (shard,) = split_files(file, Reading(), 1 << 20)
    return encode_shard(shard, Reading(**options), folder / "shard")


@pytest.mark.parametrize("oov", ["drop", "mask"])
def test_concatenated_shards_are_the_whole_text(
    oov: Literal["drop", "mask"], tmp_path: Path
) -> None:
    shards = [
        encoded(tmp_path / str(number), lines, min_tokens=2, vocab_size=1)
        for number, lines in enumerate((TEXT, TEXT[::-1], TEXT[:1]))
    ]
    documents = [*TEXT, *TEXT[::-1], *TEXT[:1]]
    whole = Corpus.from_documents(documents, min_tokens=2, vocab_size=6, oov=oov)
    joined = Corpus.concatenate(shards, whole.vocabulary, oov=oov)
    assert joined.fingerprint == whole.fingerprint
    assert joined.settings["words_kept"] == whole.settings["words_kept"]
    later = [replace(shards[0], first_document=7), *shards[1:]]
    assert Corpus.concatenate(later, whole.vocabulary).first_document == 7
    every_word = Corpus.from_documents(documents, min_tokens=2, min_count=1)
    assert Corpus.concatenate(shards).fingerprint == every_word.fingerprint


def test_a_fingerprint_tells_what_was_concatenated(tmp_path: Path) -> None:
    shards = [encoded(tmp_path / str(number), TEXT[number:]) for number in range(3)]
    words = Vocabulary.from_counts({"the": 3, "king": 2})
    seen = {
        Corpus.concatenate(
            [replace(some[0], first_document=first), *some[1:]], vocabulary, oov=oov
        ).fingerprint
        for some in (shards, shards[::-1], shards[:1])
        for vocabulary in (words, words.restrict(1))
        for oov in ("drop", "mask")
        for first in (0, 1)
    }
    assert len(seen) == 24


def test_nothing_can_not_be_concatenated() -> None:
    with pytest.raises(SettingError, match="no corpus"):
        Corpus.concatenate([])


def test_a_shard_has_all_its_words(tmp_path: Path) -> None:
    made = encoded(tmp_path, TEXT, min_tokens=2, vocab_size=1)
    counts = Counter(word for line in TEXT[:3] for word in line.lower().replace("-", " ").split())
    for shard in (made, Corpus.load(tmp_path / "shard")):
        assert len(shard) == 3
        assert shard.vocabulary == Vocabulary.from_counts(counts)
        assert shard.settings["words_read"] == 13
        assert shard.tokens.size == sum(counts.values())
        first = shard.tokens[: shard.offsets[1]]
        assert [shard.vocabulary.words[token] for token in first] == TEXT[0].split()


@pytest.mark.parametrize("lines", [TEXT, ["", ""], []], ids=["short", "no words", "nothing"])
def test_a_shard_may_have_no_long_documents(lines: list[str], tmp_path: Path) -> None:
    made = encoded(tmp_path, [*lines, "-"], min_tokens=100)
    for shard in (made, Corpus.load(tmp_path / "shard")):
        assert len(shard) == shard.tokens.size == len(shard.vocabulary) == 0
        assert shard.settings["documents_read"] == len(lines) + 1
