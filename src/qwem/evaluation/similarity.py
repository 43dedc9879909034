"""How well an embedding's similarities follow people's (the paper's appendix, Benchmarks)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem.errors import CoverageError, SettingError
from qwem.evaluation.similarity_files import SimilaritySet, read_similarity

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from qwem.embedding import Embedding

Measure = Literal["cosine", "inner"]


@dataclass(frozen=True)
class SimilarityResult:
    """Spearman's rank correlation, over how many pairs, and how many had an unknown word."""

    spearman: float
    pairs: int
    skipped: int

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        return asdict(self)


def evaluate_similarity(
    embedding: Embedding,
    pairs: SimilaritySet | str | os.PathLike[str],
    *,
    measure: Measure = "cosine",
) -> SimilarityResult:
    """Correlate the similarity of word pairs with what people said of them.

    Parameters
    ----------
    embedding
        What is to be evaluated; pairs with a word that it has not are skipped and counted.
    pairs
        A `SimilaritySet`, or a file or benchmark that `read_similarity` reads.
    measure
        ``cosine``, the custom of the field, or ``inner``, the inner product of the paper's text.

    >>> from qwem.embedding import Embedding
    >>> from qwem.evaluation import RatedPair
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (RatedPair("sun", "light", 9), RatedPair("sun", "car", 1)))
    >>> evaluate_similarity(plane, rated)
    SimilarityResult(spearman=1.0, pairs=2, skipped=0)
    """
    if measure not in get_args(Measure):
        raise SettingError(f"measure must be cosine or inner, not {measure!r}.")
    rated = pairs if isinstance(pairs, SimilaritySet) else read_similarity(pairs)
    known = [pair for pair in rated.pairs if pair.first in embedding and pair.second in embedding]
    if len(known) < 2:
        raise CoverageError(
            f"{len(known)} of the {len(rated):,} pairs of {rated.name} have both words among the "
            f"{len(embedding):,} of the embedding, and a correlation needs 2; use a larger "
            "vocabulary or other pairs."
        )
    rows = [embedding.vocabulary.indices(side) for side in list(zip(*known, strict=True))[:2]]
    first, second = (embedding.vectors[side].astype(np.float64) for side in rows)
    similarity = np.einsum("ij,ij->i", first, second)
    if measure == "cosine":
        lengths = embedding.norms[rows[0]] * embedding.norms[rows[1]]
        similarity = np.divide(
            similarity, lengths, out=np.zeros_like(similarity), where=lengths > 0
        )
    scores = [pair.score for pair in known]
    if np.ptp(similarity) == 0 or np.ptp(scores) == 0:
        raise CoverageError(
            f"All {len(known):,} pairs of {rated.name} that the embedding knows are equally "
            "similar, so there is no order to correlate; use other pairs."
        )
    return SimilarityResult(spearman(similarity, scores), len(known), len(rated) - len(known))


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's ρ = Corr[r₁, r₂], where equal values share their mean rank.

    >>> spearman([1, 2, 2, 3], [10, 20, 20, 30])
    1.0
    """
    from scipy.stats import rankdata

    # Twice a rank is an integer, and so is its distance from the mean: the sums are exact.
    one, other = (2 * rankdata(side) - (len(np.asarray(side)) + 1) for side in (first, second))
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))
