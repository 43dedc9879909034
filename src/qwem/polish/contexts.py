"""Words × contexts: the counts that are polished, and the context side of what was learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence

    Vector: TypeAlias = NDArray[np.float64]


class Statistics(NamedTuple):
    """What the loss depends on beside the pairs that were seen.

    Each word gives K contexts, one for each side of a directed slot and one for each symmetric slot
    of the counts. Column K·j + k of words × contexts is context k of word j.
    """

    word_counts: NDArray[np.int64]
    word_sums: Vector
    """s_i = Σ_c C_ic, the pairs of each word."""
    context_sums: Vector
    """Σ_i C_ic, the pairs of each context."""
    pairs: int
    """How many pairs of a word and a context were seen."""

    @classmethod
    def of(cls, counts: Cooccurrence) -> Statistics:
        """Return the sums of counts."""
        by_context = []
        for slot, matrix in zip(counts.slots, counts.matrices, strict=True):
            sides = [matrix.column_sums, matrix.row_sums] if slot.directed else [matrix.row_sums]
            by_context += [side.astype(np.float64) for side in sides]
        return cls(
            counts.word_counts,
            counts.pair_sums.astype(np.float64),
            np.stack(by_context, axis=1).ravel(),
            sum(
                slot.contexts * matrix.nnz
                for slot, matrix in zip(counts.slots, counts.matrices, strict=True)
            ),
        )

    @property
    def shares(self) -> Vector:
        """The share of the pairs that each of a word's contexts has, over all words."""
        by_kind = self.context_sums.reshape(len(self.word_counts), -1).sum(axis=0)
        return by_kind / by_kind.sum()


@dataclass(frozen=True, eq=False)
class Contexts:
    """The context side of a polished model: all that the loss of one word's row depends on.

    The symbols are those of `qwem.polish.loss.Word2vecLoss`, of which a row's loss is one term.
    Contexts stand word by word, those of a word side by side.
    """

    vectors: NDArray[np.float32] = field(repr=False)
    """W′, a row for each context."""
    bias: Vector = field(repr=False)
    """b_c, the logit of independence."""
    noise: Vector = field(repr=False)
    """q_c, the share of each context among the negative samples."""
    negatives: float
    """word2vec's k."""
    evidence: float = 0.0
    """How many pairs of independence were added to each word."""

    @property
    def probability(self) -> Vector:
        """P_c, the share of each context among all pairs."""
        return np.exp(self.bias) * self.negatives * self.noise

    @cached_property
    def slope(self) -> Vector:
        """σ(b_c), the slope of softplus at independence."""
        return np.exp(-np.logaddexp(0, -self.bias))

    @cached_property
    def curvature(self) -> Vector:
        """σ′(b_c), the curvature of softplus at independence."""
        return self.slope * (1 - self.slope)

    @cached_property
    def gram(self) -> Vector:
        """The curvature of the parabolas of all contexts together, for each pair of a word."""
        weights = self.negatives * self.noise * self.curvature
        return (self.vectors.T * weights) @ self.vectors.astype(np.float64)

    @cached_property
    def constant(self) -> Vector:
        """The slope of the same at zero."""
        return (self.negatives * self.noise * self.slope) @ self.vectors
