"""How text becomes a corpus: the settings, said once for every caller."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypedDict, Unpack

from qwem._internal.checks import require_choice, require_whole
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from qwem.corpus.phrases import Phrases
    from qwem.corpus.tokenizer import TokenizerLike

Documents = Literal["line", "file"]
Errors = Literal["strict", "replace"]

AUTO_MIN_COUNT = 5
"""How often a word must occur where ``min_count="auto"`` and there is enough text."""
AUTO_WORDS = 1_000
"""How many words ``min_count="auto"`` keeps in small text by asking for fewer occurrences."""


class AtMost(int):
    """A `vocab_size` that may be larger than the vocabulary, for settings that serve any text.

    >>> from qwem import Corpus
    >>> len(Corpus.from_documents(["the king and the queen"], vocab_size=AtMost(10_000)).vocabulary)
    4
    """


class ReadingOptions(TypedDict, total=False):
    """The fields of `Reading` as keyword arguments, all optional."""

    vocab_size: int | None
    min_count: int | Literal["auto"]
    min_tokens: int
    tokenizer: TokenizerLike
    text_column: str
    oov: Literal["drop", "mask"]
    errors: Errors
    phrases: bool | int | Phrases


@dataclass(frozen=True, kw_only=True)
class Reading:
    r"""What a word is, and which documents and words a corpus keeps.

    >>> Reading(min_tokens=500, tokenizer="ascii").min_count
    'auto'
    """

    vocab_size: int | None = None
    """How many words to keep: the most frequent, ties by spelling. There must be as many, except
    for `AtMost`. None keeps every word that occurs `min_count` times."""
    min_count: int | Literal["auto"] = "auto"
    """How often a word must occur to be kept. ``"auto"`` is 5, and less for small text: the largest
    number up to 5 that keeps 1,000 words, or else 1."""
    min_tokens: int = 0
    """Documents of fewer words than this are left out before anything is counted."""
    tokenizer: TokenizerLike = "letters"
    """What a word is. ``"letters"``: every character that is not a letter becomes a space, and the
    rest is lower-cased and split. ``"ascii"``: the same with a–z as the only letters. A regular
    expression: its matches, not lower-cased. A function from a text to its words, which is called
    for one document at a time, never in two threads at once."""
    text_column: str = "text"
    """The name of the text in JSON, Parquet, mappings and datasets; null is an empty document."""
    oov: Literal["drop", "mask"] = "drop"
    """What becomes of words outside the vocabulary: ``"drop"`` removes them, so that their
    neighbours move together; ``"mask"`` keeps each as a gap."""
    errors: Errors = "strict"
    """``"strict"`` refuses text that is not valid UTF-8; ``"replace"`` puts U+FFFD in its place."""
    phrases: bool | int | Phrases = False
    """Whether words that belong together become one, such as new_york. True looks for pairs twice,
    for phrases of up to four words; a number looks that many times. `Phrases` joins those that were
    found before."""

    _OTHER_NAMES: ClassVar[Mapping[str, str]] = {"max_final_vocab": "vocab_size"}
    """What other programs call these settings, for `meant_by`."""

    def __post_init__(self) -> None:
        if self.vocab_size is not None:
            require_whole("vocab_size", self.vocab_size, least=1, otherwise="None")
        if self.min_count != "auto":
            require_whole("min_count", self.min_count, least=1, otherwise="'auto'")
        require_whole("min_tokens", self.min_tokens, least=0)
        require_choice("oov", self.oov, ("drop", "mask"))
        require_choice("errors", self.errors, ("strict", "replace"))
        if not isinstance(self.phrases, bool) and not hasattr(self.phrases, "joined"):
            require_whole("phrases", self.phrases, least=0, otherwise="a bool, or Phrases")

    @classmethod
    def of(cls, **options: Unpack[ReadingOptions]) -> Self:
        """Return the defaults with changes to them; an unknown name is refused."""
        cls.refuse_unknown(options)
        return cls(**options)

    @classmethod
    def refuse_unknown(cls, names: Iterable[str]) -> None:
        """Raise `SettingError` for the first name that is not a setting, with the nearest one."""
        known = [field.name for field in fields(cls)]
        for name in names:
            if name not in known:
                meant = cls.meant_by(name)
                hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}."
                raise SettingError(f"There is no setting {name!r}; {hint}")

    @classmethod
    def meant_by(cls, name: str) -> str | None:
        """Return the setting that another name stands for, or the one with the nearest spelling.

        >>> Reading.meant_by("max_final_vocab"), Reading.meant_by("tokeniser")
        ('vocab_size', 'tokenizer')
        """
        if name in cls._OTHER_NAMES:
            return cls._OTHER_NAMES[name]
        close = difflib.get_close_matches(name, [field.name for field in fields(cls)], n=1)
        return close[0] if close else None
