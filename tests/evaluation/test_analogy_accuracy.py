"""Analogy accuracy is the paper's, question by question."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from in_threads import in_threads
from qwem._internal.arrays import unit_rows
from qwem.embedding import Embedding
from qwem.errors import DataError, SettingError
from qwem.evaluation import evaluate_analogies, read_analogies
from qwem.evaluation.answers import answer_questions
from qwem.evaluation.benchmarks import AnalogySet, benchmark_file
from qwem.evaluation.scores import AnalogyScore, Formula

if TYPE_CHECKING:
    from numpy.typing import NDArray

METHODS = get_args(Formula)


def brute_force(
    words: list[str], vectors: NDArray[Any], question: tuple[str, ...], method: str
) -> str:
    """The paper's formula, one candidate at a time."""
    vectors = vectors.astype(float)
    unit = {word: row / np.linalg.norm(row) for word, row in zip(words, vectors, strict=True)}
    raw = dict(zip(words, vectors, strict=True))
    a, b, c = (
        (raw if method == "candidate" else unit)[question[0]],
        *((raw if method == "candidate" else unit)[word] for word in question[1:3]),
    )
    scores = {}
    for word in words:
        if word in question[:3]:
            continue
        if method == "product":
            cosines = (1 + np.array([unit[word] @ unit[other] for other in question[:3]])) / 2
            scores[word] = cosines[1] * cosines[2] / (cosines[0] + 1e-3)
        else:
            scores[word] = float(unit[word] @ (c + b - a))
    return max(scores, key=lambda word: (round(scores[word], 9), -words.index(word)))


def questions_over(words: list[str], count: int, seed: int) -> AnalogySet:
    rng = np.random.default_rng(seed)
    asked = [
        tuple(words[i] for i in rng.choice(len(words), 4, replace=False)) for _ in range(count)
    ]
    return AnalogySet("random", {"odd": tuple(asked[::2]), "even": tuple(asked[1::2])})


@pytest.mark.parametrize("method", METHODS)
def test_every_answer_is_that_of_the_formula(method: Formula) -> None:
    words = [f"w{i}" for i in range(30)]
    vectors = np.random.default_rng(3).normal(size=(30, 3)).astype(np.float32)
    asked = questions_over(words, 60, seed=0)
    # Ask for what the formula answers: everything must come out right, and nothing otherwise.
    answered = AnalogySet(
        "answered",
        {
            name: tuple(
                (a, b, c, brute_force(words, vectors, (a, b, c), method)) for a, b, c, _ in found
            )
            for name, found in asked.categories.items()
        },
    )
    embedding = Embedding(words, vectors)
    assert evaluate_analogies(embedding, answered, method=method).accuracy == 1.0
    result = evaluate_analogies(embedding, asked, method=method)
    for name, found in asked.categories.items():
        right = sum(
            brute_force(words, vectors, question, method) == question[3] for question in found
        )
        assert result.by_category[name].correct == right
        right = sum(
            brute_force(words, vectors, question, "product") == question[3] for question in found
        )
        assert result.by_category[name].correct_mul == right


@pytest.mark.parametrize(("root", "answer"), [(0.0044, "x"), (0.0036, "y")])
def test_epsilon_decides_between_words_opposite_to_a(root: float, answer: str) -> None:
    """cos′(x, a) = 0, so x wins up to ε = √δ/4, where δ = cos′(y, a) is small; ε is 0.001."""
    cosine = 2 * root**2 - 1
    y = [cosine, np.sqrt(1 - cosine**2)]
    space = Embedding(["a", "b", "c", "x", "y"], [[1, 0], [0, 1], [0, 2], [-1, 0], y])
    _, (found,) = answer_questions(space, np.array([[0, 1, 2]]))
    assert space.index_to_key[found] == answer


