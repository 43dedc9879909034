"""Choice of the words that a corpus keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from qwem.corpus.reading import AUTO_MIN_COUNT, AUTO_WORDS, AtMost
from qwem.corpus.vocabulary import Vocabulary, frequency_order
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from qwem.corpus.reading import Reading

    Counts: TypeAlias = NDArray[np.int64]


def choose_words(
    counts: Counts, spell: Callable[[Counts], Sequence[str]], reading: Reading
) -> tuple[Vocabulary, int]:
    """Return the most frequent words, ties by spelling, and how often one had to occur.

    Parameters
    ----------
    counts
        How often each word occurs.
    spell
        What returns the words with these numbers.
    reading
        Its `vocab_size` and `min_count`.
    """
    min_count = min_count_of(lambda least: int(np.count_nonzero(counts >= least)), reading)
    candidates = np.flatnonzero(counts >= min_count)
    often = f" that occur {min_count} times" if min_count > 1 else ""
    if not candidates.size:
        raise CorpusError(f"No word is left: there are none{often}; lower `min_count`.")
    size = candidates.size if reading.vocab_size is None else int(reading.vocab_size)
    if isinstance(reading.vocab_size, AtMost):
        size = min(size, candidates.size)
    if size > candidates.size:
        raise SettingError(
            f"`vocab_size` is {size:,}, larger than the corpus, which has {candidates.size:,} "
            f"words{often}; lower it, or pass `vocab_size=None` to keep them all."
        )
    # Only words that may be chosen are spelled out: those as frequent as the last one chosen.
    least = np.partition(counts[candidates], candidates.size - size)[candidates.size - size]
    candidates = candidates[counts[candidates] >= least]
    order = frequency_order(spell(candidates), counts[candidates])
    chosen = candidates[order[:size]]
    return Vocabulary(tuple(spell(chosen)), counts[chosen]), min_count


def min_count_of(as_often: Callable[[int], int], reading: Reading) -> int:
    """Return how often a word must occur; `as_often` says how many words occur at least so often.

    >>> from qwem.corpus import Reading
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
