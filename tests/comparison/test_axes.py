"""Axes: their definition, projections, and words that are missing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from qwem import Embedding
from qwem.comparison import axis
from qwem.errors import CoverageError, SettingError

RNG = np.random.default_rng(0)
WORDS = tuple("abcdefghij")
SPACE = Embedding(WORDS, RNG.normal(size=(10, 4)))
UNIT = SPACE.vectors / np.linalg.norm(SPACE.vectors, axis=1, keepdims=True)


def cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_an_axis_is_a_difference_of_means() -> None:
    made = axis(SPACE, ["a", "b"], ["c", "d", "e"])
    expected = UNIT[:2].mean(axis=0) - UNIT[2:5].mean(axis=0)
    assert np.allclose(made.vector, expected / np.linalg.norm(expected), atol=1e-6)
    assert np.isclose(np.linalg.norm(made.vector), 1)


def test_pairs_weigh_the_same() -> None:
    made = axis(SPACE, ["a", "b"], ["c", "d"], pairs=True)
    steps = UNIT[:2] - UNIT[2:4]
    expected = (steps / np.linalg.norm(steps, axis=1, keepdims=True)).mean(axis=0)
    assert np.isclose(cosine(made.vector, expected), 1)


def test_neighbours_extend_both_ends() -> None:
    made = axis(SPACE, ["a"], ["b"], neighbours=2)
    ends = []
    for word, row in (("a", 0), ("b", 1)):
        near = [WORDS.index(other) for other, _ in SPACE.most_similar(word, topn=2)]
        ends.append(UNIT[[row, *near]].mean(axis=0))
    assert np.isclose(cosine(made.vector, ends[0] - ends[1]), 1)


def test_projections_are_cosines_in_order() -> None:
    made = axis(SPACE, ["a"], ["b"])
    found = made.project(WORDS)
    assert found.left_out == ("a", "b")
    for each in found.words:
        vector = SPACE.vectors[WORDS.index(each.word)]
        assert np.isclose(each.cosine, cosine(vector, made.vector), atol=1e-6)
    cosines = [each.cosine for each in found.words]
    assert cosines == sorted(cosines, reverse=True)
    every = sorted(cosine(vector, made.vector) for vector in SPACE.vectors)
    lower = [100 * np.mean(np.array(every) < each.cosine - 1e-6) for each in found.words]
    assert np.allclose([each.percentile for each in found.words], lower)
    assert found["c"] == next(each.cosine for each in found.words if each.word == "c")
    with pytest.raises(KeyError):
        found["unheard"]


def test_ends_are_the_extremes_of_frequent_words() -> None:
    made = axis(SPACE, ["a"], ["b"])
    order = sorted(WORDS, key=lambda word: -cosine(SPACE[word], made.vector))
    assert [each.word for each in made.ends(2).words] == [*order[:2], *order[-2:]]
    assert {each.word for each in made.ends(9, most_frequent=3).words} == set("abc")


def test_missing_words_are_listed_until_they_are_too_many() -> None:
    made = axis(SPACE, ["a", "b", "c", "d", "zebra"], ["e"])
    assert made.positive == ("a", "b", "c", "d")
    assert made.missing == ("zebra",)
    with pytest.raises(CoverageError, match=r"2 of the 5 words of positive .*\(yak, zebra\)"):
        axis(SPACE, ["a", "b", "c", "yak", "zebra"], ["e"])
    assert axis(SPACE, ["a", "yak", "zebra"], ["e"], max_missing=0.7).positive == ("a",)
    with pytest.raises(CoverageError, match="1 of the 1 words"):
        axis(SPACE, ["zebra"], ["e"], max_missing=1)
    found = made.project(["f", "g", "h", "i", "j", "yak"])
    assert found.missing == ("yak",)
    assert "Missing: yak." in found.to_text()


def test_a_pair_with_a_missing_word_is_left_out() -> None:
    made = axis(SPACE, ["a", "b", "zebra"], ["c", "d", "e"], pairs=True, max_missing=0.5)
    assert (made.positive, made.negative) == (("a", "b"), ("c", "d"))
    assert made.missing == ("zebra", "e")
    with pytest.raises(CoverageError, match="1 of the 2 pairs"):
        axis(SPACE, ["a", "zebra"], ["c", "e"], pairs=True)


def test_axes_without_direction_are_refused() -> None:
    with pytest.raises(SettingError, match="no direction"):
        axis(SPACE, ["a", "b"], ["b", "a"])
    with pytest.raises(SettingError, match="same length"):
        axis(SPACE, ["a"], ["b", "c"], pairs=True)
    with pytest.raises(SettingError, match="partners"):
        axis(SPACE, ["a"], ["b"], pairs=True, neighbours=3)
    with pytest.raises(SettingError, match="a list of words"):
        axis(SPACE, "ab", ["c"])
    with pytest.raises(SettingError, match="at least one word"):
        axis(SPACE, [], ["c"])


def test_results_are_text_and_plain_data() -> None:
    found = axis(SPACE, ["a"], ["b"]).project(["c", "d"])
    lines = found.to_text().splitlines()
    assert lines[0] == "From b (−) to a (+)."
    assert lines[1].split() == ["word", "cosine", "percentile"]
    plain = json.loads(json.dumps(found.to_dict()))
    assert [each["word"] for each in plain["words"]] == [each.word for each in found.words]


def test_words_of_the_axis_are_not_placed_on_it() -> None:
    plane = Embedding(["he", "she", "nurse", "it"], [[1, 1], [-1, 1], [-1, 2], [0, 1]])
    found = axis(plane, ["she"], ["he"]).project(["she", "nurse", "it"])
    assert [each.word for each in found.words] == ["nurse", "it"]
    assert found.left_out == ("she",)
    assert "Left out because they define the axis: she." in found.to_text()
    assert "from he to she" in found.methods()
    assert "it is the difference of the mean vectors of its ends." in found.methods()
    paired = axis(plane, ["she"], ["he"], pairs=True).project(["it"])
    assert "it is the mean difference of partners." in paired.methods()
    wider = axis(plane, ["she"], ["he"], neighbours=1).project(["it"])
    assert "extended by its 1 nearest words" in wider.methods()
    assert "SemAxis: a lightweight framework" in wider.methods()
    assert wider.to_dict()["neighbours"] == 1
    with pytest.raises(SettingError, match="made of the same words"):
        axis(plane, ["she"], ["he"]).project(["she", "he"])
