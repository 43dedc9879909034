"""Settings for reading text into a corpus."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from qwem._internal.settings import Auto, BaseSettings, Switch, Text, Whole, setting
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qwem.corpus.phrases import Phrases
    from qwem.corpus.tokenizer import TokenizerLike

Documents = Literal["auto", "line", "paragraph", "file"]
"""What a document of plain text is."""
Errors = Literal["strict", "replace"]

AUTO_MIN_COUNT = 5
"""The `min_count` that "auto" chooses if there is enough text."""
AUTO_WORDS = 1_000
"""The number of words that "auto" keeps in small text, by lowering `min_count`."""


class VocabularyLimit(int):
    """A `vocab_size` that may be larger than the vocabulary, for settings that serve any text.

    >>> from qwem import Corpus
    >>> corpus = Corpus.from_documents(["the king and the queen"], vocab_size=VocabularyLimit(99))
    >>> len(corpus.vocabulary)
    4
    """


def _tokenizer(text: str) -> str | re.Pattern[str]:
    """Return the tokenizer given on the command line: a name, or the pattern after ``regex:``."""
    if not text.startswith("regex:"):
        return text
    try:
        return re.compile(text.removeprefix("regex:"))
    except re.error as error:
        raise SettingError(f"has a pattern that is not valid: {error}") from error


def _rounds_or_phrases(value: Any) -> bool:
    return hasattr(value, "joined") or Whole(0).accepts(value)


@dataclass(frozen=True, kw_only=True)
class Reading(BaseSettings):
    """Settings for what a word is, and which documents and words a corpus keeps.

    >>> Reading(min_tokens=500, tokenizer="ascii").min_count
    'auto'
    """

    vocab_size: int | None = setting(
        None,
        "keep the N most frequent words, ties by spelling. There must be as many, except for "
        "`VocabularyLimit`. None keeps every word that occurs at least `min_count` times.",
        Whole(1), stage="read", metavar="N", words={"all": None},
    )  # fmt: skip
    min_count: int | Literal["auto"] = setting(
        "auto", "keep words that occur at least N times",
        Whole(1), stage="read", metavar="N",
        auto=Auto("5, or in small text the largest number that keeps 1,000 words"),
    )  # fmt: skip
    min_tokens: int = setting(
        0, "leave out documents of fewer than N words, before anything is counted",
        Whole(0), stage="read", metavar="N",
    )  # fmt: skip
    tokenizer: TokenizerLike = setting(
        "words",
        "what a word is: words (letters, lower-cased, with apostrophes between them, as in don't, "
        "except 's, which is a word s), letters (every run of letters), ascii (every run of a–z), "
        "icu or jieba (for text without spaces, with PyICU or jieba installed), or regex:PATTERN "
        "(every match, not lower-cased). A pattern that can match in many ways, such as (a+)+b, "
        "may never end. In Python: also a compiled pattern, a function from a text to its words, "
        "or a tokenizer of spaCy or Hugging Face; it is called for one document at a time, never "
        "in two threads at once.",
        Text(_tokenizer), stage="read", metavar="NAME",
    )  # fmt: skip
    documents: Documents = setting(
        "auto",
        "what is a document in plain text: each line, each paragraph (up to an empty line), or "
        "each file",
        ("line", "paragraph", "file"), stage="read",
        auto=Auto("line, or paragraph in files whose lines are wrapped at some width"),
    )  # fmt: skip
    text: str = setting(
        "text",
        "column of the text in Parquet, JSON and CSV files. In Python also in data frames, "
        "datasets and mappings. Null is an empty document.",
        Text(), stage="read", metavar="COLUMN",
    )  # fmt: skip
    query: str | None = setting(
        None,
        "query of SQLite databases, such as 'SELECT body AS text FROM posts'. Its columns are "
        "those of a table.",
        Text(), stage="read", metavar="SQL", means="none",
    )  # fmt: skip
    oov: Literal["drop", "mask"] = setting(
        "drop",
        "drop words outside the vocabulary, so that their neighbours move together, or mask each "
        "as a gap",
        ("drop", "mask"), stage="read",
    )  # fmt: skip
    encoding: str = setting(
        "utf-8",
        "encoding of plain text, JSON and CSV files, such as cp1252. UTF-16 with a byte order mark "
        "is recognized.",
        Text(), stage="read", metavar="NAME",
    )  # fmt: skip
    errors: Errors = setting(
        "strict", "refuse text that is not valid (strict), or replace what is not by U+FFFD",
        ("strict", "replace"), stage="read",
    )  # fmt: skip
    phrases: bool | int | Phrases = setting(
        False,
        "join up to four words that belong together, such as new_york. In Python: True, the number "
        "of passes that join pairs (True is 2), or `Phrases` that were found before.",
        Switch(_rounds_or_phrases, "True, False, a whole number or Phrases"), stage="read",
    )  # fmt: skip

    OTHER_NAMES: ClassVar[Mapping[str, str]] = {
        "max_final_vocab": "vocab_size", "text_column": "text", "column": "text",
    }  # fmt: skip
    """Names of these settings in other programs."""
