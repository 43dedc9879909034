"""A text without passages in which words meet has no such pair left, and every other one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem import Cooccurrence, Corpus
from qwem.errors import SettingError
from qwem.interpretation import without

LISTED = ("a", "b", "c")
documents = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12), min_size=1, max_size=5)


def passages(words: list[str], within: int) -> list[list[str]]:
    """The slow and obvious way: cut out what lies between two listed words that differ."""
    places = [place for place, word in enumerate(words) if word in LISTED]
    cut: set[int] = set()
    breaks = []
    for one, other in itertools.pairwise(places):
        if other - one <= within and words[one] != words[other]:
            cut.update(range(one, other + 1))
            breaks.append(one)
    parts: list[list[str]] = [[]]
    for place, word in enumerate(words):
        if place in breaks:
            parts.append([])
        if place not in cut:
            parts[-1].append(word)
    return [part for part in parts if part]


@settings(max_examples=40)
@given(documents, st.integers(1, 6))
def test_passages_are_cut_out_and_nothing_else(texts: list[list[str]], within: int) -> None:
    corpus = Corpus.from_documents([[*LISTED], *texts], min_count=1)
    found = without(corpus, LISTED, within=within)
    words = corpus.vocabulary.words
    left = [
        [words[token] for token in found.tokens[first:last]]
        for first, last in zip(found.offsets, found.offsets[1:], strict=False)
        if last > first
    ]
    assert left == [part for text in [[*LISTED], *texts] for part in passages(text, within)]
    counts = Cooccurrence.count(found, window=within)
    rows = corpus.vocabulary.indices(LISTED)
    block = counts.symmetric.tocsr().toarray()[np.ix_(rows, rows)]
    assert not (block - np.diag(np.diag(block))).any()


def test_words_that_are_not_there_are_refused() -> None:
    with pytest.raises(SettingError, match="Only 1 of the 2 words"):
        without(Corpus.from_documents(["a b"]), ["a", "x"])


def test_documents_are_left_out_by_any_condition() -> None:
    corpus = Corpus.from_documents(["a b c", "b c", "c a", "b b"], min_count=1)
    found = without(corpus, lambda words: "a" in words)
    alone = Corpus.from_documents(["b c", "b b"], min_count=1)
    words = [corpus.vocabulary.words[token] for token in found.tokens]
    assert words == [alone.vocabulary.words[token] for token in alone.tokens]
    assert found.offsets.tolist() == alone.offsets.tolist()
    assert found.settings["without"] == {"documents": 2}
    with pytest.raises(SettingError, match="leaves no document"):
        without(corpus, lambda words: len(words) > 0)
