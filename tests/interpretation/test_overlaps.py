"""Overlaps of features: what they don't depend on, and against slower ways to the same numbers."""

from __future__ import annotations

import json
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import subspace_angles

from qwem import Embedding, fit
from qwem.errors import SettingError
from qwem.interpretation import overlaps, principal_axes

if TYPE_CHECKING:
    from qwem import Corpus
    from qwem.interpretation.features import Overlaps

SEEDS = st.integers(0, 2**32 - 1)


def random_embedding(seed: int, words: int = 30, dim: int = 5) -> Embedding:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(words, dim)) * np.geomspace(1, 0.2, dim)
    return Embedding([f"w{i}" for i in range(words)], vectors)


def left_vectors(embedding: Embedding) -> Any:
    return np.linalg.svd(embedding.vectors.astype(np.float64), full_matrices=False)[0]


@given(seed=SEEDS)
def test_an_embedding_shares_everything_with_itself_rotated_and_scaled(seed: int) -> None:
    a = random_embedding(0)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0]
    found = overlaps(a, Embedding(a.vocabulary, 3 * a.vectors @ turn))
    np.testing.assert_allclose(found.squared, np.eye(5), atol=1e-5)
    np.testing.assert_allclose(found.subspace_similarity, 1, atol=1e-5)
    assert found.match.tolist() == [0, 1, 2, 3, 4]


@given(seed=SEEDS)
def test_similarity_is_the_mean_squared_cosine_of_principal_angles(seed: int) -> None:
    a, b = random_embedding(seed), random_embedding(seed + 1, dim=7)
    found = overlaps(a, b)
    one, other = left_vectors(a), left_vectors(b)
    for d in range(1, 6):
        angles = subspace_angles(one[:, :d], other[:, :d])
        assert found.subspace_similarity[d - 1] == pytest.approx(np.mean(np.cos(angles) ** 2))
    np.testing.assert_allclose(found.squared, (one.T @ other[:, :5]) ** 2, atol=1e-10)


@given(seed=SEEDS)
def test_no_other_matching_is_better(seed: int) -> None:
    found = overlaps(random_embedding(seed, words=8), random_embedding(seed + 1, words=8), dim=4)
    best = max(sum(found.squared[range(4), order]) for order in permutations(range(4)))
    assert found.matched.sum() == pytest.approx(best)
    assert sorted(found.match) == [0, 1, 2, 3]


def test_exchanged_features_are_found() -> None:
    columns = np.linalg.qr(np.random.default_rng(0).normal(size=(20, 3)))[0]
    words = [f"w{i}" for i in range(20)]
    a, b = (Embedding(words, columns * weights) for weights in ([3, 2, 1], [3, 1, 2]))
    found = overlaps(a, b)
    assert found.match.tolist() == [0, 2, 1]
    np.testing.assert_allclose(found.matched, 1, atol=1e-5)
    np.testing.assert_allclose(found.subspace_similarity, [1, 0.5, 1], atol=1e-5)


def test_different_words_are_aligned_and_restricted_first() -> None:
    a, b = random_embedding(1), random_embedding(2)
    rows = np.random.default_rng(3).permutation(30)[:20]
    other = Embedding(
        [*(f"w{i}" for i in rows), "elsewhere"], np.vstack([b.vectors[rows], 9 * np.ones(5)])
    )
    found = overlaps(a, other)
    kept = np.sort(rows)
    assert found.words == tuple(f"w{i}" for i in kept)
    one, two = (Embedding(found.words, side.vectors[kept]) for side in (a, b))
    np.testing.assert_allclose(found.squared, overlaps(one, two).squared, atol=1e-10)


def test_directions_that_are_not_there_are_not_compared() -> None:
    a = random_embedding(0)
    flat = Embedding(a.vocabulary, a.vectors[:, [0, 1, 1]])
    assert overlaps(a, flat).dim == 2
    with pytest.raises(SettingError, match="between 1 and 2"):
        overlaps(a, flat, dim=3)


def test_nothing_in_common() -> None:
    with pytest.raises(SettingError, match="share no word"):
        overlaps(Embedding(["a"], [[1.0]]), Embedding(["b"], [[1.0]]))


def test_it_says_what_it_found() -> None:
    a = random_embedding(0)
    found = overlaps(a, a, dim=3)
    assert repr(found) == (
        "Overlaps(the first 3 features over 30 words: subspace similarity 1.000, matched 1.000)"
    )
    report = json.loads(json.dumps(found.to_dict()))
    assert report["matched_rank"] == [1, 2, 3]
    assert report["shared_words"] == 30


def ppmi_beside_mstar(corpus: Corpus) -> Overlaps:
    targets: tuple[Literal["mstar", "ppmi"], ...] = ("mstar", "ppmi")
    a, b = (
        fit(corpus.restrict(1_000), target=target, preset="paper", dim=30).embedding()
        for target in targets
    )
    return overlaps(a, b)


def test_ppmi_learns_the_features_of_mstar_after_one_of_its_own(text_corpus: Corpus) -> None:
    """As in the paper's figure: PPMI's leading feature has no counterpart, the next ones do."""
    shared = ppmi_beside_mstar(text_corpus).subspace_similarity
    assert shared[0] < 0.2
    assert shared[9] > 0.6


@pytest.mark.real_text
def test_ppmi_learns_the_features_of_real_text_in_the_order_of_mstar(text_corpus: Corpus) -> None:
    assert ppmi_beside_mstar(text_corpus).match[:2].tolist() == [1, 2]


@given(seed=SEEDS)
def test_principal_axes_keep_all_angles_and_sort_the_features(seed: int) -> None:
    a = random_embedding(seed)
    turned = principal_axes(a)
    np.testing.assert_allclose(
        turned.vectors @ turned.vectors.T, a.vectors @ a.vectors.T, atol=1e-5
    )
    gram = turned.vectors.T @ turned.vectors
    np.testing.assert_allclose(gram, np.diag(np.diagonal(gram)), atol=1e-4)
    assert np.all(np.diff(np.diagonal(gram)) <= 0)
