"""The closed form over words × contexts, next to the symmetric one from which polishing starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem import Cooccurrence, fit
from qwem.cooccurrence import Slot
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.corpus import Vocabulary
from qwem.polish.loss import Statistics
from qwem.polish.polished import closed_sides
from qwem.polish.sweep import with_passages
from qwem.target import mstar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

WORDS, DIM = 12, 3


def kinds_of_context() -> list[Array]:
    """Counts of words after, words before and words farther away, every pair seen."""
    rng = np.random.default_rng(0)
    topics = rng.gamma(0.5, size=(WORDS, 4))
    after = topics @ rng.gamma(0.5, size=(4, 4)) @ topics.T + 0.1
    far = topics @ topics.T + 0.1
    return [after, after.T, 3 * far]


def target(counts: Array, of_words: Array, of_contexts: Array, total: float) -> Array:
    expected = np.outer(of_words, of_contexts) / total
    return 2 * (counts - expected) / (counts + expected)


def directed_targets(kinds: list[Array]) -> tuple[list[Array], Array, Array]:
    """M_k for each kind of context, their shares, and M* of all of them together."""
    whole = np.sum(kinds, axis=0)
    words, total = whole.sum(axis=1), whole.sum()
    shares = np.array([kind.sum() for kind in kinds]) / total
    blocks = [target(kind, words, kind.sum(axis=0), total) for kind in kinds]
    return blocks, shares, target(whole, words, whole.sum(axis=0), total)


def leading(matrix: Array) -> Array:
    """The projection onto the leading left singular vectors."""
    left = np.linalg.svd(matrix)[0][:, :DIM]
    projection: Array = left @ left.T
    return projection


def test_left_singular_vectors_see_slots_only_through_their_differences() -> None:
    blocks, shares, _ = directed_targets(kinds_of_context())
    directed = np.hstack(
        [np.sqrt(share) * each for share, each in zip(shares, blocks, strict=True)]
    )
    mean = np.tensordot(shares, blocks, axes=1)
    rest = sum(
        share * (each - mean) @ (each - mean).T for share, each in zip(shares, blocks, strict=True)
    )
    np.testing.assert_allclose(directed @ directed.T, mean @ mean.T + rest, atol=1e-12)


def test_the_directed_closed_form_is_the_symmetric_one_to_first_order() -> None:
    """If slots differ half as much, both differ from M* and its eigenvectors a quarter as much."""
    kinds = kinds_of_context()
    whole = np.sum(kinds, axis=0)
    distances = []
    for size in (0.02, 0.01):
        moved = [kind.sum() / whole.sum() * whole * (1 - size) + size * kind for kind in kinds]
        blocks, shares, mstar = directed_targets(moved)
        mean = np.tensordot(shares, blocks, axes=1)
        directed = np.hstack(
            [np.sqrt(share) * each for share, each in zip(shares, blocks, strict=True)]
        )
        distances.append(
            [
                np.linalg.norm(mean - mstar),
                np.linalg.norm(leading(directed) - leading(mstar)),
                np.linalg.norm(blocks[0] - mstar),
            ]
        )
    ratios = np.array(distances[0]) / np.array(distances[1])
    np.testing.assert_allclose(ratios, [4, 4, 2], rtol=0.05)


def test_polishing_starts_from_the_directed_closed_form_of_equal_slots() -> None:
    counts = np.random.default_rng(1).integers(1, 60, (WORDS, WORDS))
    pairs = PairCounts.from_matrix(counts + counts.T)
    words = Vocabulary(tuple(f"w{i:02}" for i in range(WORDS)), np.full(WORDS, 9))
    slot = Slot(None, directed=False)
    twice = Cooccurrence(words, (pairs, pairs), (slot, slot))
    spectrum = fit(twice, polish=False, signed=True, shrinkage=0, coupling=0, dim=DIM).spectrum
    word, context = closed_sides(spectrum)
    contexts = with_passages(context, Statistics.of(twice)).vectors
    found = [word @ contexts[kind::2].T for kind in (0, 1)]
    values = spectrum.eigenvalues
    assert values.min() < 0 < values.max()
    left, singular, right = np.linalg.svd(np.hstack([mstar(twice).toarray()] * 2))
    best = (left[:, :DIM] * singular[:DIM]) @ right[:DIM]
    np.testing.assert_allclose(np.hstack(found), best, atol=1e-4)
