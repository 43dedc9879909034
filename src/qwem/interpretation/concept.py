"""Test of whether an embedding represents a concept as one direction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from qwem._internal.arrays import blocks, quotient
from qwem._internal.results import Result, ShownTable, as_plain
from qwem._internal.settings import require_whole
from qwem.interpretation.tasks import (
    carriers,
    check_dims,
    dim_ranges,
    known_task,
    localization,
    pair_rows,
    task_vectors,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding
    from qwem.interpretation.tasks import Task

    Array = NDArray[np.float64]
    Rows = NDArray[np.int64]

# Classes of similar frequency: the 64 most frequent words, and then each class ends at √2 times the
# rank at which it begins, so that its frequencies differ by a factor of about √2.
_FIRST_CLASS = 64

# Entries of the task vectors that are computed at a time.
_BATCH_ENTRIES = 1 << 19


def shares_of_mean(vectors: NDArray[np.floating], dims: Sequence[int]) -> Array:
    """Return N|r̄_d|²/Tr G_d for each d: the share of the mean in the task vectors' squared length.

    It equals SNR × signal in mean / rank. It is 1 where all task vectors are the same, and 1/N on
    average where their directions are random. Leading axes of `vectors` hold several tasks.

    >>> shares_of_mean(np.array([[2.0, 1.0], [2.0, -1.0]]), (1, 2))
    array([1. , 0.8])
    """
    starts = [added.start for added in dim_ranges(dims)]
    used = vectors[..., : dims[-1]].astype(np.float64)
    means = used.shape[-2] * used.mean(axis=-2) ** 2
    squares = np.einsum("...nk,...nk->...k", used, used)
    signal, total = (
        np.add.reduceat(each, starts, axis=-1).cumsum(axis=-1) for each in (means, squares)
    )
    return quotient(signal, total)


def shares_of_other_words(
    vectors: NDArray[np.float32],
    pairs: tuple[Rows, Rows],
    dims: Sequence[int],
    draws: int,
    rng: np.random.Generator,
) -> Array:
    """Return `shares_of_mean` of tasks whose words are replaced by others of similar frequency.

    Each word of the task is replaced by a random word of its class, and different words by
    different ones. So a word that occurs in several pairs still does. There is one row per draw.
    """
    words, places = np.unique(np.concatenate(pairs), return_inverse=True)
    chosen = np.empty((draws, len(words)), dtype=np.int64)
    for members, begin, end in _classes(words, len(vectors)):
        chosen[:, members] = begin + _distinct(draws, len(members), end - begin, rng)
    first, second = np.split(chosen[:, places], 2, axis=1)
    batches = blocks(draws, len(pairs[0]) * dims[-1], most=_BATCH_ENTRIES)
    used = vectors[:, : dims[-1]]
    return np.concatenate(
        [shares_of_mean(used[second[batch]] - used[first[batch]], dims) for batch in batches]
    )


def pairing_products(
    sources: NDArray[np.float32],
    targets: NDArray[np.float32],
    dims: Sequence[int],
    draws: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Return Σ_n a_n·b_n for each d, for the task and for `draws` random pairings of its words.

    The a_n are the rows of `sources`, and the b_n those of `targets`.
    In Tr G = Σ|a|² + Σ|b|² − 2Σ a·b, another pairing changes the last term alone, and it does not
    change the mean task vector. So this sum orders pairings as `shares_of_mean` does.
    """
    count = len(sources)
    pairings = rng.permuted(np.tile(np.arange(count), (draws, 1)), axis=1)
    inner = np.zeros((count, count))
    observed, others = [], []
    for added in dim_ranges(dims):
        first = sources[:, added].astype(np.float64)
        inner = inner + first @ targets[:, added].T.astype(np.float64)
        observed.append(np.trace(inner))
        others.append(inner[np.arange(count), pairings].sum(axis=1))
    return np.array(observed), np.array(others).T


def p_value_of_largest(observed: Array, chance: Array) -> float:
    """Return the p-value of the largest standardized value over all d.

    For each d, values are standardized by the mean and spread of draws and observation together.
    The largest value over d of the observation is then compared with those of the draws. Since the
    draws and the observation are treated alike, the p-value is exact for any number of d and draws.

    >>> p_value_of_largest(np.array([3.0]), np.array([[0.0], [1.0], [2.0]]))
    0.25
    """
    pooled = np.vstack([observed, chance])
    scores = quotient(pooled - pooled.mean(axis=0), pooled.std(axis=0))
    largest = scores.max(axis=1)
    # A draw that equals the observation up to rounding counts as equal.
    return float(np.mean(largest >= largest[0] - 1e-9))


