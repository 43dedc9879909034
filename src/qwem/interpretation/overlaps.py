"""Overlaps between the features of two embeddings (the paper's appendix, fig. overlaps)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qwem._internal.results import Result
from qwem.errors import SettingError
from qwem.interpretation.singular import singular_vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.embedding import Embedding


@dataclass(frozen=True, eq=False, repr=False)
class Overlaps(Result):
    """Overlaps between the features of two embeddings, over the words that both have.

    >>> from qwem import Embedding
    >>> a = Embedding(["x", "y", "z"], [[3, 0], [0, 2], [0, 0]])
    >>> print(overlaps(a, a).to_text(), end="")
    feature  matched  overlap  subspace similarity
    1        1        1        1
    2        2        1        1
    """

    derived: ClassVar[tuple[str, ...]] = ("shared_words", "dim", "matched_rank", "matched")
    words: tuple[str, ...] = field(repr=False)
    """The shared words, in the order of the first embedding."""
    squared: NDArray[np.float64] = field(repr=False)
    """(u_i · u′_j)² for feature i of the first and j of the second: the paper's heat map."""
    match: NDArray[np.int64] = field(repr=False)
    """For each feature of the first, its match among those of the second. Matches are one to one,
    and chosen so that the sum of their squared overlaps is as large as possible."""
    subspace_similarity: NDArray[np.float64]
    """‖UᵀU′‖²/d for the first d features of both, d = 1, 2, …: the mean squared cosine of the
    angles between the two subspaces, 1 where they are the same, d/V for random ones."""

    def __repr__(self) -> str:
        return (
            f"Overlaps(the first {self.dim} features over {len(self.words):,} words: subspace "
            f"similarity {self.subspace_similarity[-1]:.3f}, matched {self.matched.mean():.3f})"
        )

    @property
    def matched(self) -> NDArray[np.float64]:
        """The squared overlap of each feature of the first with its match."""
        return self.squared[np.arange(len(self.match)), self.match]

    @property
    def dim(self) -> int:
        """How many features of either were compared."""
        return len(self.match)

    @property
    def shared_words(self) -> int:
        """How many words both embeddings have."""
        return len(self.words)

    @property
    def matched_rank(self) -> NDArray[np.int64]:
        """For each feature of the first, the rank of its match in the second, from 1."""
        return self.match + 1

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each feature of the first embedding."""
        columns = (self.matched_rank, self.matched, self.subspace_similarity)
        return [
            {"feature": k, "matched": match, "overlap": overlap, "subspace similarity": similarity}
            for k, (match, overlap, similarity) in enumerate(zip(*columns, strict=True), 1)
        ]


def overlaps(a: Embedding, b: Embedding, *, dim: int | None = None) -> Overlaps:
    """Compare the left singular vectors of two embeddings.

    The result does not change when either embedding is rotated, so models from different starts and
    different programs can be compared. Embeddings with different words are first restricted to the
    words that both have.

    Parameters
    ----------
    a, b
        Two embeddings, of any dimensions.
    dim
        How many of the leading features to compare; by default as many as both have.

    >>> from qwem import Embedding
    >>> a = Embedding(["x", "y", "z"], [[3, 0], [0, 2], [0, 0]])
    >>> b = Embedding(["z", "y", "x"], [[0, 0], [5, 0], [0, 1]])
    >>> found = overlaps(a, b)
    >>> found.match, found.subspace_similarity.round(6)
    (array([1, 0]), array([0., 1.]))
    """
    from scipy.optimize import linear_sum_assignment

    words = tuple(word for word in a if word in b)
    if not words:
        raise SettingError("These two embeddings share no word, and can't be compared.")
    one, other = (singular_vectors(_rows(side, words)) for side in (a, b))
    most = min(one.rank, other.rank)
    if dim is None:
        dim = most
    elif not 1 <= dim <= most:
        raise SettingError(
            f"dim must be between 1 and {most}, the features that both embeddings have over their "
            f"{len(words):,} shared words, not {dim}."
        )
    squared = np.square(one.left[:, :dim].T @ other.left[:, :dim])
    match = linear_sum_assignment(squared, maximize=True)[1].astype(np.int64)
    # The sum over the first d rows and columns, for every d at once.
    sums = np.diagonal(squared.cumsum(axis=0).cumsum(axis=1))
    return Overlaps(words, squared, match, sums / np.arange(1, dim + 1))


def _rows(embedding: Embedding, words: tuple[str, ...]) -> NDArray[np.float32]:
    if words == embedding.index_to_key:
        return embedding.vectors
    return embedding[words]
