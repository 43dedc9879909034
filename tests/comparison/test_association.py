"""Association tests against slow twins, and against WEFE where it is installed."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwem import Embedding
from qwem.comparison import Stability, permutation, relative_norm_distance, sc_weat, weat
from qwem.comparison.association import AssociationTests
from qwem.comparison.permutation import count_sums_at_least, p_value_of_sum
from qwem.errors import CoverageError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

X, Y, A, B = ([f"{name}{i}" for i in range(5)] for name in "xyab")
SPACE = Embedding(
    [*X, *Y, *A, *B], np.random.default_rng(0).normal(size=(20, 6)) + np.eye(20, 6)[[0] * 20]
)


COSINES = {(one, other): SPACE.similarity(one, other) for one in SPACE for other in (*A, *B)}


def cosine(one: str, other: str) -> float:
    return COSINES[one, other]


def association(word: str, a: Sequence[str] = A, b: Sequence[str] = B) -> float:
    means = [np.mean([cosine(word, other) for other in group]) for group in (a, b)]
    return float(means[0] - means[1])


def share(statistic: Any, words: Sequence[str], first: int, alternative: str) -> float:
    """Return the p-value of a statistic of two lists by trying every split."""
    values = np.array([statistic(*split) for split in splits(words, first)])
    observed = statistic(words[:first], words[first:]) - values.mean()
    centred = values - values.mean()
    extreme = {
        "greater": centred >= observed - 1e-9,
        "less": centred <= observed + 1e-9,
        "two-sided": np.abs(centred) >= abs(observed) - 1e-9,
    }
    return float(np.mean(extreme[alternative]))


def splits(words: Sequence[str], first: int) -> list[tuple[list[str], list[str]]]:
    return [
        (list(chosen), [word for word in words if word not in chosen])
        for chosen in combinations(words, first)
    ]


def difference(first: Sequence[str], second: Sequence[str]) -> float:
    means = [np.mean([association(word) for word in group]) for group in (first, second)]
    return float(means[0] - means[1])


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("second", [Y, Y[:3]])
def test_weat(alternative: Any, second: list[str]) -> None:
    test = weat(SPACE, X, second, (A, B), alternative=alternative)
    scores = [association(word) for word in (*X, *second)]
    assert np.isclose(test.statistic, sum(scores[:5]) - sum(scores[5:]), atol=1e-6)
    assert test.effect_size is not None
    assert np.isclose(test.effect_size, difference(X, second) / np.std(scores), atol=1e-5)
    assert test.p_value == share(difference, [*X, *second], 5, alternative)
    assert test.exact
    assert np.allclose([test.words[word] for word in (*X, *second)], scores, atol=1e-6)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_sc_weat(alternative: Any) -> None:
    test = sc_weat(SPACE, "x0", (A, B), alternative=alternative)
    assert test.effect_size is not None
    assert np.isclose(test.statistic, association("x0"), atol=1e-6)
    cosines = [cosine("x0", word) for word in (*A, *B)]
    assert np.isclose(test.effect_size, association("x0") / np.std(cosines), atol=1e-5)
    expected = share(lambda a, b: association("x0", a, b), [*A, *B], 5, alternative)
    assert test.p_value == expected


def norm_distance(first: Sequence[str], second: Sequence[str]) -> float:
    unit = {word: SPACE.get_vector(word, norm=True).astype(float) for word in SPACE}
    means = [np.mean([unit[word] for word in group], axis=0) for group in (first, second)]
    return float(
        np.mean(
            [np.linalg.norm(unit[a] - means[0]) - np.linalg.norm(unit[a] - means[1]) for a in A]
        )
    )


def test_relative_norm_distance() -> None:
    test = relative_norm_distance(SPACE, X, Y[:4], A)
    assert np.isclose(test.statistic, norm_distance(X, Y[:4]), atol=1e-6)
    values = np.array([norm_distance(*split) for split in splits([*X, *Y[:4]], 5)])
    extreme = np.abs(values) >= abs(norm_distance(X, Y[:4])) - 1e-6
    assert test.p_value == extreme.mean()
    assert test.exact


def test_a_word_is_not_compared_with_itself() -> None:
    plain = sc_weat(SPACE, "a0", (A[1:], B))
    found = sc_weat(SPACE, "a0", (A, B))
    assert (found.statistic, found.p_value) == (plain.statistic, plain.p_value)
    assert found.left_out == ("a0",)
    assert "Left out because on both sides: a0." in found.to_text()
    found = weat(SPACE, [*X, "a0"], Y, (A, B))
    assert found.statistic == weat(SPACE, X, Y, (A, B)).statistic
    assert found.left_out == ("a0",)
    found = relative_norm_distance(SPACE, X, Y, [*A, "x0"])
    assert found.statistic == relative_norm_distance(SPACE, X, Y, A).statistic
    with pytest.raises(SettingError, match="All words of attribute A would be compared"):
        sc_weat(SPACE, "a0", (["a0"], B))


def test_several_words_have_q_values() -> None:
    tests = {word: sc_weat(SPACE, word, (A, B)) for word in X}
    rows = AssociationTests(tests).rows()
    p_values = np.array([test.p_value for test in tests.values()])
    expected = [min(1.0, np.min([p * 5 / (p_values <= p).sum() for p in p_values if p >= own]))
                for own in p_values]  # fmt: skip
    assert np.allclose([row["q"] for row in rows], expected)
    text = AssociationTests(tests).methods()
    for said in ("single-category", "5 words tested have q-values", "a0, a1", "qwem", "(seed 0)"):
        assert said in text
    assert " of x0, x1, x2, x3, x4, two-sided" in text
    both = AssociationTests({word: sc_weat(SPACE, word, (A, B)) for word in ("a0", "b0")}).methods()
    assert "Left out where compared with themselves: a0, b0." in both
    assert "The list attribute A is: a1, a2, a3, a4, a0." in both
    assert "The list attribute B is: b0, b1, b2, b3, b4." in both


def test_intervals_stay_where_values_can_be() -> None:
    """A jackknife of few noisy folds has wide intervals, which a transformation bounds."""
    rng = np.random.default_rng(3)
    replicates = tuple(
        Embedding(SPACE.index_to_key, SPACE.vectors + rng.normal(0, 1.0, SPACE.vectors.shape))
        for _ in range(6)
    )
    model: Any = SimpleNamespace(embedding=lambda: SPACE, settings={})
    stable = Stability(model, replicates)
    test = weat(stable, X, Y, (A, B))
    assert test.over_documents is not None
    for interval in (test.over_documents.confidence(), test.over_documents.prediction()):
        low, high = interval
        assert -2 <= low[1] < test.effect_size < high[1] <= 2
        assert -20 <= low[0] < test.statistic < high[0] <= 20
    assert abs(test.over_documents.values[1]) + 2.57 * test.over_documents.errors[1] > 2
    low, high = stable.similarities([("x0", "a0"), ("x0", "x0")]).confidence()
    assert (low >= -1).all()
    assert (high <= 1).all()


def test_statistics_have_errors_over_documents() -> None:
    rng = np.random.default_rng(2)
    replicates = tuple(
        Embedding(SPACE.index_to_key, SPACE.vectors + rng.normal(0, 0.1, SPACE.vectors.shape))
        for _ in range(6)
    )
    model: Any = SimpleNamespace(embedding=lambda: SPACE, settings={})
    stable = Stability(model, replicates)
    test, plain = weat(stable, X, Y, (A, B)), weat(SPACE, X, Y, (A, B))
    assert plain.over_documents is None
    assert (test.statistic, test.p_value) == (plain.statistic, plain.p_value)
    assert test.over_documents is not None
    every = [weat(each, X, Y, (A, B)) for each in replicates]
    expected: Any = [(each.statistic, each.effect_size) for each in every]
    assert np.array_equal(test.over_documents.replicates, expected)
    error, effect = test.over_documents.errors
    assert f"statistic {test.statistic:.3g} ± {error:.2g}, 95 % interval" in test.to_text()
    assert f"effect size {test.effect_size:.3g} ± {effect:.2g}" in test.to_text()
    single = sc_weat(stable, "x0", (A, B)).over_documents
    assert single is not None
    assert single.replicates[2, 0] == sc_weat(replicates[2], "x0", (A, B)).statistic
    norm = relative_norm_distance(stable, X, Y, A).over_documents
    assert norm is not None
    assert norm.names == ("statistic",)
    assert norm.replicates[1, 0] == relative_norm_distance(replicates[1], X, Y, A).statistic


def test_many_words_are_split_at_random() -> None:
    rng = np.random.default_rng(1)
    names = [f"w{i}" for i in range(60)]
    vectors = rng.normal(size=(60, 5))
    vectors[:21, 0] += 1
    space = Embedding([*names, "good", "bad"], [*vectors, np.eye(5)[0], -np.eye(5)[0]])
    test = weat(space, names[:21], names[21:60], (["good"], ["bad"]), draws=999)
    assert not test.exact
    assert test.splits == 1000
    assert test.p_value == 0.001
    noise = relative_norm_distance(space, names[21:40], names[40:60], ["good"], draws=499)
    assert (noise.exact, noise.splits) == (False, 500)
    assert noise.p_value > 0.05
    assert noise == relative_norm_distance(space, names[21:40], names[40:60], ["good"], draws=499)


@given(
    st.lists(st.integers(-4, 4), min_size=2, max_size=9),
    st.integers(1, 8),
    st.integers(-20, 20),
)
def test_sums_are_counted_without_forming_each(
    scores: list[int], size: int, threshold: int
) -> None:
    size = min(size, len(scores))
    expected = sum(sum(chosen) >= threshold for chosen in combinations(scores, size))
    assert count_sums_at_least(np.array(scores, dtype=float), size, threshold) == expected


def test_random_splits_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(3).normal(size=16)
    scores[:8] += 0.4
    exact: dict[Any, float] = {
        alternative: p_value_of_sum(scores, 8, alternative, draws=1, seed=0).value
        for alternative in get_args(permutation.Alternative)
    }
    monkeypatch.setattr(permutation, "EXACT_WORDS", 0)
    for alternative, value in exact.items():
        drawn = p_value_of_sum(scores, 8, alternative, draws=20_000, seed=0)
        assert not drawn.exact
        assert abs(drawn.value - value) < 0.02
    assert np.isclose(exact["greater"] + exact["less"], 1, atol=1e-3)


def test_p_values_of_random_words_are_uniform() -> None:
    rng = np.random.default_rng(5)
    values = []
    for _ in range(200):
        scores = rng.normal(size=10)
        values.append(p_value_of_sum(scores, 5, "two-sided", draws=1, seed=0).value)
    assert 0.02 <= np.mean(np.array(values) <= 0.05) <= 0.09
    assert 0.4 <= np.mean(np.array(values) <= 0.5) <= 0.6


def test_missing_and_shared_words() -> None:
    test = weat(SPACE, [*X, "lion"], Y, (A, B))
    assert test.missing == ("lion",)
    assert test.groups == {"first": 5, "second": 5, "attribute A": 5, "attribute B": 5}
    assert "Missing: lion." in test.to_text()
    with pytest.raises(CoverageError, match="3 of the 8 words of second"):
        weat(SPACE, X, [*Y, "lion", "yak", "zebra"], (A, B))
    with pytest.raises(SettingError, match="x0 can't be in both lists"):
        weat(SPACE, X, [*Y, "x0"], (A, B))
    with pytest.raises(SettingError, match="two lists"):
        weat(SPACE, X, Y, (A,))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="`alternative` must be"):
        weat(SPACE, X, Y, (A, B), alternative="more")  # type: ignore[arg-type]


def test_results_equal_those_of_wefe() -> None:
    pytest.importorskip("wefe", reason="WEFE is not installed")
    from gensim.models import KeyedVectors
    from wefe.metrics import RND, WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    vectors = KeyedVectors(SPACE.vector_size)
    vectors.add_vectors(list(SPACE.index_to_key), SPACE.vectors)
    model = WordEmbeddingModel(vectors)
    theirs = WEAT().run_query(Query([X, Y], [A, B]), model)
    ours = weat(SPACE, X, Y, (A, B))
    assert np.isclose(ours.statistic, theirs["weat"], atol=1e-5)
    assert np.isclose(ours.effect_size or 0, theirs["effect_size"], atol=1e-5)
    distance = RND().run_query(Query([X, Y], [A]), model, normalize=True)
    rnd = relative_norm_distance(SPACE, X, Y, A)
    assert np.isclose(rnd.statistic, distance["rnd"], atol=1e-5)
    for word, value in distance["distance_by_word"].items():
        assert np.isclose(rnd.words[word], value, atol=1e-5)
