"""Similarity correlation is Spearman's, ties and all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from qwem.embedding import Embedding
from qwem.errors import DataError, SettingError
from qwem.evaluation import evaluate_similarity, read_similarity
from qwem.evaluation.benchmarks import RatedPair, SimilaritySet, benchmark_file


@pytest.fixture(scope="module")
def embedding(gensim: None) -> Embedding:
    words = sorted({w for pair in read_similarity("wordsim353").pairs for w in pair[:2]})
    rng = np.random.default_rng(0)
    return Embedding(
        words, rng.normal(size=(len(words), 5)) * rng.exponential(size=(len(words), 1))
    )


def test_cosines_correlate_as_in_gensim(embedding: Embedding) -> None:
    _, expected, _ = embedding.to_gensim().evaluate_word_pairs(
        str(benchmark_file("wordsim353")), case_insensitive=True, restrict_vocab=len(embedding)
    )
    result = evaluate_similarity(embedding, "wordsim353")
    assert result.spearman == pytest.approx(expected.statistic, abs=1e-6)
    assert (result.pairs, result.skipped) == (353, 0)


@pytest.mark.parametrize("measure", ["cosine", "inner"])
def test_both_measures_are_what_they_say(embedding: Embedding, measure: Any) -> None:
    rated = read_similarity("wordsim353")
    similarity = [
        embedding.similarity(a, b) if measure == "cosine" else float(embedding[a] @ embedding[b])
        for a, b, _ in rated.pairs
    ]
    expected = spearmanr(similarity, [pair.score for pair in rated.pairs]).statistic
    result = evaluate_similarity(embedding, rated, measure=measure)
    assert result.spearman == pytest.approx(expected, abs=1e-4)


def test_pairs_with_unknown_words_are_skipped_and_counted(embedding: Embedding) -> None:
    small = embedding.restrict(200)
    rated = read_similarity("wordsim353")
    known = sum(a in small and b in small for a, b, _ in rated.pairs)
    result = evaluate_similarity(small, rated)
    assert (result.pairs, result.skipped) == (known, 353 - known)
    assert result.to_dict()["coverage"] == known / 353


def test_a_zero_vector_is_similar_to_nothing() -> None:
    embedding = Embedding(["a", "b", "nil"], [[1, 0], [1, 1], [0, 0]])
    rated = SimilaritySet("x", (RatedPair("a", "b", 2.0), RatedPair("a", "nil", 1.0)))
    assert evaluate_similarity(embedding, rated).spearman == pytest.approx(1)


def test_what_has_no_correlation_is_refused() -> None:
    embedding = Embedding(["a", "b", "c"], [[1, 0], [1, 1], [1, 0]])
    one = SimilaritySet("few", (RatedPair("a", "b", 1.0), RatedPair("a", "zebra", 2.0)))
    with pytest.raises(DataError, match="1 of the 2 pairs of few have both words among the 3"):
        evaluate_similarity(embedding, one)
    flat = SimilaritySet("flat", (RatedPair("a", "b", 1.0), RatedPair("b", "c", 2.0)))
    with pytest.raises(DataError, match="equally similar"):
        evaluate_similarity(embedding, flat)
    with pytest.raises(SettingError, match="`measure` must be 'cosine' or 'inner'"):
        evaluate_similarity(embedding, flat, measure="dot")  # type: ignore[arg-type]
