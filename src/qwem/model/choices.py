"""What a fit chooses for the text at hand: how many words memory holds, and a summary line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.resources import available_memory
from qwem.cooccurrence._estimates import sampled_pairs
from qwem.cooccurrence._subsampling import Subsampling
from qwem.cooccurrence.slots import window_slots
from qwem.corpus.reading import AUTO_MIN_COUNT
from qwem.errors import CorpusError
from qwem.model.settings import DIM, WINDOW

if TYPE_CHECKING:
    from qwem.corpus import Corpus, Vocabulary
    from qwem.model.settings import ResolvedSettings

FEWEST_WORDS = 100
"""The length of the shortest text that a dimension is chosen for."""

# Bytes of memory that a fit takes at its peak, per pair of words and per number of a vector.
_PAIR_BYTES, _VECTOR_BYTES = 32, 64
# Distinct pairs per running word and step of the window in two million words; in more text, less.
_PAIRS_PER_STEP, _MEASURED_WORDS, _PAIR_GROWTH = 0.7, 2e6, 0.8


def require_enough(settings: ResolvedSettings, vocabulary: Vocabulary) -> None:
    """Raise `CorpusError` for a text that is too short to choose a dimension for."""
    length = int(vocabulary.counts.sum())
    if "dim" in settings.adapted and length < FEWEST_WORDS:
        raise CorpusError(
            f"The text has {length:,} words, {len(vocabulary):,} of them different, which is too "
            f"little to learn from; give at least {FEWEST_WORDS} words, or choose `dim` yourself."
        )


def cut_to_memory(corpus: Corpus, settings: ResolvedSettings) -> Corpus:
    """Return the corpus with as many words as memory holds: all of them, if it can.

    A rough estimate of the pairs comes first; if their memory is short, a sample of the text is
    counted. Both err on the large side, and counting refuses what would not fit in any case.
    """
    words, length = len(corpus.vocabulary), corpus.tokens.size
    budget = available_memory() - _VECTOR_BYTES * settings.dim * np.arange(words + 1)
    growth = (max(length, _MEASURED_WORDS) / _MEASURED_WORDS) ** (_PAIR_GROWTH - 1)
    rough = min(float(words) ** 2, _PAIRS_PER_STEP * settings.window * length * growth)
    if _PAIR_BYTES * rough <= budget[-1]:
        return corpus
    subsampling = None
    if settings.subsample is not None:
        subsampling = Subsampling(settings.subsample, settings.seed, settings.draws)
    slots = window_slots(settings.window, settings.weights, "symmetric")
    fits = _PAIR_BYTES * sampled_pairs(corpus, slots, subsampling) <= budget
    return corpus if fits.all() else corpus.restrict(max(1, int(fits.argmin()) - 1))


def describe(
    settings: ResolvedSettings, vocabulary: Vocabulary, corpus: Corpus | None, found: int
) -> str:
    """Return in one line what was chosen for a text, and why.

    `found` is how many words there were before `cut_to_memory`.
    """
    words, length = len(vocabulary), int(vocabulary.counts.sum())
    text = f"{words:,} words"
    least = None if corpus is None else corpus.settings.get("min_count")
    if words < found:
        text += f", the most frequent of {found:,}: memory does not hold more"
    elif settings.vocab_size is None and least is not None:
        text += f" that occur at least {least} times" if least > 1 else ", all that occur"
        if settings.min_count == "auto" and least < AUTO_MIN_COUNT:
            text += " in this short text"
    text += f"; dimension {settings.dim}"
    adapted = "dim" in settings.adapted and settings.dim != DIM
    if corpus is not None and "window" in settings.adapted and settings.window > WINDOW:
        text += f", window {settings.window}"
        adapted = True
    if adapted:
        text += f", for a text of {length:,} words"
    return text + ("; polished." if settings.polish else "; the closed form.")
