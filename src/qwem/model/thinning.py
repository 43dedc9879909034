"""How frequent words were thinned out, as far as counts say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary


class Thinning(NamedTuple):
    """The threshold of subsampling, if there was any, and how frequent words were before it."""

    subsample: float | None
    frequencies: NDArray[np.int64]


def thinning_of(vocabulary: Vocabulary, sources: Sequence[dict[str, Any]]) -> Thinning:
    """Return how words were thinned out, given their counts and the `sources` of these.

    A word of n occurrences among N that is thinned out has √(tNn) + tN left, on average.
    """
    subsampled = [source for source in sources if "subsample" in source]
    if not subsampled:
        return Thinning(None, vocabulary.counts)
    draws = sum(source["draws"] for source in subsampled) / len(subsampled)
    threshold, words = subsampled[0]["subsample"], subsampled[0]["words"]
    scaled = threshold * words
    left = vocabulary.counts / draws
    full = np.where(left > scaled, (left - scaled) ** 2 / scaled, left)
    before = np.maximum(full, left)
    # Acceptance takes shares; a word that is not counted makes them those of the whole text.
    return Thinning(threshold, np.rint(before * words / before.sum()).astype(np.int64))
