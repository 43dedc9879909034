"""Occurrences: where a word or a sequence of words stands in a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.corpus.corpus import Corpus


def occurrences(corpus: Corpus, pattern: Sequence[str]) -> NDArray[np.int64]:
    """Return where a sequence of words begins, without overlaps and within documents.

    >>> from qwem import Corpus
    >>> corpus = Corpus.from_documents(["new york is not york new", "york"])
    >>> occurrences(corpus, ["new", "york"]).tolist(), occurrences(corpus, ["york"]).tolist()
    ([0], [1, 4, 6])
    """
    known = [corpus.vocabulary.get(word) for word in pattern]
    tokens, length = corpus.tokens, len(known)
    if None in known or not length:
        return np.empty(0, dtype=np.int64)
    places = np.flatnonzero(tokens[: max(tokens.size - length + 1, 0)] == known[0])
    for step, token in enumerate(known[1:], 1):
        places = places[tokens[places + step] == token]
    if length == 1:
        return places
    document = np.searchsorted(corpus.offsets, places, side="right")
    places = places[places + length <= corpus.offsets[document]]
    chosen, free = [], 0
    for place in places.tolist():
        if place >= free:
            chosen.append(place)
            free = place + length
    return np.array(chosen, dtype=np.int64)
