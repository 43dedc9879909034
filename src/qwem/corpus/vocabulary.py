"""The vocabulary: words and their counts, how they are chosen, and close spellings."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qwem.corpus.reading import AUTO_MIN_COUNT, AUTO_WORDS, VocabularyLimit
from qwem.errors import CorpusError, SettingError, UnknownWordError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from qwem.corpus.reading import Reading

    Counts: TypeAlias = NDArray[np.int64]

FREQUENT = 20_000
"""The number of most frequent words that are compared letter by letter."""
_ALPHABET_WORDS = 1_000


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

    @classmethod
    def of(cls, words: Iterable[str]) -> Vocabulary:
        """Return words as a vocabulary, with counts of zero unless they are one already."""
        if isinstance(words, Vocabulary):
            return words
        words = tuple(words)
        return cls(words, np.zeros(len(words), np.int64))

    @cached_property
    def digests(self) -> NDArray[np.uint64]:
        """A digest of each word, which does not depend on its index."""
        spelled = (word.encode(errors="surrogatepass") for word in self.words)
        found = (hashlib.blake2b(word, digest_size=8).digest() for word in spelled)
        return np.frombuffer(b"".join(found), np.uint64)

    @cached_property
    def _index(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self.words)), strict=True))

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

    @property
    def frequencies(self) -> dict[str, int]:
        """The count of each word."""
        return dict(zip(self.words, self.counts.tolist(), strict=True))

    def get(self, word: str) -> int | None:
        """Return the index of `word`, or None if it is unknown."""
        return self._index.get(word)

    def index(self, word: str) -> int:
        """Return the index of `word`; the error for an unknown word lists close spellings."""
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


def choose_words(
    counts: Counts,
    spell: Callable[[Counts], Sequence[str]],
    reading: Reading,
    *,
    allow_empty: bool = False,
) -> tuple[Vocabulary, int]:
    """Choose the vocabulary; return it and the `min_count` that was applied.

    Parameters
    ----------
    counts
        How often each word occurs.
    spell
        Returns the words with given numbers.
    reading
        Gives `vocab_size` and `min_count`.
    allow_empty
        Accept an empty vocabulary.
    """
    min_count = min_count_of(lambda least: int(np.count_nonzero(counts >= least)), reading)
    candidates = np.flatnonzero(counts >= min_count)
    often = f" that occur at least {min_count} times" if min_count > 1 else ""
    if not candidates.size and allow_empty:
        return Vocabulary((), np.empty(0, np.int64)), min_count
    if not candidates.size:
        raise CorpusError(f"No word is left: there are none{often}; lower `min_count`.")
    size = candidates.size if reading.vocab_size is None else int(reading.vocab_size)
    if isinstance(reading.vocab_size, VocabularyLimit):
        size = min(size, candidates.size)
    if size > candidates.size:
        raise SettingError(
            f"`vocab_size` is {size:,}, larger than the corpus, which has {candidates.size:,} "
            f"words{often}; lower it, or pass `vocab_size=None` to keep them all."
        )
    # Spell only words that may be chosen: those at least as frequent as the last one chosen.
    least = np.partition(counts[candidates], candidates.size - size)[candidates.size - size]
    candidates = candidates[counts[candidates] >= least]
    words = spell(candidates)
    order = frequency_order(words, counts[candidates])[:size]
    ordered = tuple(map(words.__getitem__, order.tolist()))
    return Vocabulary(ordered, counts[candidates[order]]), min_count


def min_count_of(as_often: Callable[[int], int], reading: Reading) -> int:
    """Return `min_count`, resolved; ``as_often(n)`` is how many words occur at least n times.

    >>> from qwem.corpus.reading import Reading
    >>> min_count_of(lambda least: 6000 // least, Reading(vocab_size=2_000))
    3
    """
    if reading.min_count != "auto":
        return reading.min_count
    enough = reading.vocab_size or AUTO_WORDS
    for least in range(AUTO_MIN_COUNT, 1, -1):
        if as_often(least) >= enough:
            return least
    return 1


def close_spellings(word: str, index: Mapping[str, int], count: int = 3) -> list[str]:
    """Return known words whose spelling is close to `word`.

    These are the words that differ by one letter or by two swapped letters, the most frequent
    first. If there are none, they are the nearest of the most frequent words. The word is tried as
    it is, then in small letters.

    Parameters
    ----------
    word
        An unknown word.
    index
        The known words and their indices, the most frequent first.
    count
        The largest number of words to return.

    >>> close_spellings("kinq", {"the": 0, "king": 1, "kin": 2, "queen": 3})
    ['king', 'kin']
    """
    letters = set(word).union(*islice(index, _ALPHABET_WORDS))
    frequent = list(islice(index, FREQUENT))
    for spelled in (word, word.lower()):
        near = {other for other in (spelled, *_one_letter_off(spelled, letters)) if other in index}
        if near:
            return sorted(near, key=index.__getitem__)[:count]
    nearest = difflib.get_close_matches(word, frequent, n=count)
    return nearest or difflib.get_close_matches(word.lower(), frequent, n=count)


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
