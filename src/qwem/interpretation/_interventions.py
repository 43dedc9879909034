"""Interventions: text without some of its passages, to see what a model learns from the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.settings import require_whole
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwem.corpus import Corpus


def without(corpus: Corpus, words: Sequence[str], *, within: int = 16) -> Corpus:
    """Return a corpus without the passages in which two different ones of some words meet.

    A passage reaches from one of the words to the next, if they are at most `within` words apart.
    It is cut out, and what stood before and after it become two documents. So no window of that
    width has two of the words any more, and everything else is counted as before.

    Parameters
    ----------
    corpus
        The text.
    words
        For example the months.
    within
        How far apart two of them may be and still meet: at least the window of the counts.

    >>> from qwem import Corpus
    >>> text = Corpus.from_documents(["rain in may and june then sun", "sun in june"])
    >>> [len(text), len(without(text, ["may", "june"], within=5))]
    [2, 3]
    """
    require_whole("within", within, least=1)
    known = [index for word in words if (index := corpus.vocabulary.get(word)) is not None]
    if len(known) < 2:
        raise SettingError(f"Only {len(known)} of the {len(words)} words are in the corpus.")
    tokens, offsets = np.asarray(corpus.tokens), corpus.offsets
    places = np.flatnonzero(np.isin(tokens, known))
    document = np.searchsorted(offsets, places, side="right")
    meets = (
        (np.diff(places) <= within)
        & (np.diff(document) == 0)
        & (tokens[places][1:] != tokens[places][:-1])
    )
    starts, stops = places[:-1][meets], places[1:][meets] + 1
    steps = np.zeros(len(tokens) + 1, dtype=np.int32)
    np.add.at(steps, starts, 1)
    np.add.at(steps, stops, -1)
    kept = np.cumsum(steps[:-1]) == 0
    ends = np.concatenate(([0], np.cumsum(kept)))
    return replace(
        corpus,
        tokens=tokens[kept],
        offsets=ends[np.unique(np.concatenate([offsets, starts]))],
        settings={**corpus.settings, "without": {"words": list(words), "within": within}},
    )
