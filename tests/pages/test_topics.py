"""Map of topics: neighbours stay together, words of a topic too, and a seed has one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding
from qwem.pages import load_models
from qwem.pages.models import page_model
from qwem.pages.spaces import Space
from qwem.pages.topics import find_topics, neighbour_map

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model


@pytest.fixture(scope="module")
def grouped() -> tuple[Space, Any]:
    """Five groups of 60 words each, and the group of each word."""
    rng = np.random.default_rng(0)
    groups = np.arange(300) % 5
    vectors = np.eye(5)[groups] + 0.12 * rng.normal(size=(300, 5))
    return Space.of_embedding(
        Embedding([f"w{i}" for i in range(300)], vectors), "given", "x"
    ), groups


def nearest(places: Any, row: int, count: int) -> Any:
    return np.argsort(np.linalg.norm(places - places[row], axis=1))[1 : count + 1]


def test_words_lie_beside_their_neighbours(grouped: tuple[Space, Any]) -> None:
    space, groups = grouped
    places = neighbour_map(space)
    assert np.abs(places).max() <= 1
    together = [np.mean(groups[nearest(places, row, 10)] == groups[row]) for row in range(300)]
    assert np.mean(together) > 0.9
    assert np.array_equal(places, neighbour_map(space))


def test_words_beyond_the_landmarks_are_placed_among_them(grouped: tuple[Space, Any]) -> None:
    space, groups = grouped
    places = neighbour_map(space, landmarks=150)
    together = [np.mean(groups[nearest(places, row, 10)] == groups[row]) for row in range(150, 300)]
    assert np.mean(together) > 0.9


def test_topics_are_groups_named_by_their_own_frequent_words(grouped: tuple[Space, Any]) -> None:
    space, groups = grouped
    found = find_topics(space, np.arange(600, 300, -1))
    assert sum(topic["size"] for topic in found.topics) == 300
    assert sum(topic["share"] for topic in found.topics) == pytest.approx(1)
    for number, topic in enumerate(found.topics):
        rows = [int(word[1:]) for word in topic["words"]]
        assert set(found.labels[rows]) == {number}
        assert len(set(groups[rows])) == 1
        assert topic["title"] == ", ".join(topic["words"][:3])
        assert not set(rows) & set(range(found.quiet))
    shares = [topic["share"] for topic in found.topics]
    assert shares == sorted(shares, reverse=True)


def test_topics_are_kept_with_the_model(polished: Model, tmp_path: Path) -> None:
    polished.save(tmp_path / "model")
    (made,) = load_models([tmp_path / "model"])
    assert made.topics is None
    topics = made.make_topics()
    (again,) = load_models([tmp_path / "model"])
    assert again.topics is not None
    assert np.array_equal(again.topics.places, topics.places)
    assert again.topics.topics == topics.topics
    made.name_feature(1, "first")  # names and topics stay beside each other
    assert load_models([tmp_path / "model"])[0].topics is not None
    polished.save(tmp_path / "model")  # another model may have other topics
    assert load_models([tmp_path / "model"])[0].topics is None


def test_a_model_of_few_words_has_a_map(closed: Model) -> None:
    few = page_model(Embedding(["a", "b", "c"], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert few.make_topics().places.shape == (3, 2)
    assert page_model(closed).make_topics().quiet < len(closed.vocabulary) / 5 + 1
