"""The vocabulary keeps the order of the rule and finds its words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwem import Vocabulary
from qwem.corpus.vocabulary import frequency_order
from qwem.errors import SettingError, UnknownWordError

COUNTS = st.dictionaries(st.text(min_size=1), st.integers(0, 3))


@given(COUNTS)
def test_the_most_frequent_come_first_ties_by_spelling(counts: dict[str, int]) -> None:
    order = frequency_order(list(counts), list(counts.values()))
    expected = sorted(counts, key=lambda word: (-counts[word], word))
    assert [list(counts)[i] for i in order] == expected
    assert Vocabulary.from_counts(counts).words == tuple(expected)


@given(COUNTS.filter(bool), st.data())
def test_restrict_is_a_prefix(counts: dict[str, int], data: st.DataObject) -> None:
    vocabulary = Vocabulary.from_counts(counts)
    size = data.draw(st.integers(1, len(vocabulary)))
    small = vocabulary.restrict(size)
    assert small.words == vocabulary.words[:size]
    assert small.counts.tolist() == vocabulary.counts[:size].tolist()
    with pytest.raises(SettingError, match="`vocab_size` must be between 1 and"):
        vocabulary.restrict(len(vocabulary) + 1)


def test_words_are_looked_up_and_close_spellings_suggested() -> None:
    vocabulary = Vocabulary.from_counts({"king": 2, "the": 9, "queen": 2})
    assert vocabulary.indices(["queen", "the"]).tolist() == [2, 0]
    assert "king" in vocabulary
    assert vocabulary.get("prince") is None
    with pytest.raises(UnknownWordError, match=r"'kin' is not one of the 3 known words.*king"):
        vocabulary.index("kin")


def test_words_are_distinct_and_each_has_a_count() -> None:
    with pytest.raises(SettingError, match="'a' is in the vocabulary twice"):
        Vocabulary(("a", "a"), np.array([1, 1]))
    with pytest.raises(SettingError, match="one count for each word"):
        Vocabulary(("a", "b"), np.array([1]))
