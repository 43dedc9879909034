"""How frequent words were subsampled, as far as counts say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem.corpus import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence


class RecordedSubsampling(NamedTuple):
    """The threshold of subsampling, if there was any, and how frequent words were before it."""

    threshold: float | None
    frequencies: NDArray[np.int64]


def recorded_subsampling(
    vocabulary: Vocabulary, sources: Sequence[dict[str, Any]]
) -> RecordedSubsampling:
    """Return how words were subsampled, given their counts and the `sources` of these."""
    subsampled = [source for source in sources if "subsample" in source]
    if not subsampled:
        return RecordedSubsampling(None, vocabulary.counts)
    before, words = _before(vocabulary.counts, subsampled), subsampled[0]["words"]
    # Acceptance takes shares; a word that is not counted makes them those of the whole text.
    frequencies = np.rint(before * words / before.sum()).astype(np.int64)
    return RecordedSubsampling(subsampled[0]["subsample"], frequencies)


def original_vocabulary(counts: Cooccurrence) -> Vocabulary:
    """Return the words of counts, with their frequencies before subsampling.

    That is an estimate for each word. The sum is exact if the counts know how long their texts
    were.
    """
    subsampled = [source for source in counts.sources if "subsample" in source]
    if not subsampled:
        return counts.vocabulary
    before = _before(counts.word_counts, subsampled)
    if all("length" in source for source in counts.sources):
        length = sum(source.get("sign", 1) * source["length"] for source in counts.sources)
        before *= length / before.sum()
        before = np.rint(before)
        before[0] += length - before.sum()
    return Vocabulary(counts.vocabulary.words, np.rint(before).astype(np.int64))


def _before(counts: NDArray[np.int64], subsampled: Sequence[dict[str, Any]]) -> NDArray[np.float64]:
    """Estimate how often words occurred before subsampling.

    Of a frequent word's n occurrences among N, √(tNn) + tN are left on average.
    """
    draws = sum(source["draws"] for source in subsampled) / len(subsampled)
    scaled = subsampled[0]["subsample"] * subsampled[0]["words"]
    left = counts / draws
    full = np.where(left > scaled, (left - scaled) ** 2 / scaled, left)
    return np.maximum(full, left)
