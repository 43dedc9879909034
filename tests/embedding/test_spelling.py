"""Words by their spelling: the ridge regression against a dense twin, unseen words, saving."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from in_threads import in_threads
from qwem._internal.kernels import LANES
from qwem.corpus import Vocabulary
from qwem.embedding import Embedding, spell
from qwem.embedding.spelling import WORDS_PER_NGRAM, NgramRegression, incidence_of, ngrams_of
from qwem.errors import SettingError, UnknownWordError

if TYPE_CHECKING:
    from pathlib import Path

STEMS = ("walk", "talk", "jump", "climb", "sing", "paint", "print", "fold", "bend", "wash")
ENDINGS = ("", "s", "ed", "ing", "er", "able")
WORDS = tuple(stem + ending for ending in ENDINGS for stem in STEMS)


def some_words(dim: int = 5, seed: int = 0) -> Embedding:
    """Vectors that are the sum of a stem's and an ending's, with noise where words are rare."""
    rng = np.random.default_rng(seed)
    stems, endings = rng.normal(size=(len(STEMS), dim)), rng.normal(size=(len(ENDINGS), dim))
    vectors = np.array([stem + ending for ending in endings for stem in stems])
    counts = np.sort(rng.integers(5, 500, len(WORDS)))[::-1].astype(np.int64)
    noise = rng.normal(size=vectors.shape) * (10 / counts[:, None]) ** 0.5
    shrunk = (vectors + noise) * (counts / (counts + 100))[:, None]
    return Embedding(Vocabulary(WORDS, counts), shrunk)


@given(st.text(max_size=12))
def test_ngrams_are_all_substrings_of_four_to_six_letters(word: str) -> None:
    marked = f"<{word}>"
    expected = {
        marked[a:b]
        for a in range(len(marked))
        for b in range(a, len(marked) + 1)
        if 4 <= b - a <= 6
    }
    assert ngrams_of(word) == expected


def test_words_have_their_frequent_ngrams() -> None:
    ngrams, matrix = incidence_of(WORDS)
    dense = matrix.toarray()
    assert list(ngrams) == sorted(ngrams)
    for row, word in enumerate(WORDS):
        has = {ngrams[column] for column in np.flatnonzero(dense[row])}
        assert has == ngrams_of(word) & set(ngrams)
        np.testing.assert_allclose(np.sum(dense[row] ** 2), 1 if has else 0, rtol=1e-6)
    every = [ngram for word in WORDS for ngram in ngrams_of(word)]
    assert set(ngrams) == {ngram for ngram in every if every.count(ngram) >= WORDS_PER_NGRAM}


def test_regression_is_the_one_that_is_written() -> None:
    plain = some_words()
    spelled = spell(plain, evidence=50.0, ridge=3.0)
    assert spelled.spelling is not None
    _, matrix = incidence_of(WORDS)
    x, counts = matrix.toarray().astype(np.float64), plain.vocabulary.counts
    trust = counts / (counts + 50.0)
    asked = plain.vectors / trust[:, None]
    normal = (x.T * trust) @ x + 3.0 * np.eye(x.shape[1])
    solution = np.linalg.solve(normal, (x.T * trust) @ asked)
    predicted = x @ solution
    np.testing.assert_allclose(spelled.spelling.vectors, solution, atol=0.02 * abs(solution).max())
    np.testing.assert_allclose(
        spelled.vectors,
        plain.vectors + (1 - trust)[:, None] * predicted,
        atol=0.02 * abs(predicted).max(),
    )


def test_regression_goes_on_from_a_solution_for_similar_vectors() -> None:
    regression, rng = NgramRegression(WORDS), np.random.default_rng(0)
    vectors = rng.normal(size=(len(WORDS), LANES + 8)).astype(np.float32)
    weights = rng.uniform(0.1, 1, len(WORDS)).astype(np.float32)
    x = regression.incidence.toarray().astype(np.float64)
    normal = (x.T * weights) @ x + 2.0 * np.eye(x.shape[1])
    similar = (vectors + 0.03 * rng.normal(size=vectors.shape)).astype(np.float32)
    start = regression.solve(similar, weights, 2.0)
    before, solved = start.copy(), list[int]()
    exact = np.linalg.solve(normal, (x.T * weights) @ vectors)
    far, cold, warm = (
        np.linalg.norm(found - exact)
        for found in (
            start,
            regression.solve(vectors, weights, 2.0),
            regression.solve(vectors, weights, 2.0, start, solved.append),
        )
    )
    assert cold < 1e-4 * np.linalg.norm(exact)
    assert warm < 0.05 * far
    assert np.array_equal(start, before), "the start is not overwritten"
    assert sum(solved) == vectors.shape[1]


def test_unseen_words_are_near_their_kin() -> None:
    spelled = spell(some_words(), ridge=1.0)
    assert "walkers" not in spelled
    assert spelled.most_similar("walkers", topn=1)[0][0].startswith("walk")
    np.testing.assert_array_equal(spelled["walkers"], spelled.get_vector("walkers"))
    np.testing.assert_array_equal(spelled[["walk", "walkers"]][1], spelled.get_vector("walkers"))
    assert spelled.similarity("walkers", "walker") > spelled.similarity("walkers", "fold")
    (neighbours,) = spelled.most_similar_each(["walkers"], topn=1)
    assert neighbours == spelled.most_similar("walkers", topn=1)


def test_frequent_words_hardly_move() -> None:
    plain = some_words()
    spelled = spell(plain)
    moved = np.linalg.norm(spelled.vectors - plain.vectors, axis=1) / plain.norms
    assert moved[:5].mean() < 0.2 < moved[-5:].mean()


def test_a_word_without_known_ngrams_is_unknown() -> None:
    with pytest.raises(UnknownWordError, match="no part of its spelling"):
        spell(some_words()).get_vector("zzzzzz")
    with pytest.raises(UnknownWordError, match="close spellings"):
        some_words().get_vector("walkers")


def test_spelling_is_saved(tmp_path: Path) -> None:
    spelled = spell(some_words())
    spelled.save(tmp_path / "words")
    loaded = Embedding.load(tmp_path / "words")
    np.testing.assert_array_equal(loaded.get_vector("walkers"), spelled.get_vector("walkers"))
    assert loaded.provenance["spelling"] == {"evidence": 100.0, "ridge": 10.0}
    np.testing.assert_array_equal(
        loaded.restrict(3).get_vector("walkers"), spelled.get_vector("walkers")
    )


def test_results_have_the_same_bits_for_any_number_of_threads() -> None:
    one, two = (in_threads(count, lambda: spell(some_words())) for count in (1, 2))
    np.testing.assert_array_equal(one.vectors, two.vectors)


def test_vectors_without_counts_and_bad_settings_are_refused() -> None:
    with pytest.raises(SettingError, match="needs word counts"):
        spell(Embedding(["a", "b"], [[1.0], [2.0]]))
    with pytest.raises(SettingError, match="ridge"):
        spell(some_words(), ridge=0)
    with pytest.raises(SettingError, match="leave spelling out"):
        spell(Embedding(Vocabulary(("a", "b"), np.array([5, 4])), [[1.0], [2.0]]))