def _classes(words: Rows, vocab_size: int) -> Iterator[tuple[Rows, int, int]]:
    """Yield for each class of similar frequency the indices of its words and its range of ranks."""
    begin, end = 0, min(_FIRST_CLASS, vocab_size)
    while begin < vocab_size:
        members = np.flatnonzero((words >= begin) & (words < end))
        if len(members):
            yield members, begin, end
        begin, end = end, min(int(np.ceil(end * np.sqrt(2))), vocab_size)


def _distinct(draws: int, count: int, size: int, rng: np.random.Generator) -> Rows:
    """Return `draws` rows of `count` different numbers below `size`, all rows equally likely."""
    if count**2 > size:
        return np.array([rng.choice(size, count, replace=False) for _ in range(draws)])
    # Few numbers rarely repeat. Redrawing only the rows with repeats is exact, and faster.
    rows = rng.integers(size, size=(draws, count))
    repeated = np.arange(draws)
    while len(repeated):
        ordered = np.sort(rows[repeated], axis=1)
        repeated = repeated[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        rows[repeated] = rng.integers(size, size=(len(repeated), count))
    return rows


Verdict = Literal["relation", "groups", "association", "none"]
MEANINGS: dict[Verdict, str] = {
    "relation": "a shared direction, and the right pairs fit it better than wrong ones",
    "groups": "a shared direction between two kinds of words, whichever is paired with which",
    "association": "partners are near each other, but share no direction",
    "none": "no more in common than random words of similar frequency",
}
SHOWN_PAIRS = 5
"""How many pairs are shown that fit worst, and how many that fit best."""


@dataclass(frozen=True)
class PairFit:
    """How well one pair agrees with the others."""

    source: str
    target: str
    cosine: float
    """Between its task vector and the mean of all others."""


@dataclass(frozen=True)
class CarryingFeature:
    """A feature that carries a part of a concept."""

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
        return quotient(self.share - self.expected_share, self.spread)

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
        """Return the verdict and its meaning, both p-values, and how many pairs are known."""
        used, dropped = len(self.task), len(self.task.dropped)
        return (
            f"{self.task.name}: {self.verdict}, {MEANINGS[self.verdict]}.\n"
            f"p = {self.p_value:.3g} for a shared direction, {self.pairing_p_value:.3g} for the "
            f"pairing; clearest in dimension {self.best_dim}; {used} of {used + dropped} pairs "
            "have known words.\n"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each pair, the worst fit first."""
        return [vars(pair) for pair in self.pairs]

    def shown(self) -> ShownTable:
        """Return the pairs that fit worst and those that fit best."""
        rows = self.rows()
        few = len(rows) <= 2 * SHOWN_PAIRS
        return ShownTable(self.heading(), rows if few else rows[:SHOWN_PAIRS] + rows[-SHOWN_PAIRS:])

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON, with the task as its name and dropped pairs."""
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
    best = vectors[:, : chosen[int(np.argmax(quotient(share - expected, spread)))]]
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


def _carrying(vectors: Array) -> tuple[CarryingFeature, ...]:
    """Return the fewest features that carry half of the mean task vector."""
    shares = localization(vectors)
    signs = np.sign(vectors.mean(axis=0))
    agreement = np.mean(np.sign(vectors) == signs, axis=0)
    return tuple(
        CarryingFeature(int(place) + 1, float(shares[place]), float(agreement[place]))
        for place in carriers(shares)
    )


def _fits(task: Task, vectors: Array) -> tuple[PairFit, ...]:
    """Return each pair's cosine with the mean of the others, the worst first."""
    others = vectors.sum(axis=0) - vectors
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(others, axis=1)
    cosines = quotient(np.einsum("nk,nk->n", vectors, others), lengths)
    return tuple(
        PairFit(task.pairs[place][0], task.pairs[place][1], float(cosines[place]))
        for place in np.argsort(cosines, kind="stable")
    )
