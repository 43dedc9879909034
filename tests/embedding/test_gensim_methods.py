"""The further methods of gensim's KeyedVectors answer as gensim does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from qwem.corpus import Vocabulary
from qwem.embedding import Embedding
from qwem.errors import SettingError, UnknownWordError

if TYPE_CHECKING:
    from pathlib import Path

    from gensim.models import KeyedVectors

WORDS = [f"word{i}" for i in range(60)]


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    return Embedding(WORDS, np.random.default_rng(0).normal(size=(60, 8)))


@pytest.fixture(scope="module")
def keyed(gensim: None, embedding: Embedding) -> KeyedVectors:
    return embedding.to_gensim()


CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("get_index", ("word7",), {}),
    ("get_index", ("sword", 5), {}),
    ("has_index_for", ("word7",), {}),
    ("has_index_for", ("sword",), {}),
    ("get_normed_vectors", (), {}),
    ("get_mean_vector", (["word1", "word2"],), {}),
    ("get_mean_vector", (["word1", "sword", "word2"],), {"pre_normalize": False}),
    ("get_mean_vector", (["word1", "word2"],), {"weights": [2, -1], "post_normalize": True}),
    ("get_mean_vector", (["word1", np.ones(8)],), {}),
    ("distance", ("word1", "word2"), {}),
    ("distances", ("word1",), {}),
    ("distances", ("word1", ("word2", "word9")), {}),
    ("cosine_similarities", (np.arange(8.0), np.eye(8)[:3] + 1), {}),
    ("closer_than", ("word1", "word9"), {}),
    ("rank", ("word1", "word9"), {}),
    ("most_similar_to_given", ("word1", ["word2", "word9", "word4"]), {}),
    ("n_similarity", (["word1", "word2"], ["word3"]), {}),
    ("doesnt_match", (["word1", "word2", "word3"],), {}),
    ("relative_cosine_similarity", ("word1", "word2"), {"topn": 5}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), CALLS)
def test_answers_are_those_of_keyed_vectors(
    embedding: Embedding, keyed: KeyedVectors, name: str, arguments: Any, options: Any
) -> None:
    found = getattr(embedding, name)(*arguments, **options)
    expected = getattr(keyed, name)(*arguments, **options)
    if isinstance(expected, str | list | bool):
        assert found == expected
    else:
        assert np.allclose(found, expected, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("similar_by_word", ("word1",), {"topn": 5}),
        ("similar_by_word", ("word50",), {"restrict_vocab": 20}),
        ("similar_by_key", ("word1",), {"topn": 5}),
        ("similar_by_vector", (np.arange(8.0),), {"topn": 5}),
        ("most_similar_cosmul", (["word1", "word2"], ["word3"]), {}),
        ("most_similar_cosmul", ("word1",), {"topn": 3}),
    ],
)
def test_neighbours_are_those_of_keyed_vectors(
    embedding: Embedding, keyed: KeyedVectors, name: str, arguments: Any, options: Any
) -> None:
    found = getattr(embedding, name)(*arguments, **options)
    expected = getattr(keyed, name)(*arguments, **options)
    assert [word for word, _ in found] == [word for word, _ in expected]
    assert np.allclose([score for _, score in found], [score for _, score in expected], atol=1e-5)


def test_cosmul_searches_the_first_words_only_if_asked_to(embedding: Embedding) -> None:
    found = embedding.most_similar_cosmul("word50", topn=60, restrict_vocab=20)
    assert {word for word, _ in found} == set(WORDS[:20])


def test_word_movers_distance_is_the_cheapest_assignment(embedding: Embedding) -> None:
    first, second = WORDS[:5], WORDS[3:8]
    directions = embedding.get_normed_vectors().astype(np.float64)
    rows = [embedding.vocabulary.indices(words) for words in (first, second)]
    costs = np.linalg.norm(directions[rows[0]][:, None] - directions[rows[1]][None], axis=2)
    cheapest = costs[linear_sum_assignment(costs)].mean()
    assert embedding.wmdistance(first, second) == pytest.approx(cheapest, abs=1e-6)
    assert embedding.wmdistance(first, [*first, "sword"]) == 0
    assert embedding.wmdistance(first, ["sword"]) == np.inf


def test_benchmarks_are_scored_as_by_keyed_vectors(
    embedding: Embedding, keyed: KeyedVectors, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    pairs, questions = tmp_path / "pairs.tsv", tmp_path / "questions.txt"
    rated = [(*rng.choice(WORDS, 2, replace=False), i / 10) for i in range(40)]
    pairs.write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in [*rated, ("a", "b", 1)]))
    mine, theirs = embedding.evaluate_word_pairs(pairs), keyed.evaluate_word_pairs(str(pairs))
    assert np.allclose(mine[0], theirs[0], atol=1e-5)
    assert np.allclose(mine[1], theirs[1], atol=1e-5)
    assert mine[2] == pytest.approx(theirs[2])

    asked = [rng.choice(WORDS, 3, replace=False).tolist() for _ in range(30)]
    answered = [
        [*words, embedding.analogy(*words)[0][0] if i % 2 else "word0"]
        for i, words in enumerate(asked)
    ]
    lines = [" ".join(line) for line in answered if len(set(line)) == 4]
    questions.write_text(": one\n" + "\n".join(lines) + "\n")
    accuracy, sections = embedding.evaluate_word_analogies(questions)
    expected, their_sections = keyed.evaluate_word_analogies(str(questions))
    assert 0.4 < accuracy == pytest.approx(expected)
    for mine_now, theirs_now in zip(sections, their_sections, strict=True):
        assert mine_now["correct"] == len(theirs_now["correct"])
        assert mine_now["incorrect"] == len(theirs_now["incorrect"])


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.usefixtures("gensim")
def test_word2vec_files_are_written_and_read_by_gensims_names(
    embedding: Embedding, tmp_path: Path, binary: bool
) -> None:
    from gensim.models import KeyedVectors

    file = tmp_path / "vectors"
    embedding.save_word2vec_format(file, binary=binary)
    for cls in (Embedding, KeyedVectors):
        again = cls.load_word2vec_format(str(file), binary=binary, limit=30)
        assert list(again.index_to_key) == WORDS[:30]
        assert np.allclose(again.vectors, embedding.vectors[:30])


def test_an_embedding_of_some_words_keeps_their_order(embedding: Embedding) -> None:
    some = embedding.vectors_for_all(["word9", "sword", "word2"])
    assert some.index_to_key == ("word9", "word2")
    assert np.array_equal(some["word2"], embedding["word2"])


def test_unknown_words_are_refused_where_they_are_not_passed_over(embedding: Embedding) -> None:
    with pytest.raises(UnknownWordError, match="sword"):
        embedding.get_mean_vector(["word1", "sword"], ignore_missing=False)
    with pytest.raises(UnknownWordError, match="sword"):
        embedding.get_index("sword")
    with pytest.raises(SettingError, match="as many weights"):
        embedding.get_mean_vector(["word1", "word2"], weights=[1])


@pytest.mark.parametrize("use_norm", [True, False])
def test_central_words_are_those_of_keyed_vectors(
    embedding: Embedding, keyed: KeyedVectors, use_norm: bool
) -> None:
    found = embedding.rank_by_centrality([*WORDS[:9], "sword"], use_norm=use_norm)
    expected = keyed.rank_by_centrality(WORDS[:9], use_norm=use_norm)
    assert [word for _, word in found] == [word for _, word in expected]
    assert np.allclose([each for each, _ in found], [each for each, _ in expected], atol=1e-5)
    with pytest.raises(SettingError, match="None of the words"):
        embedding.rank_by_centrality(["sword"])


@pytest.mark.usefixtures("gensim")
def test_words_have_counts_as_an_attribute() -> None:
    counted = Embedding(Vocabulary(("a", "b"), np.array([5, 2])), np.eye(2))
    assert counted.get_vecattr("b", "count") == counted.to_gensim().get_vecattr("b", "count") == 2
    with pytest.raises(SettingError, match="not 'sample_int'"):
        counted.get_vecattr("b", "sample_int")
