"""Comparison of two models: matched features, and how far words lie apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.interpretation import overlaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.pages.spaces import Space

Json = dict[str, Any]

COMPARED_WORDS = 20_000
"""Over how many shared words, the most frequent in the first model, features are compared."""

_BLOCK_NUMBERS = 1 << 20


def matched_features(a: Space, b: Space, dim: int) -> Json:
    """Return which features of two models match, over the most frequent words of both."""
    shared = _shared(a, b)
    ours, theirs = shared[:, :COMPARED_WORDS]
    words = [a.vocabulary.words[index] for index in ours.tolist()]
    one, other = (
        Embedding(words, space.vectors(indices, space.dials()))
        for space, indices in ((a, ours), (b, theirs))
    )
    found = overlaps(one, other, dim=min(dim, a.dim, b.dim, len(words)))
    return {
        **found.to_dict(),
        "shared_words": shared.shape[1],
        "compared_words": len(words),
        "squared": found.squared.tolist(),
    }


def distances(a: Space, b: Space) -> NDArray[np.float32]:
    """Return 1 − cosine between the vectors of each word of `a` in the two models.

    The second model is rotated to lie as near as can be to the first over all shared words, each of
    length one (Procrustes). Words that `b` does not have are NaN.
    """
    from scipy.linalg import svd

    ours, theirs = _shared(a, b)
    cross = np.zeros((a.dim, b.dim))
    parts = blocks(len(ours), max(a.dim, b.dim), most=_BLOCK_NUMBERS)
    for part in parts:
        cross += _units(a, ours[part]).T @ _units(b, theirs[part])
    left, _, right = svd(cross, full_matrices=False)
    found = np.full(len(a.vocabulary), np.nan, dtype=np.float32)
    for part in parts:
        one, other = _units(a, ours[part]) @ left, _units(b, theirs[part]) @ right.T
        found[ours[part]] = 1 - np.einsum("ij,ij->i", one, other)
    return found


def _shared(a: Space, b: Space) -> NDArray[np.int64]:
    """Return the indices of the shared words in both models, in the order of the first."""
    pairs = [
        (index, other)
        for index, word in enumerate(a.vocabulary.words)
        if (other := b.vocabulary.get(word)) is not None
    ]
    if not pairs:
        raise SettingError("These two models share no word, and can't be compared.")
    return np.array(pairs, dtype=np.int64).T


def _units(space: Space, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    vectors = space.vectors(indices, space.dials())
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
