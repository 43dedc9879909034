"""word2vec's subsampling of frequent words: which tokens are kept, and with what probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def acceptance(word_counts: NDArray[Any], subsample: float) -> NDArray[np.float64]:
    """Return the probability min(1, √(t/f) + t/f) with which word2vec keeps each word.

    Here t is `subsample` and f a word's share of all `word_counts`. A word that never occurs would
    be kept.

    >>> acceptance(np.array([96, 4]), 0.01).round(3).tolist()
    [0.112, 0.75]
    """
    if not (np.isfinite(subsample) and subsample > 0):
        raise SettingError(f"subsample must be a positive number, such as 1e-3, not {subsample}.")
    unlimited = np.full(len(word_counts), np.inf)
    scaled = subsample * word_counts.sum()
    ratio = np.divide(scaled, word_counts, out=unlimited, where=word_counts > 0)
    return np.minimum(1.0, np.sqrt(ratio) + ratio)


@dataclass(frozen=True)
class Subsampling:
    """Random choice of the tokens to keep, `draws` times over.

    Whether a token is kept depends on the seed, the number of its document and its position in
    that document, and on nothing else.
    """

    subsample: float
    seed: int
    draws: int

    def keep_limits(self, word_counts: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return, out of 2⁵³ equally likely outcomes, how many keep each word."""
        return (acceptance(word_counts, self.subsample) * 2.0**53).astype(np.uint64)

    def key(self, draw: int) -> np.uint64:
        """Return the key from which one draw's choices are derived."""
        from qwem._internal.kernels import mix

        with np.errstate(over="ignore"):
            return np.uint64(mix(np.uint64(self.seed) + mix(np.uint64(draw))))