def test_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Duplicate rows make ties across blocks, which the first word must win."""
    generator = np.random.default_rng(5)
    vectors = np.repeat(generator.normal(size=(300, 4)), 2, axis=0).astype(np.float32)
    generator.shuffle(vectors[:400])
    embedding = Embedding([f"w{i}" for i in range(600)], vectors)
    asked = generator.integers(600, size=(500, 3))
    whole = in_threads(1, lambda: answer_questions(embedding, asked))
    monkeypatch.setattr("qwem._internal.arrays.blocks.__kwdefaults__", {"most": 900})
    parts = in_threads(3, lambda: answer_questions(embedding, asked))
    np.testing.assert_array_equal(whole, parts)


@settings(deadline=None)
@given(
    vectors=arrays(np.float32, (9, 3), elements=st.floats(-8, 8, width=32)),
    seed=st.integers(0, 99),
)
def test_the_parallelogram_has_the_same_answers(vectors: Any, seed: int) -> None:
    """The paper's second form of the accuracy: argmin ‖â − b̂ − ĉ + ŵ‖² over words that have one."""
    words = [f"w{i}" for i in range(9)]
    embedding = Embedding(words, vectors)
    unit = unit_rows(embedding.vectors)
    asked = questions_over(words, 12, seed)
    right = 0
    for question in (question for found in asked.categories.values() for question in found):
        a, b, c, d = embedding.vocabulary.indices(question)
        target = unit[c] + unit[b] - unit[a]
        distances = ((unit - target) ** 2).sum(axis=1).round(11)
        distances[[a, b, c]] = np.inf
        distances[embedding.norms == 0] = np.inf
        answered = target.any() and np.isfinite(distances).any()
        right += bool(answered and distances.argmin() == d)
    assert evaluate_analogies(embedding, asked).correct == right


def test_candidate_normalization_differs_where_lengths_do() -> None:
    """A long c outweighs b and a, unless all three are normalised."""
    words = ["a", "b", "c", "along", "across"]
    vectors = np.array([[1, 0], [0, 0.1], [3, 0], [1, 0.1], [0, 1]])
    for answer, method in (("along", "candidate"), ("across", "cosine")):
        asked = AnalogySet("one", {"x": (("a", "b", "c", answer),)})
        for other in METHODS:
            right = (other == "candidate") == (method == "candidate")
            found = evaluate_analogies(Embedding(words, vectors), asked, method=other)
            assert found.correct == right


@pytest.mark.parametrize("method", METHODS)
def test_the_words_of_a_question_and_zero_vectors_never_answer(method: Formula) -> None:
    words = ["zero", "a", "b", "c", "d"]
    vectors = np.array([[0, 0], [1, 0], [1, 0.1], [1, 0.05], [-1, -0.2]])
    asked = AnalogySet("one", {"x": (("a", "b", "c", "d"), ("b", "c", "a", "d"))})
    assert evaluate_analogies(Embedding(words, vectors), asked, method=method).accuracy == 1.0
    nothing = AnalogySet("one", {"x": (("a", "b", "c", "zero"),)})
    assert (
        evaluate_analogies(Embedding(words[:4], vectors[:4]), nothing, method=method).correct == 0
    )


@pytest.mark.parametrize("method", METHODS)
def test_of_equally_good_answers_the_first_word_wins(method: Formula) -> None:
    words = ["a", "b", "c", "second", "first", "same"]
    vectors = np.array([[1, 0], [0, 1], [1, 0.5], [-1, 0], [0, 2], [0, 1]])
    for answer, right in (("first", 1), ("same", 0)):
        asked = AnalogySet("one", {"x": (("a", "b", "c", answer),)})
        assert evaluate_analogies(Embedding(words, vectors), asked, method=method).correct == right


