"""Settings that adapt to the text: what ``"auto"`` stands for, and how many words memory holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.resources import available_memory
from qwem.cooccurrence import Subsampling, sampled_pairs, window_weights
from qwem.corpus import AUTO_MIN_COUNT
from qwem.errors import CorpusError
from qwem.model.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qwem.corpus import Corpus, Vocabulary
    from qwem.model.settings import SettingChanges

DIM = 200
"""The dimension, unless the text is short."""
WORDS_PER_DIMENSION = 10
"""The fewest different words for each dimension."""
DIM_GROWTH = 0.8
"""The dimension is at most this times the cube root of the text's length, 100 for two million
words: docs/closed-form-choices.md has the trials."""
FEWEST_WORDS = 100
"""The length of the shortest text that a dimension is chosen for."""
WINDOW, WIDEST_WINDOW = 5, 10
WIDE_BELOW = 16_000_000
"""In texts of fewer words the window is wider, by the fifth root of what is missing: a word that is
seldom seen needs more of its surroundings."""
SUBSAMPLE = 1e-3
KEPT_OCCURRENCES = 1_000
"""Small text is subsampled less: words that occur less often than this stay whole."""
SHRINKAGE, COUPLING = 10.0, -0.2

# Bytes of memory that a fit takes at its peak, per pair of words and per number of a vector.
_PAIR_BYTES, _VECTOR_BYTES = 32, 64
# Distinct pairs per running word and step of the window in two million words; in more text, less.
_PAIRS_PER_STEP, _MEASURED_WORDS, _PAIR_GROWTH = 0.7, 2e6, 0.8


@dataclass(frozen=True, kw_only=True)
class Settled(Settings):
    """Settings of which none is ``"auto"``, apart from those of reading."""

    window: int
    subsample: float | None
    shrinkage: float
    coupling: float
    dim: int
    polish: bool


def settle(settings: Settings, vocabulary: Vocabulary) -> Settled:
    """Return settings without any ``"auto"``: what suits a text with these words and counts.

    >>> from qwem.corpus import Vocabulary
    >>> from qwem.model.settings import Settings
    >>> settled = settle(Settings(), Vocabulary.from_counts({f"w{i}": 9 for i in range(500)}))
    >>> settled.dim, settled.window, round(settled.subsample, 3), settled.polish
    (13, 10, 0.222, True)
    """
    words, length = len(vocabulary), int(vocabulary.counts.sum())
    mstar = settings.target == "mstar"
    changes: SettingChanges = {}
    if settings.dim == "auto":
        growing = round(DIM_GROWTH * math.cbrt(length))
        changes["dim"] = max(1, min(DIM, growing, words // WORDS_PER_DIMENSION))
    if settings.window == "auto":
        changes["window"] = _window(settings.weights, length)
    if settings.subsample == "auto":
        threshold = max(SUBSAMPLE, KEPT_OCCURRENCES / max(length, 1))
        changes["subsample"] = threshold if threshold < 1 else None
    if settings.shrinkage == "auto":
        changes["shrinkage"] = SHRINKAGE if mstar else 0.0
    if settings.coupling == "auto":
        changes["coupling"] = COUPLING if mstar else 0.0
    if settings.polish == "auto":
        changes["polish"] = mstar
    return Settled(**{**vars(settings), **changes})


def require_enough(settings: Settings, vocabulary: Vocabulary) -> None:
    """Raise `CorpusError` for a text that is too short to choose a dimension for."""
    length = int(vocabulary.counts.sum())
    if settings.dim == "auto" and length < FEWEST_WORDS:
        raise CorpusError(
            f"The text has {length:,} words, {len(vocabulary):,} of them different, which is too "
            f"little to learn from; give at least {FEWEST_WORDS} words, or choose dim yourself."
        )


def cut_to_memory(corpus: Corpus, settings: Settings) -> Corpus:
    """Return the corpus with as many words as memory holds: all of them, if it can.

    A rough estimate of the pairs comes first; if their memory is short, a sample of the text is
    counted. Both err on the large side, and counting refuses what would not fit in any case.
    """
    words, length = len(corpus.vocabulary), corpus.tokens.size
    settled = settle(settings, corpus.vocabulary)
    budget = available_memory() - _VECTOR_BYTES * settled.dim * np.arange(words + 1)
    growth = (max(length, _MEASURED_WORDS) / _MEASURED_WORDS) ** (_PAIR_GROWTH - 1)
    rough = min(float(words) ** 2, _PAIRS_PER_STEP * settled.window * length * growth)
    if _PAIR_BYTES * rough <= budget[-1]:
        return corpus
    subsampling = None
    if settled.subsample is not None:
        subsampling = Subsampling(settled.subsample, settled.seed, settled.draws)
    weights = window_weights(settled.window, settled.weights)
    fits = _PAIR_BYTES * sampled_pairs(corpus, weights, subsampling) <= budget
    return corpus if fits.all() else corpus.restrict(max(1, int(fits.argmin()) - 1))


def describe(
    settled: Settled, given: Settings, vocabulary: Vocabulary, corpus: Corpus | None, found: int
) -> str:
    """Return in one line what was chosen for a text, and why.

    `given` is what `settled` was before, and `found` is how many words there were before
    `cut_to_memory`.
    """
    words, length = len(vocabulary), int(vocabulary.counts.sum())
    text = f"{words:,} words"
    least = None if corpus is None else corpus.settings.get("min_count")
    if words < found:
        text += f", the most frequent of {found:,}: memory does not hold more"
    elif given.vocab_size is None and least is not None:
        text += f" that occur at least {least} times" if least > 1 else ", all that occur"
        if given.min_count == "auto" and least < AUTO_MIN_COUNT:
            text += " in this short text"
    text += f"; dimension {settled.dim}"
    adapted = given.dim == "auto" and settled.dim != DIM
    if corpus is not None and given.window == "auto" and settled.window > WINDOW:
        text += f", window {settled.window}"
        adapted = True
    if adapted:
        text += f", for a text of {length:,} words"
    return text + ("; polished." if settled.polish else "; the closed form.")


def _window(weights: str | Sequence[int], length: int) -> int:
    """Return the window for a text of this length, or the one that the weights are for."""
    if not isinstance(weights, str):
        return len(weights)
    wider = WINDOW * (WIDE_BELOW / max(length, 1)) ** 0.2
    return min(WIDEST_WINDOW, max(WINDOW, round(wider)))
