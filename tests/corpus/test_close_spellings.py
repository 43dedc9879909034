"""A word that is not known is answered with words that are spelled almost like it."""

from __future__ import annotations

import pytest

from qwem.corpus import Vocabulary
from qwem.corpus.vocabulary import FREQUENT, close_spellings
from qwem.errors import UnknownWordError

KNOWN = ("the", "king", "kind", "receive", "relieve", "paris", "berlin", "philosophy", "naïve")
INDEX = {word: place for place, word in enumerate(KNOWN)}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("kinq", ["king", "kind"]),
        ("knig", ["king"]),
        ("recieve", ["receive", "relieve"]),
        ("Paris", ["paris"]),
        ("PARIS", ["paris"]),
        ("Berln", ["berlin"]),
        ("Filosofy", ["philosophy"]),
        ("berln", ["berlin"]),
        ("berrlin", ["berlin"]),
        ("naive", ["naïve"]),
        ("filosofy", ["philosophy"]),
        ("zzzz", []),
        ("", []),
    ],
)
def test_misspelled_words_find_the_word_that_was_meant(word: str, expected: list[str]) -> None:
    assert close_spellings(word, INDEX) == expected


def test_the_most_frequent_come_first() -> None:
    index = {word: place for place, word in enumerate(("cat", "bat", "hat", "rat", "mat"))}
    assert close_spellings("xat", index) == ["cat", "bat", "hat"]


def test_only_the_most_frequent_words_are_compared_letter_by_letter() -> None:
    rest = {f"w{place}": place for place in range(FREQUENT)}
    assert close_spellings("filosofy", {**rest, "philosophy": FREQUENT}) == []
    assert close_spellings("philosphy", {**rest, "philosophy": FREQUENT}) == ["philosophy"]


def test_the_error_names_them() -> None:
    vocabulary = Vocabulary.from_counts({"king": 2, "the": 9})
    with pytest.raises(UnknownWordError, match="close spellings: king"):
        vocabulary.index("kinq")
    with pytest.raises(UnknownWordError, match="no known word is spelled similarly"):
        vocabulary.index("zzzz")
