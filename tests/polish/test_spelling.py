"""Spelling as a prior: how strong it is, and where it expects rare words."""

from __future__ import annotations

import numpy as np
import pytest

import qwem
from qwem import Vocabulary
from qwem.embedding.spelling import incidence_of
from qwem.errors import SettingError
from qwem.polish.polishing import MOST_EXPLAINED, SpellingPrior

STEMS = [f"{a}{b}{c}{d}" for a in "bdfgk" for b in "aeiou" for c in "lmnrt" for d in "pst"]
ENDINGS = ("", "ing", "ings", "able", "ness", "less")
WORDS = tuple(stem + ending for ending in ENDINGS for stem in STEMS)
DIM, EVIDENCE = 6, 100.0


def some_vectors(explained: float, seed: int = 0) -> tuple[Vocabulary, np.ndarray]:
    """Shrunk vectors of which spelling explains a share of the variance, apart from noise."""
    rng = np.random.default_rng(seed)
    counts = np.sort(rng.geometric(0.003, len(WORDS)) + 4)[::-1]
    stems, endings = (rng.normal(size=(len(part), DIM)) for part in (STEMS, ENDINGS))
    spelled = np.array([a + b for b in endings for a in stems]) / np.sqrt(2)
    own = rng.normal(size=spelled.shape)
    true = np.sqrt(explained) * spelled + np.sqrt(1 - explained) * own
    seen = true + rng.normal(size=true.shape) * np.sqrt(EVIDENCE / counts)[:, None]
    shrunk = seen * (counts / (counts + EVIDENCE))[:, None]
    return Vocabulary(WORDS, counts.astype(np.int64)), shrunk.astype(np.float32)


def learned(explained: float) -> SpellingPrior:
    vocabulary, vectors = some_vectors(explained)
    prior = SpellingPrior(vocabulary, EVIDENCE)
    prior.learn(vectors, np.eye(DIM))
    return prior


def test_it_is_as_strong_as_spelling_predicts_words_it_was_not_made_of() -> None:
    """κ = e/(1 − ρ): what is left to be learned from text has the share 1 − ρ of the variance."""
    strong, weak, none = (learned(explained).settings for explained in (0.9, 0.5, 0.0))
    assert 0.5 < strong["explained"] < 0.9
    assert 0.2 < weak["explained"] < 0.5
    assert none["explained"] < 0.02
    for found in (strong, weak, none):
        assert found["evidence"] == pytest.approx(EVIDENCE / (1 - found["explained"]))
    assert none["ridge"] > strong["ridge"]
    assert strong["explained"] <= MOST_EXPLAINED


def test_rare_words_are_expected_where_their_kin_is() -> None:
    vocabulary, vectors = some_vectors(0.9)
    prior = learned(0.9)
    assert prior.means is not None
    trust = vocabulary.counts / (vocabulary.counts + EVIDENCE)
    asked = vectors / trust[:, None]
    rare = vocabulary.counts < 30
    truth = some_vectors_without_noise()
    assert np.mean((prior.means - truth)[rare] ** 2) < 0.5 * np.mean((asked - truth)[rare] ** 2)
    assert np.mean((prior.means - truth)[rare] ** 2) < 0.7 * np.mean(truth[rare] ** 2)


def some_vectors_without_noise() -> np.ndarray:
    rng = np.random.default_rng(0)
    rng.geometric(0.003, len(WORDS))
    stems, endings = (rng.normal(size=(len(part), DIM)) for part in (STEMS, ENDINGS))
    spelled = np.array([a + b for b in endings for a in stems]) / np.sqrt(2)
    return np.sqrt(0.9) * spelled + np.sqrt(0.1) * rng.normal(size=spelled.shape)


def test_what_text_asks_for_is_regressed_with_the_inverse_of_its_variance() -> None:
    """Against a dense twin, from an expectation that is not zero."""
    vocabulary, vectors = some_vectors(0.5)
    prior = SpellingPrior(vocabulary, EVIDENCE)
    means = np.full_like(vectors, 0.25)
    prior.resume(means, {"evidence": 150.0, "ridge": 3.0})
    prior.learn(vectors, np.eye(DIM))
    assert prior.ngram_vectors is not None
    assert prior.means is not None
    counts = vocabulary.counts
    trust = counts / (counts + EVIDENCE)
    centre = trust @ vectors / trust.sum()
    own = vectors + 150.0 / counts[:, None] * (vectors - 0.25) - centre
    x = incidence_of(WORDS)[1].toarray().astype(np.float64)
    weights = counts / (counts + 150.0)
    normal = (x.T * weights) @ x + 3.0 * np.eye(x.shape[1])
    expected = np.linalg.solve(normal, (x.T * weights) @ own)
    assert np.abs(x @ (prior.ngram_vectors - expected)).max() < 0.05 * np.abs(x @ expected).max()
    half = (means + x @ prior.ngram_vectors + centre) / 2
    np.testing.assert_allclose(prior.means, half, atol=1e-4)


def test_threads_do_not_matter() -> None:
    with qwem.threads(1):
        one = learned(0.5).means
    with qwem.threads(2):
        two = learned(0.5).means
    assert one is not None
    assert two is not None
    assert one.tobytes() == two.tobytes()


def test_a_vocabulary_without_shared_ngrams_is_refused() -> None:
    with pytest.raises(SettingError, match="leave spelling out"):
        SpellingPrior(Vocabulary(("a", "b"), np.array([5, 4])), EVIDENCE)
