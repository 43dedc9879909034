"""An embedding answers as gensim's KeyedVectors does, whatever its vectors are."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from qwem.corpus import Vocabulary
from qwem.embedding import Embedding
from qwem.errors import SettingError, UnknownWordError

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

WORDS = [f"word{i}" for i in range(60)]


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return Embedding(WORDS, np.random.default_rng(0).normal(size=(60, 8)))


@pytest.fixture(scope="module")
def keyed(gensim: None, embedding: Embedding) -> KeyedVectors:
    return embedding.to_gensim()


def same_neighbours(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> bool:
    words, cosines = zip(*found, strict=True)
    return list(words) == [word for word, _ in expected] and np.allclose(
        cosines, [cosine for _, cosine in expected], atol=1e-5
    )


def test_lookups_are_those_of_keyed_vectors(embedding: Embedding, keyed: KeyedVectors) -> None:
    assert np.array_equal(embedding["word3"], keyed["word3"])
    assert np.array_equal(embedding[["word3", "word1"]], keyed[["word3", "word1"]])
    assert np.allclose(
        embedding.get_vector("word3", norm=True), keyed.get_vector("word3", norm=True)
    )
    assert list(embedding.index_to_key) == keyed.index_to_key
    assert embedding.key_to_index == keyed.key_to_index
    assert embedding.vector_size == keyed.vector_size
    assert len(embedding) == len(keyed)
    assert list(embedding) == WORDS
    assert "word3" in embedding
    assert "sword" not in embedding
    assert 3 not in embedding


@pytest.mark.parametrize(
    "arguments",
    [
        {"positive": "word1"},
        {"positive": ["word1", "word2"], "negative": ["word3"], "topn": 5},
        {"positive": [("word1", 2.0), "word2"], "negative": "word5"},
        {"positive": [np.arange(8, dtype=np.float32), "word2"]},
        {"positive": np.arange(8, dtype=np.float32), "topn": 60},
        {"negative": ["word7"], "restrict_vocab": 20},
        {"positive": ["word50"], "restrict_vocab": 20},
    ],
)
def test_most_similar_is_that_of_keyed_vectors(
    embedding: Embedding, keyed: KeyedVectors, arguments: dict[str, Any]
) -> None:
    assert same_neighbours(embedding.most_similar(**arguments), keyed.most_similar(**arguments))


def test_comparisons_are_those_of_keyed_vectors(embedding: Embedding, keyed: KeyedVectors) -> None:
    assert embedding.similarity("word1", "word2") == pytest.approx(
        keyed.similarity("word1", "word2"), abs=1e-6
    )
    assert embedding.distance("word1", "word2") == pytest.approx(
        keyed.distance("word1", "word2"), abs=1e-6
    )
    assert embedding.n_similarity(WORDS[:3], WORDS[4:9]) == pytest.approx(
        keyed.n_similarity(WORDS[:3], WORDS[4:9]), abs=1e-6
    )
    assert embedding.doesnt_match(WORDS[:7]) == keyed.doesnt_match(WORDS[:7])


def test_many_at_once_is_one_after_the_other(embedding: Embedding) -> None:
    for word, found in zip(WORDS, embedding.most_similar_each(WORDS, topn=7), strict=True):
        assert same_neighbours(found, embedding.most_similar(word, topn=7))
    questions = list(zip(WORDS[:20], WORDS[20:40], WORDS[40:], strict=True))
    assert embedding.analogy_each(questions, topn=3) == [
        embedding.analogy(*question, topn=3) for question in questions
    ]
    assert embedding.most_similar_each(embedding.vectors[:9]) == [
        embedding.similar_by_vector(vector) for vector in embedding.vectors[:9]
    ]


def test_analogy_is_the_normalised_argmax_without_the_question(embedding: Embedding) -> None:
    unit = {word: embedding.get_vector(word, norm=True).astype(float) for word in WORDS}
    target = unit["word3"] + unit["word2"] - unit["word1"]
    best = max(set(WORDS) - {"word1", "word2", "word3"}, key=lambda word: unit[word] @ target)
    answers = embedding.analogy("word1", "word2", "word3", topn=60)
    assert answers[0][0] == best
    assert len(answers) == 57
    assert answers[0][1] == pytest.approx(unit[best] @ target / np.linalg.norm(target), abs=1e-6)


@settings(deadline=None)
@given(
    vectors=arrays(np.float32, (12, 3), elements=st.sampled_from([-1.0, 0.0, 1.0, 2.0])),
    topn=st.integers(1, 14),
)
def test_neighbours_are_ordered_by_cosine_then_by_place(vectors: Any, topn: int) -> None:
    """Integer vectors make ties plentiful, and rounding must not decide between them."""
    embedding = Embedding(WORDS[:12], vectors)
    lengths = np.linalg.norm(vectors.astype(float), axis=1)
    for row in range(12):
        cosines = vectors @ vectors[row] / np.where(lengths > 0, lengths, 1) / (lengths[row] or 1)
        others = [i for i in range(12) if i != row and lengths[i] > 0 and lengths[row] > 0]
        ranked = sorted(others, key=lambda i: (-round(float(cosines[i]), 9), i))[:topn]
        found = embedding.most_similar(WORDS[row], topn=topn)
        assert [word for word, _ in found] == [WORDS[i] for i in ranked]


def test_equal_vectors_come_in_their_order_in_any_batch() -> None:
    rng = np.random.default_rng(1)
    vectors = np.repeat(rng.normal(size=(40, 50)).astype(np.float32), 5, axis=0)
    embedding = Embedding([f"w{i}" for i in range(200)], vectors)
    for queries in (vectors[:1], vectors[:7], vectors):
        rows, _ = embedding.nearest_indices(queries, 5)
        expected = [[i // 5 * 5 + j for j in range(5)] for i in range(len(queries))]
        assert rows.tolist() == expected


def test_a_zero_vector_is_nobodys_neighbour() -> None:
    embedding = Embedding(["a", "nil", "b"], [[1, 0], [0, 0], [1, 1]])
    assert embedding.similarity("a", "nil") == 0
    assert embedding.similarity("nil", "nil") == 0
    assert [word for word, _ in embedding.most_similar("a")] == ["b"]
    assert embedding.most_similar("nil") == []
    rows, cosines = embedding.nearest_indices([[0, 1], [0, 0]], topn=3)
    assert rows.tolist() == [[2, 0, -1], [-1, -1, -1]]
    assert cosines[1].tolist() == [-np.inf] * 3


def test_very_long_and_very_short_vectors_keep_their_directions() -> None:
    vectors = np.array([[3e-25, 0], [2e25, 1e25], [0, 1]])
    embedding = Embedding(["tiny", "huge", "other"], vectors)
    assert [word for word, _ in embedding.most_similar("tiny")] == ["huge", "other"]


def test_an_unknown_word_is_met_with_close_spellings() -> None:
    embedding = Embedding(["king", "queen"], np.eye(2))
    for ask in (
        lambda: embedding["kingg"],
        lambda: embedding[["queen", "kingg"]],
        lambda: embedding.most_similar(["queen"], ["kingg"]),
        lambda: embedding.most_similar_each(["kingg"]),
        lambda: embedding.similarity("queen", "kingg"),
        lambda: embedding.analogy("king", "queen", "kingg"),
        lambda: embedding.doesnt_match(["king", "kingg"]),
    ):
        with pytest.raises(UnknownWordError, match=r"'kingg' is not .* close spellings: king"):
            ask()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda e: e.most_similar(), "at least one word"),
        (
            lambda e: e.most_similar("a", topn=0),
            "`topn` must be a whole number of at least 1, not 0",
        ),
        (lambda e: e.most_similar("a", topn=None), "a whole number of at least 1, not None"),
        (lambda e: e.most_similar_cosmul("a", topn=None), "a whole number of at least 1, not None"),
        (lambda e: e.most_similar("a", restrict_vocab=0), "restrict_vocab must be"),
        (lambda e: e.similar_by_vector([1.0]), r"must have 2 numbers.*shape \(1, 1\)"),
        (lambda e: e.similar_by_vector([1.0, np.nan]), "not finite"),
        (lambda e: e.n_similarity([], ["a"]), "one of them is empty"),
        (lambda e: e.doesnt_match([]), "needs at least one word"),
        (lambda e: e.restrict(3), "between 1 and 2"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(ask: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ask(Embedding(["a", "b"], np.eye(2)))


@pytest.mark.parametrize(
    ("words", "vectors", "message"),
    [
        (["a"], np.eye(2), "1 words and vectors of shape"),
        ([], np.empty((0, 2)), "0 words"),
        (["a"], np.empty((1, 0)), "shape"),
        (["a", "b"], np.ones(2), "shape"),
        (["a", "b"], [[1, 2], [np.nan, 1]], "vector of 'b' is not finite"),
        (["a", "b"], [[1, 2], [1e300, 1]], "vector of 'b' is not finite"),
        (["a", "a"], np.eye(2), "'a' is in the vocabulary twice"),
    ],
)
def test_words_and_vectors_must_belong_together(words: Any, vectors: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Embedding(words, vectors)


def test_vectors_are_neither_copied_nor_writable() -> None:
    vectors = np.eye(3, dtype=np.float32)
    embedding = Embedding(["a", "b", "c"], vectors)
    assert np.shares_memory(embedding.vectors, vectors)
    with pytest.raises(ValueError, match="read-only"):
        embedding.vectors[0, 0] = 2
    with pytest.raises(ValueError, match="read-only"):
        embedding["a"][0] = 2
    with pytest.raises(AttributeError):
        embedding.vectors = vectors  # type: ignore[misc]
    vectors[0, 0] = 1  # the caller's own array stays as it was


def test_restrict_keeps_the_first_words() -> None:
    vocabulary = Vocabulary.from_counts({"the": 9, "king": 3, "queen": 2})
    embedding = Embedding(vocabulary, np.eye(3), provenance={"seed": 1})
    small = embedding.restrict(2)
    assert small.vocabulary == vocabulary.restrict(2)
    assert np.array_equal(small.vectors, np.eye(3)[:2])
    assert small.provenance == {"seed": 1}


def test_it_can_be_copied_and_pickled(embedding: Embedding) -> None:
    for twin in (copy.deepcopy(embedding), pickle.loads(pickle.dumps(embedding))):
        assert twin.most_similar("word1") == embedding.most_similar("word1")
