"""Tokenizers: Unicode letters, a–z only, a regular expression, or any function."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS_GIVEN = "none: lists of words"
"""What a corpus records in place of a tokenizer where it was given words."""

Split = Callable[[str], Iterable[str]]
TokenizerLike = str | re.Pattern[str] | Split


@dataclass(frozen=True)
class Tokenizer:
    """A way to split text into words, and the name under which a corpus records it.

    Either `split` returns the words of a document, or words are found by `kernels.tokenize` with
    the table `letters`; without entries it has a–z only.
    """

    name: str
    letters: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    split: Split | None = None


def resolve(tokenizer: TokenizerLike) -> Tokenizer:
    """Return the tokenizer given by name, by regular expression or as a function.

    "letters" equals, for every text,
    ``"".join(c if c.isalpha() else " " for c in text).lower().split()``; "ascii" does the same with
    a–z and A–Z as the only letters, byte by byte, so that "café" is the word "caf". The words of a
    regular expression are what it matches in the text as it is, groups or not, not lower-cased.
    """
    if tokenizer == "letters":
        return Tokenizer("letters", letters=letter_table())
    if tokenizer == "ascii":
        return Tokenizer("ascii")
    if isinstance(tokenizer, str):
        return _from_pattern(_compile(tokenizer))
    if isinstance(tokenizer, re.Pattern):
        return _from_pattern(tokenizer)
    if callable(tokenizer):
        kind = tokenizer if hasattr(tokenizer, "__qualname__") else type(tokenizer)
        module = getattr(kind, "__module__", None) or "builtins"
        return Tokenizer(f"function {module}.{kind.__qualname__}", split=tokenizer)
    raise SettingError(
        "tokenizer must be 'letters', 'ascii', a regular expression or a function from a text to "
        f"its words, not {tokenizer!r}."
    )


def tokenizer_name(tokenizer: TokenizerLike) -> str:
    """Return the name under which a corpus records this tokenizer.

    >>> tokenizer_name(re.compile("[a-z]+")), tokenizer_name(str.split)
    ('pattern [a-z]+', 'function builtins.str.split')
    """
    if isinstance(tokenizer, str) and tokenizer in ("letters", "ascii"):
        return tokenizer
    return resolve(tokenizer).name


def tokenizer_from_name(name: str | None) -> TokenizerLike:
    """Return the tokenizer that a corpus recorded under `name`; None stands for the default.

    >>> tokenizer_from_name("pattern [a-z]+")
    re.compile('[a-z]+')
    """
    if name is None or name in ("letters", "ascii"):
        return name or "letters"
    if name == WORDS_GIVEN:
        return str.split
    found = re.fullmatch(r"pattern (.*?)(?: \(flags (\d+)\))?", name, re.DOTALL)
    if found:
        return re.compile(found[1], int(found[2] or 0))
    raise SettingError(
        f"The words of this model were split by the {name}, which is not saved with it; pass it "
        "as tokenizer."
    )


def _compile(expression: str) -> re.Pattern[str]:
    if expression.isalnum():  # a misspelled name rather than a pattern
        raise SettingError(
            f"There is no tokenizer {expression!r}: pass 'letters', 'ascii', a function, or a "
            "regular expression such as r'\\w+'."
        )
    try:
        return re.compile(expression)
    except re.error as error:
        raise SettingError(
            f"The tokenizer {expression!r} is not a regular expression: {error}."
        ) from error


def _from_pattern(pattern: re.Pattern[Any]) -> Tokenizer:
    if not isinstance(pattern.pattern, str):
        raise SettingError(f"The tokenizer {pattern.pattern!r} must match text, not bytes.")

    def split(text: str) -> list[str]:
        if pattern.groups:
            return [match.group() for match in pattern.finditer(text)]
        return pattern.findall(text)

    flags = pattern.flags & ~re.UNICODE
    return Tokenizer(
        f"pattern {pattern.pattern}" + (f" (flags {flags})" if flags else ""), split=split
    )


@cache
def letter_table() -> NDArray[np.int32]:
    """Return, for each code point up to the last letter, its lower case and class, or 0.

    The table is made by Python's own `str`, so that the compiled tokenizer and Python agree in any
    version of Unicode. What a letter does to a capital sigma after it is found by asking
    `str.lower` for the lower case of the two.
    """
    from qwem.corpus._word_table import CASED, DOTTED_CAPITAL_I, IGNORABLE

    characters = np.arange(sys.maxunicode + 1, dtype=np.uint32)
    letters = characters[np.char.isalpha(characters.view("U1"))]
    table = np.zeros(int(letters[-1]) + 1, dtype=np.int32)
    table[DOTTED_CAPITAL_I] = ord("i") | CASED  # the kernel adds the dot
    letters = letters[letters != DOTTED_CAPITAL_I]

    final = ord("ς")
    cased = _lowered(letters, "", "Σ")[:, 1] == final
    ignorable = ~cased & (_lowered(letters, "a", "Σ")[:, 2] == final)
    table[letters] = _lowered(letters, "", "")[:, 0]
    table[letters] |= np.where(cased, CASED, np.where(ignorable, IGNORABLE, 0)).astype(np.int32)
    table.setflags(write=False)
    return table


def _lowered(letters: NDArray[np.uint32], before: str, after: str) -> NDArray[np.uint32]:
    """Return the lower case of each letter between `before` and `after`, as code points."""
    lines = np.tile(np.array([*before, "\0", *after, "\n"]).view(np.uint32), (letters.size, 1))
    lines[:, len(before)] = letters
    text = lines.tobytes().decode("utf-32-le")
    return np.frombuffer(text.lower().encode("utf-32-le"), np.uint32).reshape(lines.shape)
