"""The concept test finds what is there, says what kind it is, and is right about chance."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import kstest

from qwem import Embedding
from qwem.errors import DataError, SettingError
from qwem.interpretation import Task, concept_test, read_tasks, task_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

COUNT = 600
WORDS = [f"w{i}" for i in range(COUNT)]
FIRST, SECOND = slice(200, 220), slice(300, 320)
TASK = Task("planted", tuple(zip(WORDS[FIRST], WORDS[SECOND], strict=True)))


def noise(dim: int = 30) -> NDArray[np.float64]:
    return np.random.default_rng(5).normal(size=(COUNT, dim))


def relation() -> NDArray[np.float64]:
    """Each second word is its first word, moved along one direction, and noise."""
    vectors = noise()
    vectors[SECOND] = 0.6 * vectors[SECOND] + 0.8 * vectors[FIRST]
    vectors[SECOND, 3] += 2
    return vectors


def groups() -> NDArray[np.float64]:
    """Second words lie elsewhere than first words, whichever belongs to which."""
    vectors = noise()
    vectors[SECOND, 3] += 2
    return vectors


def association() -> NDArray[np.float64]:
    """Each second word is near its first word, in no direction of its own."""
    vectors = noise()
    vectors[SECOND] = 0.6 * vectors[SECOND] + 0.8 * vectors[FIRST]
    return vectors


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        (relation, "relation"),
        (groups, "groups"),
        (association, "association"),
        (noise, "none"),
    ],
)
def test_the_verdict_tells_what_was_planted(
    planted: Callable[[], NDArray[np.float64]], expected: str
) -> None:
    test = concept_test(Embedding(WORDS, planted()), TASK, draws=199)
    assert test.verdict == expected
    assert expected in repr(test)


def test_a_difference_in_frequency_is_no_concept() -> None:
    """Rare words are moved, as are those of the draws: a shared direction, but not a surprise."""
    vectors = noise()
    vectors[:, 0] += 2 * np.log(np.arange(COUNT) + 1)
    embedding = Embedding(WORDS, vectors)
    rng = np.random.default_rng(0)
    tests = []
    for seed in range(100):
        first = rng.choice(np.arange(50, 150), 10, replace=False)
        second = rng.choice(np.arange(300, 600), 10, replace=False)
        pairs = tuple((WORDS[a], WORDS[b]) for a, b in zip(first, second, strict=True))
        tests.append(concept_test(embedding, Task("rarer", pairs), draws=99, seed=seed))
    assert np.mean([test.share[-1] for test in tests]) > 2 / 10
    assert kstest([test.p_value for test in tests], "uniform").pvalue > 0.01


def test_features_and_pairs_tell_what_it_is_made_of() -> None:
    vectors = relation()
    vectors[315] = vectors[215] - (vectors[315] - vectors[215])  # one pair goes the other way
    test = concept_test(Embedding(WORDS, vectors), TASK, draws=99)
    assert test.features[0].rank == 4
    assert test.features[0].agreement == pytest.approx(19 / 20)
    assert test.features[0].share == max(feature.share for feature in test.features)
    assert sum(feature.share for feature in test.features) >= 0.5
    assert (test.pairs[0].source, test.pairs[0].target) == ("w215", "w315")
    best = task_vectors(Embedding(WORDS, vectors), TASK)[:, : test.best_dim]
    others = np.delete(best, 15, axis=0).mean(axis=0)
    cosine = best[15] @ others / np.linalg.norm(best[15]) / np.linalg.norm(others)
    assert test.pairs[0].cosine == pytest.approx(cosine)
    cosines = [pair.cosine for pair in test.pairs]
    assert cosines == sorted(cosines)
    assert len(cosines) == len(TASK)


def test_the_best_dimension_holds_the_signal_and_little_more() -> None:
    vectors = noise(200)
    vectors[SECOND, 9] += 2
    test = concept_test(Embedding(WORDS, vectors), TASK, dims=[5, 10, 50, 200], draws=199)
    assert test.best_dim == 10
    assert test.evidence[0] < 3 < test.evidence[1]


def test_p_values_of_random_pairs_are_uniform(text_embedding: Embedding) -> None:
    rng = np.random.default_rng(0)
    words = text_embedding.index_to_key
    direction, pairing = [], []
    for seed in range(300):
        pairs = rng.choice(len(words), (10, 2), replace=False)
        task = Task("random", tuple((words[a], words[b]) for a, b in pairs))
        test = concept_test(text_embedding, task, draws=99, seed=seed)
        direction.append(test.p_value)
        pairing.append(test.pairing_p_value)
    assert kstest(direction, "uniform").pvalue > 0.01
    assert kstest(pairing, "uniform").pvalue > 0.01
    assert np.mean(np.array(direction) <= 0.05) < 0.1


def test_random_pairs_of_recurring_words_are_random_too(text_embedding: Embedding) -> None:
    """As many cities share a state: pairs that share a word are not independent of each other."""
    rng = np.random.default_rng(1)
    words = text_embedding.index_to_key
    found = []
    for seed in range(150):
        chosen = rng.choice(len(words), 12, replace=False)
        pairs = [(words[a], words[chosen[i % 3]]) for i, a in enumerate(chosen[3:])]
        test = concept_test(text_embedding, Task("hubs", tuple(pairs)), draws=99, seed=seed)
        found.append(test.p_value)
    assert kstest(found, "uniform").pvalue > 0.01


@pytest.mark.usefixtures("gensim")
def test_known_relations_are_found(text_embedding: Embedding) -> None:
    tasks = [task.restrict(text_embedding) for task in read_tasks("google")]
    tests = [concept_test(text_embedding, task, draws=199) for task in tasks if len(task) >= 10]
    assert len(tests) >= 3
    assert all(test.verdict == "relation" for test in tests)
    assert all(test.pairing_p_value == 1 / 200 for test in tests)


@pytest.mark.real_text
@pytest.mark.usefixtures("gensim")
def test_re_paired_countries_and_languages_are_two_groups(text_embedding: Embedding) -> None:
    tasks = {t.name: t for t in read_tasks("google")}
    first, second = zip(
        *tasks["gram6-nationality-adjective"].restrict(text_embedding).pairs, strict=True
    )
    wrong = Task("wrong", tuple(zip(first, (*second[5:], *second[:5]), strict=True)))
    test = concept_test(text_embedding, wrong, draws=199)
    assert test.verdict == "groups"


def test_the_seed_decides_and_results_are_json() -> None:
    embedding = Embedding(WORDS, noise())
    one, same, other = (concept_test(embedding, TASK, draws=49, seed=seed) for seed in (1, 1, 2))
    assert one.to_dict() == same.to_dict()
    assert one.expected_share.tolist() != other.expected_share.tolist()
    plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert plain["p_value"] == one.p_value
    assert plain["best_dim"] == one.best_dim
    assert len(plain["pairs"]) == len(TASK)


def test_what_can_not_be_tested_is_refused() -> None:
    embedding = Embedding(WORDS, noise())
    with pytest.raises(SettingError, match="`draws` must be a whole number of at least 1, not 0"):
        concept_test(embedding, TASK, draws=0)
    with pytest.raises(SettingError, match="dims must lie between 1 and 30"):
        concept_test(embedding, TASK, dims=[31])
    with pytest.raises(DataError, match="has 0 of its 1 pairs"):
        concept_test(embedding, Task("unknown", (("here", "there"),)))
