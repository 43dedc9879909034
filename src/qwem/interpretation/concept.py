"""Test of whether an embedding represents a concept as one direction, with its details."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from qwem._internal.results import Result, as_plain
from qwem._internal.settings import require_whole
from qwem.interpretation.chance import (
    p_value_of_largest,
    pairing_products,
    shares_of_mean,
    shares_of_other_words,
)
from qwem.interpretation.task_vectors import (
    check_dims,
    known_task,
    localization,
    pair_rows,
    task_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.interpretation.tasks import Task

    Array = NDArray[np.float64]

Verdict = Literal["relation", "groups", "association", "none"]

# Features are listed until they carry this part of the mean task vector's squared length.
_CARRIED = 0.5


@dataclass(frozen=True)
class PairFit:
    """How well one pair follows the others."""

    source: str
    target: str
    cosine: float
    """Between its task vector and the mean of all others."""


@dataclass(frozen=True)
class CarryingFeature:
    """A feature that a concept is made of."""

    rank: int
    """Its place in the spectrum, from 1."""
    share: float
    """Its part of the mean task vector's squared length."""
    agreement: float
    """The part of the pairs whose task vector has the sign of the mean on it."""


@dataclass(frozen=True, eq=False, repr=False)
class ConceptTest(Result):
    """Result of a concept test: whether pairs share a direction, and whether pairing matters.

    >>> from qwem import Embedding
    >>> from qwem.interpretation import Task, concept_test
    >>> rng = np.random.default_rng(0)
    >>> names, vectors = [f"w{i}" for i in range(60)], rng.normal(size=(60, 8))
    >>> vectors[30:40] = vectors[20:30] + 3
    >>> shifted = Task("shifted", tuple(zip(names[20:30], names[30:40])))
    >>> concept_test(Embedding(names, vectors), shifted, draws=99).verdict
    'relation'
    """

    derived: ClassVar[tuple[str, ...]] = ("verdict", "best_dim", "evidence")
    task: Task
    """The pairs that were used; those with unknown words are in its `dropped`."""
    p_value: float
    """Of a shared direction. Null hypothesis: the words are random ones of similar frequency."""
    pairing_p_value: float
    """Of the pairing. Null hypothesis: first and second words are paired at random."""
    dims: tuple[int, ...]
    share: Array
    """N|r̄|²/Tr G for each d: the share of the mean in the task vectors' squared length."""
    expected_share: Array
    """Its mean over draws of other words of similar frequency."""
    spread: Array = field(repr=False)
    """Its standard deviation over these draws."""
    features: tuple[CarryingFeature, ...]
    """The features that carry half of the mean task vector in the best dimension."""
    pairs: tuple[PairFit, ...]
    """The pairs by how well they fit in the best dimension, the worst first."""
    draws: int

    def __repr__(self) -> str:
        return (
            f"ConceptTest({self.task.name}: {self.verdict}, p = {self.p_value:.2g} for a shared "
            f"direction, {self.pairing_p_value:.2g} for the pairing, clearest in dimension "
            f"{self.best_dim})"
        )

    @property
    def evidence(self) -> Array:
        """How far `share` lies above chance for each d, in standard deviations of chance."""
        return _excess(self.share, self.expected_share, self.spread)

    @property
    def best_dim(self) -> int:
        """The dimension in which the shared direction stands out most from chance."""
        return self.dims[int(np.argmax(self.evidence))]

    @property
    def verdict(self) -> Verdict:
        """The result of both tests at 5 %, in one word.

        ``relation``: the pairs share a direction and fit it better than other pairings of the same
        words, which is what analogies need. ``groups``: they share a direction only because first
        and second words are of two kinds, and any pairing would do. ``association``: partners are
        near each other but share no direction. ``none``: neither.
        """
        direction, pairing = self.p_value <= 0.05, self.pairing_p_value <= 0.05
        if direction:
            return "relation" if pairing else "groups"
        return "association" if pairing else "none"

    def heading(self) -> str:
        """Return the verdict and both p-values."""
        return (
            f"{self.task.name}: {self.verdict}; p = {self.p_value:.3g} for a shared direction, "
            f"{self.pairing_p_value:.3g} for the pairing; clearest in dimension {self.best_dim}.\n"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each pair, the worst fit first."""
        return [vars(pair) for pair in self.pairs]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold, with the task as its name and dropped pairs."""
        dropped = as_plain(self.task.dropped)
        return {**super().to_dict(), "task": self.task.name, "dropped": dropped}


def concept_test(
    embedding: Embedding,
    task: Task,
    dims: Iterable[int] | None = None,
    *,
    draws: int = 999,
    seed: int = 0,
) -> ConceptTest:
    """Test whether an embedding represents a concept, given by word pairs, as one direction.

    The statistic is the share of the mean task vector, N|r̄|², in Tr G. Its distribution under the
    null hypothesis is drawn from the embedding itself and not taken from random-matrix theory:
    differences of real words are anisotropic, and Tracy and Widom's law for white noise of
    dimension d, or d_eff, calls far too many random pairs significant. There are two null
    hypotheses, each with an exact test.

    - *Direction.* The words of the task are exchangeable with other words of similar frequency.
      Each is replaced by a random word of its class (ranks within a factor √2); a word that recurs
      in the task recurs in the draw. Rare words share a shift of their vectors, and this test does
      not mistake it for a concept.
    - *Pairing.* The second words are exchangeable among each other. Another pairing has the same
      mean task vector, so a difference between two groups of words, say capitals and countries, is
      not evidence here. The test asks whether the right partners fit the common difference better
      than wrong ones, by Σ a·b.

    The largest excess over all dimensions is compared with the largest by chance, so the p-values
    hold for any number of dimensions. On random pairs both are uniform.

    Parameters
    ----------
    embedding
        The largest embedding. Its first d dimensions must be the embedding of dimension d, as in a
        closed form or after `principal_axes`, and its words must be in order of frequency.
    task
        At least 3 of its pairs must be known; others are listed in ``test.task.dropped``.
    dims
        The dimensions to test; by default 20 from 4 to all, evenly spaced on a logarithmic scale.
    draws
        The number of random draws for each test; the smallest possible p-value is 1/(draws + 1).
    seed
        The seed of the draws.

    >>> from qwem.embedding import Embedding
    >>> from qwem.interpretation import Task
    >>> rng = np.random.default_rng(0)
    >>> names, vectors = [f"w{i}" for i in range(60)], rng.normal(size=(60, 8))
    >>> vectors[30:40] = vectors[20:30] + 3  # ten words, and what a concept makes of them
    >>> shifted = Task("shifted", tuple(zip(names[20:30], names[30:40])))
    >>> concept_test(Embedding(names, vectors), shifted, draws=99)
    ConceptTest(shifted: relation, p = 0.01 for a shared direction, 0.01 for the pairing, \
clearest in dimension 8)
    """
    require_whole("draws", draws, least=1)
    require_whole("seed", seed, least=0)
    known = known_task(embedding, task)
    chosen = check_dims(dims, embedding.vector_size)
    pairs = pair_rows(embedding, known)
    vectors = task_vectors(embedding, known)
    rng = np.random.default_rng(seed)
    share = shares_of_mean(vectors, chosen)
    others = shares_of_other_words(embedding.vectors, pairs, chosen, draws, rng)
    sources, targets = (embedding.vectors[side] for side in pairs)
    products = pairing_products(sources, targets, chosen, draws, rng)
    expected, spread = others.mean(axis=0), others.std(axis=0)
    best = vectors[:, : chosen[int(np.argmax(_excess(share, expected, spread)))]]
    return ConceptTest(
        task=known,
        p_value=p_value_of_largest(share, others),
        pairing_p_value=p_value_of_largest(*products),
        dims=chosen,
        share=share,
        expected_share=expected,
        spread=spread,
        features=_carrying(best),
        pairs=_fits(known, best),
        draws=draws,
    )


def _excess(share: Array, expected: Array, spread: Array) -> Array:
    return np.divide(share - expected, spread, out=np.zeros_like(share), where=spread > 0)


def _carrying(vectors: Array) -> tuple[CarryingFeature, ...]:
    """Return the fewest features that carry half of the mean task vector."""
    shares = localization(vectors)
    order = np.argsort(-shares, kind="stable")
    count = int(np.searchsorted(np.cumsum(shares[order]), _CARRIED)) + 1
    signs = np.sign(vectors.mean(axis=0))
    agreement = np.mean(np.sign(vectors) == signs, axis=0)
    return tuple(
        CarryingFeature(int(place) + 1, float(shares[place]), float(agreement[place]))
        for place in order[:count]
    )


def _fits(task: Task, vectors: Array) -> tuple[PairFit, ...]:
    """Return each pair's cosine with the mean of the others, the worst first."""
    others = vectors.sum(axis=0) - vectors
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(others, axis=1)
    products = np.einsum("nk,nk->n", vectors, others)
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    return tuple(
        PairFit(task.pairs[place][0], task.pairs[place][1], float(cosines[place]))
        for place in np.argsort(cosines, kind="stable")
    )
