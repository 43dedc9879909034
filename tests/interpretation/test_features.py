"""Features: the right words, the right numbers, whatever the source, in every format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwem import Cooccurrence, Corpus, Embedding, Spectrum, factorize, fit, mstar
from qwem.dynamics import closed_form
from qwem.errors import SettingError
from qwem.interpretation import features
from qwem.target import rank_one, setting31
from small_wiki import topic_words

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.interpretation.features import Feature

SIZE = 40


def random_counts(seed: int = 0) -> Cooccurrence:
    matrix = np.random.default_rng(seed).poisson(3.0, (SIZE, SIZE))
    return Cooccurrence.from_matrix([f"w{i}" for i in range(SIZE)], matrix + matrix.T)


@pytest.fixture(scope="module")
def spectrum() -> Spectrum:
    return factorize(mstar(random_counts()), 6)


def words_of(feature: Feature) -> tuple[list[str], list[str]]:
    return [word for word, _ in feature.positive], [word for word, _ in feature.negative]


def test_the_words_have_the_largest_cosines_with_their_axis(spectrum: Spectrum) -> None:
    embedding = spectrum.embedding()
    vectors = embedding.vectors.astype(np.float64)
    cosines = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for k, feature in enumerate(features(spectrum, 6, topn=4).features):
        order = np.argsort(-cosines[:, k])
        assert words_of(feature)[0] == [embedding.index_to_key[i] for i in order[:4]]
        assert words_of(feature)[1] == [embedding.index_to_key[i] for i in order[::-1][:4]]
        np.testing.assert_allclose([c for _, c in feature.positive], cosines[order[:4], k])
        np.testing.assert_allclose([c for _, c in feature.negative], -cosines[order[::-1][:4], k])


def test_the_numbers_are_those_of_the_spectrum(spectrum: Spectrum) -> None:
    table = features(spectrum, 6, init_scale=1e-3)
    found = table.features
    np.testing.assert_allclose([f.eigenvalue for f in found], spectrum.eigenvalues)
    assert sum(f.share for f in found) == pytest.approx(1)
    times = closed_form(spectrum, init_scale=1e-3).learning_times
    assert [f.learning_time for f in found] == pytest.approx(times)
    fourth = [sum(x**4 for x in column) for column in spectrum.eigenvectors.T.tolist()]
    np.testing.assert_allclose([f.concentration for f in found], fourth, rtol=1e-5)
    assert [f.rank for f in found] == [1, 2, 3, 4, 5, 6]
    assert (table.vocab_size, table.dim, table.most_frequent) == (SIZE, 6, SIZE)


@given(seed=st.integers(0, 2**32 - 1))
def test_vectors_alone_have_the_same_features_however_they_are_rotated(seed: int) -> None:
    spectrum = factorize(mstar(random_counts()), 4)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]
    turned = Embedding(spectrum.vocabulary, spectrum.embedding().vectors @ turn)
    for a, b in zip(features(spectrum, 4).features, features(turned, 4).features, strict=True):
        assert words_of(a) == words_of(b)
        assert b.eigenvalue == pytest.approx(a.eigenvalue, rel=1e-4)
        assert b.share == pytest.approx(a.share, rel=1e-4)
        assert b.concentration == pytest.approx(a.concentration, rel=1e-3)
        assert b.learning_time is None


@pytest.mark.parametrize("k", [1, 3, 8])
def test_participation_is_the_number_of_equal_words(k: int) -> None:
    vectors = np.zeros((8, 2))
    vectors[:k, 0] = 1
    vectors[:, 1] = 1e-3 * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    feature = features(Embedding("abcdefgh", vectors), 1).features[0]
    assert feature.participation == pytest.approx(k, rel=1e-3)


def test_a_feature_that_all_words_share_has_one_end() -> None:
    feature = features(Embedding(["a", "b", "c"], [[3, 0], [2, 1], [2, -1]]), 1).features[0]
    assert words_of(feature) == (["a", "b", "c"], [])


def test_only_frequent_words_are_named(spectrum: Spectrum) -> None:
    table = features(spectrum, 2, topn=SIZE, most_frequent=7)
    frequent = set(spectrum.vocabulary.words[:7])
    for feature in table.features:
        named = {*words_of(feature)[0], *words_of(feature)[1]}
        assert named
        assert named <= frequent
    everybody = features(spectrum, 1, topn=SIZE, most_frequent=None).features[0]
    assert 7 < len(everybody.positive) + len(everybody.negative) <= SIZE


def test_a_word_that_is_hardly_on_a_feature_lies_at_neither_end() -> None:
    embedding = Embedding(["a", "b", "c"], [[3, 0.0], [2, 1.0], [-0.04, 1.0]])
    feature = features(embedding, 1).features[0]
    found = {each.word: each.cosine for each in (*feature.positive, *feature.negative)}
    assert "a" in found
    assert all(cosine > 0.05 for cosine in found.values())


def test_signed_and_coupled_spectra() -> None:
    counts = random_counts()
    signed = factorize(mstar(counts), 6, signed=True)
    found = features(signed, 6).features
    np.testing.assert_allclose([f.eigenvalue for f in found], signed.eigenvalues)
    assert min(f.eigenvalue for f in found) < 0
    assert sum(f.share for f in found) == pytest.approx(1)
    weights = counts.word_counts / counts.word_counts.sum()
    coupled = factorize(mstar(counts, reweighting=setting31() * rank_one(weights)), 3)
    times = closed_form(coupled, init_scale=1e-6).learning_times
    assert [f.learning_time for f in features(coupled, 3).features] == pytest.approx(times)


def test_features_of_a_model_are_those_of_its_closed_form() -> None:
    for polish in (False, True):
        model = fit(random_counts(), dim=3, polish=polish)
        assert features(model, 2) == features(model.spectrum, 2)


def test_every_format_holds_odd_words() -> None:
    words = ["<script>", "a|b", "*", "two\nlines"]
    table = features(Embedding(words, np.eye(4)[:, :2] + 0.1), 2)
    page = table.to_html()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert page.count("<tr>") == 3
    lines = table.to_markdown().splitlines()
    assert len(lines) == 4
    assert {line.replace("\\|", "").count("|") for line in lines} == {9}
    assert len(table.to_text().splitlines()) == 8
    back = json.loads(json.dumps(table.to_dict()))
    assert back["features"][0]["positive"][0]["word"] == table.features[0].positive[0][0]


@pytest.mark.parametrize("count", [0, 3])
def test_a_count_that_there_is_not(count: int) -> None:
    flat = Embedding(["a", "b", "c"], [[1, 1, 0], [0, 0, 1], [1, 1, 1]])  # of rank two
    with pytest.raises(SettingError, match="2 features"):
        features(flat, count)


def test_words_to_name_must_be_some(spectrum: Spectrum) -> None:
    with pytest.raises(SettingError, match="most_frequent must be at least 1"):
        features(spectrum, 1, most_frequent=0)


def test_vectors_of_nothing() -> None:
    with pytest.raises(SettingError, match="all zero"):
        features(Embedding(["a", "b"], np.zeros((2, 2))), 1)


def test_features_of_a_text_are_its_topics(wiki: Path) -> None:
    found = features(fit(wiki, preset="paper", dim=50), 12, topn=12).features
    ends = [set(end) for feature in found for end in words_of(feature)]
    in_topic = {
        name: max(len(end & words) for end in ends) for name, words in topic_words().items()
    }
    assert sum(count >= 10 for count in in_topic.values()) >= 8


@pytest.mark.real_text
def test_features_of_real_text_can_be_named(text_corpus: Corpus) -> None:
    """Government and sport have features of their own, as in the paper."""
    found = features(fit(text_corpus, preset="paper", dim=50), 8, topn=12).features
    ends = [set(end) for feature in found for end in words_of(feature)]
    government = {"government", "council", "appointed", "commission", "established", "national"}
    sport = {"victory", "championship", "win", "tournament", "champions", "teams", "cup"}
    assert max(len(end & government) for end in ends) >= 4
    assert max(len(end & sport) for end in ends) >= 4
