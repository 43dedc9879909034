"""Tokenizers: Unicode words, letters, a–z only, regular expressions, segmenters, any function."""

from __future__ import annotations

import importlib
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import MissingExtraError, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS_GIVEN = "none: lists of words"
"""What a corpus made of lists of words records in place of a tokenizer."""

JOINERS = (ord("'"), 0x2019, 0xB7, 0x200C, 0x200D)
"""Characters that join letters to one word: apostrophes, middle dot, zero-width (non-)joiner."""
SOFT_HYPHEN = 0xAD
_PLANES = 0x40000  # the end of the four planes of Unicode that have letters

Split = Callable[[str], Iterable[str]]
TokenizerLike = str | re.Pattern[str] | Split


@dataclass(frozen=True)
class Tokenizer:
    """A way to split text into words, and the name under which a corpus records it.

    Either `split` returns the words of a document, or `kernels.tokenize` finds them with the table
    `letters`; if that is empty, only a–z are letters.
    """

    name: str
    letters: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    split: Split | None = None
    composed: bool = False
    """Whether words get Unicode's normal form C, in which é is one character."""


def resolve(tokenizer: TokenizerLike) -> Tokenizer:
    """Return the tokenizer given by name, by regular expression or as a function.

    "words" are letters and the combining marks on them, lower-cased and in Unicode's normal form C;
    an apostrophe, a middle dot or a zero-width joiner between letters belongs to the word, except
    that 's at its end is the word s; soft hyphens are left out. "letters" equals, for every text,
    ``"".join(c if c.isalpha() else " " for c in text).lower().split()``; "ascii" does the same with
    a–z and A–Z as the only letters, byte by byte, so that "café" is the word "caf". The words of a
    regular expression are its whole matches, even if it has groups, and are not lower-cased.
    """
    if tokenizer == "words":
        return Tokenizer("words", letters=_word_letters(), composed=True)
    if tokenizer == "letters":
        return Tokenizer("letters", letters=letter_table())
    if tokenizer == "ascii":
        return Tokenizer("ascii")
    if isinstance(tokenizer, str) and tokenizer in _SEGMENTERS:
        return Tokenizer(tokenizer, split=_SEGMENTERS[tokenizer]())
    if isinstance(tokenizer, str):
        return _from_pattern(_compile(tokenizer))
    if isinstance(tokenizer, re.Pattern):
        return _from_pattern(tokenizer)
    split = _split_of(tokenizer)
    if split is None:
        raise SettingError(
            f"tokenizer must be {_NAMES}, a regular expression, a function from a text to its "
            f"words, or a tokenizer of spaCy or Hugging Face, not {tokenizer!r}."
        )
    kind = tokenizer if hasattr(tokenizer, "__qualname__") else type(tokenizer)
    module = getattr(kind, "__module__", None) or "builtins"
    return Tokenizer(f"function {module}.{kind.__qualname__}", split=split)


def _split_of(tokenizer: Any) -> Split | None:
    """Return the function that splits a text, for tokenizers of several libraries."""
    if hasattr(tokenizer, "encode_batch"):  # tokenizers.Tokenizer
        return lambda text: tokenizer.encode(text, add_special_tokens=False).tokens
    if type(tokenizer).__module__.partition(".")[0] == "spacy":
        make_doc = getattr(tokenizer, "make_doc", tokenizer)  # only the first step of a pipeline
        return lambda text: [token.text for token in make_doc(text) if not token.is_space]
    if callable(getattr(tokenizer, "tokenize", None)):  # transformers, NLTK
        return tokenizer.tokenize
    return tokenizer if callable(tokenizer) else None


def _icu() -> Split:
    """Split by ICU's dictionaries and rules; keep words that have a letter, in lower case."""
    icu = _import("icu", "PyICU")
    breaks = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())

    def split(text: str) -> list[str]:
        spelled = icu.UnicodeString(text)  # ICU counts in units of UTF-16
        breaks.setText(spelled)
        ends = [0, *breaks]
        return _with_letters(str(spelled[start:end]) for start, end in pairwise(ends))

    return split


