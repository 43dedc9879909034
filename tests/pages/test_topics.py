"""Map of topics: neighbours stay together, words of a topic too, and a seed has one result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding
from qwem.pages import load_models
from qwem.pages.models import page_model
from qwem.pages.spaces import Space
from qwem.pages.topics import NO_TOPIC, find_topics, neighbour_map

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model


@pytest.fixture(scope="module")
def grouped() -> tuple[Space, Any]:
    """Five groups of 60 words each, and the group of each word."""
    rng = np.random.default_rng(0)
    groups = np.arange(300) % 5
    vectors = np.eye(5)[groups] + 0.12 * rng.normal(size=(300, 5))
    return Space.of_embedding(Embedding([f"w{i}" for i in range(300)], vectors), "given"), groups


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
    some = found.labels != NO_TOPIC
    assert sum(topic["size"] for topic in found.topics) == some.sum()
    assert sum(topic["share"] for topic in found.topics) == pytest.approx(1)
    for number, topic in enumerate(found.topics):
        rows = [int(word[1:]) for word in topic["words"]]
        assert set(found.labels[rows]) == {number}
        assert len(set(groups[rows])) == 1
        assert set(topic["title"].split(", ")) <= set(topic["words"])
    shares = [topic["share"] for topic in found.topics]
    assert shares == sorted(shares, reverse=True)


def test_a_topic_of_very_frequent_words_comes_last() -> None:
    """However much of the text it is: pronouns say nothing about a text."""
    rng = np.random.default_rng(2)
    groups = np.r_[np.zeros(15, int), 1 + np.arange(345) % 23]
    vectors = np.eye(24)[groups] + 0.02 * rng.normal(size=(360, 24))
    words = [f"{'abcdefgh'[i % 8] * 4}{i}" for i in range(360)]
    space = Space.of_embedding(Embedding(words, vectors), "given")
    found = find_topics(space, np.r_[np.full(15, 10_000), np.arange(400, 55, -1)])
    *others, last = found.topics
    assert last["general"]
    assert set(last["words"]) <= set(words[:15])
    assert last["share"] > max(topic["share"] for topic in others)
    assert not any(topic["general"] for topic in others)


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
    labels = page_model(closed).make_topics().labels
    assert np.sum(labels == NO_TOPIC) < len(closed.vocabulary) / 5 + 1


def test_function_words_are_frequent_and_of_no_topic_or_their_own() -> None:
    rng = np.random.default_rng(1)
    groups = np.arange(400) % 4
    vectors = np.eye(32)[groups] + 0.05 * rng.normal(size=(400, 32))
    vectors[:10] = rng.normal(size=(10, 32))  # frequent words that are close to no group
    vectors[10:110] = np.eye(32)[7] + 0.5 * rng.normal(size=(100, 32))  # a loose group
    words = [f"{'abcdefgh'[i % 8] * 4}{i}" for i in range(400)]
    space = Space.of_embedding(Embedding(words, vectors), "given")
    found = find_topics(space, np.r_[np.full(12, 25_000), np.arange(900, 512, -1)])
    frequent_without_topic = np.flatnonzero(found.labels == NO_TOPIC)
    assert len(frequent_without_topic) >= 8
    assert set(frequent_without_topic) <= set(range(12))
    general = [topic["general"] for topic in found.topics]
    assert general == sorted(general), "general topics come last"
    assert any(general)
    assert not all(general)
    for topic in found.topics:
        stems = [word[:4] for word in topic["title"].split(", ")]
        assert len(set(stems)) == len(stems), "a title does not repeat itself"
