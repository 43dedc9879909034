"""Words that a misspelled one may have meant."""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FREQUENT = 20_000
"""How many of the most frequent words are compared letter by letter."""
_ALPHABET_WORDS = 1_000


def close_spellings(word: str, index: Mapping[str, int], count: int = 3) -> list[str]:
    """Return known words that are spelled almost like `word`.

    First come words that differ by one letter, or by two that are swapped, the most frequent first.
    If there are none, the nearest of the most frequent words.

    Parameters
    ----------
    word
        A word that is not known.
    index
        The known words and their places, the most frequent first.
    count
        How many to return at most.

    >>> close_spellings("kinq", {"the": 0, "king": 1, "kin": 2, "queen": 3})
    ['king', 'kin']
    """
    letters = set(word).union(*islice(index, _ALPHABET_WORDS))
    found = {other for other in (word.lower(), *_one_letter_off(word, letters)) if other in index}
    if found:
        return sorted(found, key=index.__getitem__)[:count]
    return difflib.get_close_matches(word, list(islice(index, FREQUENT)), n=count)


def _one_letter_off(word: str, letters: set[str]) -> Iterator[str]:
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        for letter in letters:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]
        if after:
            yield before + after[1:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
