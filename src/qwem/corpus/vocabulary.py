"""The words of a corpus and how often each occurs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qwem.corpus.close_spellings import close_spellings
from qwem.errors import SettingError, UnknownWordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words and their counts, the most frequent first, ties by spelling.

    >>> vocabulary = Vocabulary.from_counts({"king": 2, "the": 9, "queen": 2})
    >>> vocabulary.words, vocabulary.index("queen")
    (('the', 'king', 'queen'), 2)
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "words", tuple(self.words))
        if counts.shape != (len(self.words),):
            raise SettingError(
                f"A vocabulary needs one count for each word: it was given {len(self.words)} words "
                f"and counts of shape {counts.shape}."
            )
        if len(self._index) != len(self.words):
            twice = next(word for i, word in enumerate(self.words) if self._index[word] != i)
            raise SettingError(f"The word {twice!r} is in the vocabulary twice.")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int]) -> Vocabulary:
        """Return the vocabulary of these word counts, the most frequent word first."""
        words = tuple(counts)
        order = frequency_order(words, list(counts.values()))
        return cls(tuple(words[i] for i in order), np.array(list(counts.values()))[order])

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: index for index, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        first = " ".join(self.words[:5])
        return f"Vocabulary({len(self):,} words: {first}{' …' if len(self) > 5 else ''})"

    def get(self, word: str) -> int | None:
        """Return the index of `word`, or None where it is unknown."""
        return self._index.get(word)

    def index(self, word: str) -> int:
        """Return the index of `word`; an unknown word raises with close spellings."""
        try:
            return self._index[word]
        except KeyError:
            close = close_spellings(word, self._index)
            hint = (
                f"close spellings: {', '.join(close)}"
                if close
                else "no known word is spelled similarly"
            )
            raise UnknownWordError(
                f"The word {word!r} is not one of the {len(self):,} known words; {hint}."
            ) from None

    def indices(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the indices of several words, in their order."""
        return np.array([self.index(word) for word in words], dtype=np.int64)

    def restrict(self, size: int) -> Vocabulary:
        """Return the first `size` words."""
        if not 0 < size <= len(self):
            raise SettingError(
                f"`vocab_size` must be between 1 and {len(self):,}, the number of words, not "
                f"{size}."
            )
        return self if size == len(self) else Vocabulary(self.words[:size], self.counts[:size])


def frequency_order(words: Sequence[str], counts: ArrayLike) -> NDArray[np.int64]:
    """Return the order that puts the most frequent word first, ties by spelling."""
    by_spelling = np.array(sorted(range(len(words)), key=words.__getitem__), dtype=np.int64)
    numbers = np.asarray(counts, dtype=np.int64)[by_spelling]
    return by_spelling[np.argsort(-numbers, kind="stable")]
