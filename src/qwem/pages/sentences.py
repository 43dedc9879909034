"""Sentences: the passages of a text in which a word occurs (concordance, KWIC)."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

from qwem.corpus import read_columns
from qwem.errors import CorpusError, DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

AROUND = 70
"""How many characters are shown before and after a word."""

_PAIR_AROUND = 200
_SEED = 0


class Sentences:
    """Documents of a text, in which passages are found.

    >>> found = Sentences(["The cat sat. A dog ran.", "No cats."]).find("cat")
    >>> [(line["before"], line["word"], line["after"]) for line in found]
    [('The ', 'cat', ' sat. A dog ran.')]
    """

    def __init__(self, documents: Sequence[str]) -> None:
        self._documents = documents
        # In random order, so that the first passages found are from all over the text.
        self._order = list(range(len(documents)))
        random.Random(_SEED).shuffle(self._order)

    @classmethod
    def read(cls, paths: Sequence[str | os.PathLike[str]], column: str = "text") -> Sentences:
        """Read the documents of Parquet, JSON or CSV files, or the lines of plain text."""
        documents: list[str] = []
        for path in paths:
            try:
                documents += [text for text in read_columns(path, [column])[column] if text]
            except CorpusError as error:
                if "plain text" not in str(error):
                    raise
                try:
                    documents += Path(path).read_text("utf-8", errors="replace").splitlines()
                except OSError as failure:
                    raise DataError(f"{path} can't be read: {failure.strerror}.") from failure
        return cls(documents)

    def find(self, word: str, other: str | None = None, most: int = 30) -> list[dict[str, str]]:
        """Return passages with a word, and with another one near it if one is given."""
        pattern, near = _pattern(word), None if other is None else _pattern(other)
        quick = word.replace("_", " ").split(" ")[0].lower()
        found: list[dict[str, str]] = []
        for number in self._order:
            text = self._documents[number]
            if quick not in text.lower():
                continue
            for match in pattern.finditer(text):
                start, end = match.span()
                around = text[max(0, start - _PAIR_AROUND) : end + _PAIR_AROUND]
                if near is not None and not near.search(around):
                    continue
                found.append(
                    {
                        "before": _one_line(text[max(0, start - AROUND) : start]),
                        "word": match[0],
                        "after": _one_line(text[end : end + AROUND]),
                    }
                )
                break  # one passage per document at first
            if len(found) == most:
                break
        return found


def _pattern(word: str) -> re.Pattern[str]:
    """Return what finds a word, whose parts may be divided by any one character in a phrase."""
    phrase = r"[\W_]".join(re.escape(part) for part in re.split(r"[_ ]", word))
    return re.compile(rf"(?<!\w){phrase}(?!\w)", re.IGNORECASE)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
