"""Correlation of an embedding's similarities with people's (the paper's appendix, Benchmarks)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from qwem._internal.checks import require_choice
from qwem._internal.results import Result
from qwem.errors import CoverageError
from qwem.evaluation.similarity_files import SimilaritySet, read_similarity

if TYPE_CHECKING:
    import os

    from qwem.embedding import Embedding

Measure = Literal["cosine", "inner"]


@dataclass(frozen=True)
class SimilarityResult(Result):
    """Spearman's rank correlation of an embedding's similarities with people's ratings."""

    derived: ClassVar[tuple[str, ...]] = ("coverage",)
    name: str
    """The set of rated pairs."""
    spearman: float
    """ρ, the correlation of the ranks; equal values share their mean rank."""
    pairs: int
    """Pairs whose two words the embedding has."""
    skipped: int
    """Pairs with a word that the embedding does not have."""

    @property
    def coverage(self) -> float:
        """The fraction of all pairs that were scored."""
        return self.pairs / (self.pairs + self.skipped)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row."""
        scores = {"Spearman": self.spearman, "pairs": self.pairs, "skipped": self.skipped}
        return [{"rated pairs": self.name, **scores}]


def evaluate_similarity(
    embedding: Embedding,
    pairs: SimilaritySet | str | os.PathLike[str],
    *,
    measure: Measure = "cosine",
) -> SimilarityResult:
    """Correlate the similarities of word pairs with the ratings that people gave them.

    Parameters
    ----------
    embedding
        The embedding to evaluate. Pairs with a word that it does not have are skipped.
    pairs
        A `SimilaritySet`, or a file or benchmark that `read_similarity` reads.
    measure
        ``cosine``, as is usual, or ``inner``, the inner product of the paper's text.

    >>> from qwem.embedding import Embedding
    >>> plane = Embedding(["sun", "light", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> rated = SimilaritySet("two", (("sun", "light", 9), ("sun", "car", 1)))
    >>> round(evaluate_similarity(plane, rated).spearman, 4)
    1.0
    """
    from scipy.stats import spearmanr

    require_choice("measure", measure, get_args(Measure))
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
            "similar, so they have no rank correlation; use other pairs."
        )
    spearman = float(spearmanr(similarity, scores).statistic)
    return SimilarityResult(rated.name, spearman, len(known), len(rated) - len(known))