def test_questions_with_unknown_words_are_skipped_and_counted() -> None:
    words = ["man", "woman", "king", "queen"]
    vectors = [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]]
    asked = AnalogySet(
        "some",
        {
            "family": (("man", "woman", "king", "queen"), ("man", "woman", "boy", "girl")),
            "far": (("oslo", "norway", "rome", "italy"),),
        },
    )
    result = evaluate_analogies(Embedding(words, vectors), asked)
    assert (result.correct, result.questions, result.skipped) == (1, 1, 2)
    assert result.by_category["family"].skipped == 1
    assert math.isnan(result.by_category["far"].accuracy)
    scores = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    family, far = scores.pop("by_category").values()
    assert scores == {
        "correct": 1,
        "correct_mul": 1,
        "totals": {},
        "accuracy": 1.0,
        "accuracy_mul": 1.0,
        "coverage": 1 / 3,
        "questions": 1,
        "skipped": 2,
    }
    assert family["coverage"] == 0.5
    assert (far["accuracy"], far["accuracy_mul"], far["coverage"]) == (None, None, 0.0)
    with pytest.raises(DataError, match="None of the 3 questions of some has all its words"):
        evaluate_analogies(Embedding(["oslo"], [[1.0]]), asked)


def test_semantic_and_syntactic_totals() -> None:
    words = ["man", "woman", "king", "queen"]
    vectors = [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]]
    right = ("man", "woman", "king", "queen")
    unknown = ("good", "better", "bad", "worse")
    names = ("family", "gram3-comparative", "JJ_JJR", "grammar-school")
    found = ((right,), (right, unknown), (unknown,), (right,))
    asked = AnalogySet("some", dict(zip(names, found, strict=True)))
    totals = evaluate_analogies(Embedding(words, vectors), asked).totals
    assert totals["semantic"] == AnalogyScore(2, 2, questions=2, skipped=0)
    assert totals["syntactic"] == AnalogyScore(1, 1, questions=1, skipped=2)
    alone = AnalogySet("one", {"family": (right,)})
    result = evaluate_analogies(Embedding(words, vectors), alone)
    assert result.totals == {}
    assert result.to_dict()["totals"] == {}


def test_all_pairs_asks_every_ordered_pair_once() -> None:
    asked = AnalogySet(
        "few", {"x": (("a", "b", "c", "d"), ("a", "b", "e", "f")), "y": (("p", "q", "p", "q"),)}
    )
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    expected = {(*one, *other) for one, other in product(pairs, pairs) if one != other}
    everything = asked.all_pairs()
    assert set(everything.categories["x"]) == expected
    assert len(everything.categories["x"]) == 6
    assert everything.categories["y"] == ()
    embedding = Embedding(list("abcdef"), np.random.default_rng(0).normal(size=(6, 3)))
    result = evaluate_analogies(embedding, asked, pairs="all")
    assert (result.questions, result.skipped) == (6, 0)


@pytest.mark.parametrize("choice", [{"method": "best"}, {"pairs": "some"}])
def test_unknown_choices_are_refused(choice: dict[str, Any]) -> None:
    asked = AnalogySet("one", {"x": (("a", "b", "c", "d"),)})
    with pytest.raises(SettingError, match=r"must be .* or .*, not"):
        evaluate_analogies(Embedding(list("abcd"), np.eye(4)), asked, **choice)


@pytest.mark.usefixtures("gensim")
def test_gensim_gives_the_same_accuracy() -> None:
    """On random vectors for the words of Google's file, where gensim's protocol is the same."""
    asked = read_analogies("google")
    words = sorted({word for found in asked.categories.values() for q in found for word in q})
    vectors = np.random.default_rng(0).normal(size=(len(words), 3))
    embedding = Embedding(words, vectors)
    result = evaluate_analogies(embedding, asked)
    accuracy, sections = embedding.to_gensim().evaluate_word_analogies(
        str(benchmark_file("google")), restrict_vocab=len(words)
    )
    assert result.questions == 19_544
    assert result.accuracy == pytest.approx(accuracy, abs=2e-4)  # gensim ranks in float32
    assert [section["section"] for section in sections[:-1]] == list(result.by_category)


@pytest.mark.usefixtures("gensim")
def test_real_files_have_their_published_numbers() -> None:
    asked = read_analogies("google")
    assert (len(asked), len(asked.categories)) == (19_544, 14)
    assert asked.categories["family"][0] == ("boy", "girl", "brother", "sister")
    assert len(asked.all_pairs().categories["capital-world"]) == 13_340
