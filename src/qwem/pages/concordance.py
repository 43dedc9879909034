"""Concordance: the passages of a text in which a word occurs, each word in its context (KWIC)."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from qwem.corpus._text import read_texts
from qwem.corpus.reading import Reading

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

AROUND = 70
"""The number of characters shown before and after a word."""

NEAR = 200
"""The distance from a word, in characters, within which another one is searched for."""

MOST_CHARACTERS = 1_500_000
"""The largest number of characters of text in a file."""

SEARCHED_CHARACTERS = 20_000_000
"""The number of characters that are searched for the passages of a file."""

_PASSAGE = re.compile(r"\S.{0,238}?[.!?](?=\s|$)|\S.{0,238}(?=\s|$)")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_LONGEST_PHRASE = 4
_SEED = 0


class Concordance:
    """Documents of a text, searched for passages.

    >>> found = Concordance(["The cat sat. A dog ran.", "No cats."]).find("cat")
    >>> [(line["before"], line["word"], line["after"]) for line in found]
    [('The ', 'cat', ' sat. A dog ran.')]
    """

    def __init__(self, documents: Iterable[str]) -> None:
        self._documents = list(documents)
        # In random order, so that the first passages found come from all over the text.
        random.Random(_SEED).shuffle(self._documents)

    @classmethod
    def read(
        cls,
        paths: Sequence[str | os.PathLike[str]],
        text: str = "text",
        encoding: str = "utf-8",
    ) -> Concordance:
        """Read the documents of files, in any format that a corpus can have."""
        reading = Reading(text=text, encoding=encoding, errors="replace")
        return cls(text.strip() for text in read_texts(paths, reading))

    def find(self, word: str, near: str | None = None, most: int = 30) -> list[dict[str, str]]:
        """Return passages with a word, and with another one near it if one is given.

        There is at most one passage per document.
        """
        pattern, other = _pattern(word), None if near is None else _pattern(near)
        found: list[dict[str, str]] = []
        for text in self._documents:
            for match in pattern.finditer(text):
                start, end = match.span()
                if other is not None and not other.search(text[max(0, start - NEAR) : end + NEAR]):
                    continue
                before, after = text[max(0, start - AROUND) : start], text[end : end + AROUND]
                if start > AROUND:  # begin and end with a whole word
                    before = re.sub(r"^\S*\s", "", before)
                if end + AROUND < len(text):
                    after = re.sub(r"\s\S*$", "", after)
                found.append({"before": before, "word": match[0], "after": after})
                break
            if len(found) == most:
                break
        return [{name: re.sub(r"\s+", " ", part) for name, part in each.items()} for each in found]

    def sample(self, words: Iterable[str], each: int = 3) -> list[str]:
        """Return passages with the given words: first one per word, then up to `each` per word.

        >>> Concordance(["The cat sat. A dog ran. A cat ran."]).sample(["dog", "sat"])
        ['The cat sat.', 'A dog ran.']
        """
        passages_with = {word.lower(): 0 for word in words}
        longest = _LONGEST_PHRASE if any("_" in word for word in passages_with) else 1
        found: dict[str, None] = {}
        size = 0
        for goal in (1, each):
            for passage in self._passages():
                present = passages_with.keys() & _words_and_phrases(passage.lower(), longest)
                if passage not in found and any(passages_with[word] < goal for word in present):
                    found[passage] = None
                    size += len(passage)
                    for word in present:
                        passages_with[word] += 1
                if size > MOST_CHARACTERS:
                    return list(found)
        return list(found)

    def _passages(self) -> Iterator[str]:
        """Yield sentences, or parts of long ones, from the first `SEARCHED_CHARACTERS`."""
        read = 0
        for text in self._documents:
            yield from _PASSAGE.findall(text)
            read += len(text)
            if read > SEARCHED_CHARACTERS:
                return


def _words_and_phrases(text: str, longest: int) -> Iterator[str]:
    words = _WORD.findall(text.replace("’", "'"))
    yield from words
    yield from (part for word in words if "'" in word for part in word.split("'"))
    for length in range(2, longest + 1):
        for start in range(len(words) - length + 1):
            yield "_".join(words[start : start + length])


def _pattern(word: str) -> re.Pattern[str]:
    """Return the pattern of a word; any one character may separate the parts of a phrase."""
    phrase = r"[\W_]".join(re.escape(part) for part in re.split(r"[_ ]", word))
    phrase = phrase.replace("'", "['’]")
    return re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE)