def _jieba() -> Split:
    """Split by jieba; keep words that have a letter, in lower case."""
    jieba = _import("jieba", "jieba")
    jieba.setLogLevel(logging.WARNING)
    return lambda text: _with_letters(jieba.cut(text))


_SEGMENTERS = {"icu": _icu, "jieba": _jieba}
"""Tokenizers for text without spaces between words; each needs its package."""
_BY_NAME = ("words", "letters", "ascii", *_SEGMENTERS)
_NAMES = ", ".join(map(repr, _BY_NAME))


def _with_letters(words: Iterable[str]) -> list[str]:
    return [word.lower() for word in words if any(map(str.isalpha, word))]


def _import(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"The tokenizer {module!r} needs the package {package}: pip install {package}."
        ) from error


def tokenizer_name(tokenizer: TokenizerLike) -> str:
    """Return the name under which a corpus records this tokenizer.

    >>> tokenizer_name(re.compile("[a-z]+")), tokenizer_name(str.split)
    ('pattern [a-z]+', 'function builtins.str.split')
    """
    if isinstance(tokenizer, str) and tokenizer in _BY_NAME:
        return tokenizer
    return resolve(tokenizer).name


def tokenizer_from_name(name: str | None) -> TokenizerLike:
    """Return the tokenizer that a corpus recorded under `name`; None stands for the default.

    >>> tokenizer_from_name("pattern [a-z]+")
    re.compile('[a-z]+')
    """
    if name is None or name in _BY_NAME:
        return name or "words"
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
            f"There is no tokenizer {expression!r}: pass {_NAMES}, a function, or a regular "
            "expression such as r'\\w+'."
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
    """Return the lower case and flags of each code point up to the last letter; 0 for non-letters.

    The table is made with Python's `str`, so that the compiled tokenizer and Python agree in any
    version of Unicode. A letter's effect on a capital sigma after it is found by applying
    `str.lower` to the two.
    """
    from qwem.corpus._word_table import CASED, DOTTED_CAPITAL_I, IGNORABLE

    characters = np.arange(_PLANES, dtype=np.uint32)
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


@cache
def _word_letters() -> NDArray[np.int32]:
    """Return the letter table with the other characters of words: marks, joiners, soft hyphen."""
    from qwem.corpus._word_table import CODE_POINT, IGNORABLE, INNER, JOINING

    table = letter_table()
    characters = [*range(_PLANES), *range(0xE0100, 0xE01F0)]  # the last are variation selectors
    marks = [c for c in characters if unicodedata.category(chr(c)).startswith("M")]
    table = np.append(table, np.zeros(max(marks) + 1 - table.size, dtype=np.int32))
    inner = np.array([*marks, *JOINERS, SOFT_HYPHEN], dtype=np.uint32)
    ignorable = _lowered(inner, "a", "Σ")[:, 2] == ord("ς")
    table[inner] = _lowered(inner, "", "")[:, 0] | INNER | np.where(ignorable, IGNORABLE, 0)
    table[list(JOINERS)] |= JOINING
    table[0x2019] += ord("'") - 0x2019
    table[SOFT_HYPHEN] &= ~CODE_POINT
    table.setflags(write=False)
    return table


def _lowered(letters: NDArray[np.uint32], before: str, after: str) -> NDArray[np.uint32]:
    """Return the lower case of each letter between `before` and `after`, as code points."""
    lines = np.tile(np.array([*before, "\0", *after, "\n"]).view(np.uint32), (letters.size, 1))
    lines[:, len(before)] = letters
    text = lines.tobytes().decode("utf-32-le")
    return np.frombuffer(text.lower().encode("utf-32-le"), np.uint32).reshape(lines.shape)
