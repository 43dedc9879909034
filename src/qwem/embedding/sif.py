"""Smooth inverse frequency: weights of words in a mean of word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary


def sif_weights(vocabulary: Vocabulary, smoothing: float = 1e-3) -> NDArray[np.float32]:
    """Return a / (a + p) for each word of probability p, where a is `smoothing`.

    With these weights, frequent words contribute less to the mean vector of a sentence (Arora,
    Liang and Ma 2017).

    >>> from qwem.corpus import Vocabulary
    >>> sif_weights(Vocabulary.from_counts({"the": 3, "king": 1}), 0.25).round(3).tolist()
    [0.25, 0.5]
    """
    if not smoothing > 0:
        raise SettingError(f"The smoothing of SIF weights must be positive, not {smoothing}.")
    counts = vocabulary.counts
    if not counts.any():
        raise SettingError(
            "SIF weights need word counts, and these vectors have none; use a fitted model, or "
            "leave the weights out."
        )
    return np.asarray(smoothing / (smoothing + counts / counts.sum()), dtype=np.float32)
