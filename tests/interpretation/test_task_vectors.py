"""What is computed for all dimensions at once is what each dimension gives on its own."""

from __future__ import annotations

import json
import logging
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from qwem import Embedding
from qwem.errors import DataError, SettingError
from qwem.evaluation import evaluate_analogies
from qwem.evaluation.benchmarks import AnalogySet
from qwem.interpretation import (
    Task,
    analyze_task,
    fit_marchenko_pastur,
    principal_axes,
    read_tasks,
    task_vectors,
)
from qwem.interpretation.tasks import dimension_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = [f"w{i}" for i in range(40)]
PAIRS = Task("pairs", tuple((f"w{i}", f"w{i + 7}") for i in range(7)))
# Some words recur: a city's state, a word on both sides.
SHARED = Task("shared", (("w0", "w1"), ("w2", "w1"), ("w3", "w4"), ("w4", "w5"), ("w6", "w7")))


def random_embedding(seed: int = 0, dim: int = 12) -> Embedding:
    vectors = np.random.default_rng(seed).normal(size=(len(WORDS), dim)) + 0.3
    vectors[7:14] = vectors[:7] + 0.5 * vectors[7:14] + 1  # so that some answers are right
    return Embedding(WORDS, vectors)


def prefix(embedding: Embedding, dim: int) -> Embedding:
    return Embedding(embedding.vocabulary, embedding.vectors[:, :dim])


def accuracy_alone(embedding: Embedding, task: Task) -> float:
    questions = tuple((*one, *other) for one, other in permutations(task.pairs, 2))
    return evaluate_analogies(embedding, AnalogySet(task.name, {task.name: questions})).accuracy


def scores_alone(embedding: Embedding, task: Task) -> tuple[float, float]:
    """The appendix' two measures, one question and one word at a time."""
    lengths = np.linalg.norm(embedding.vectors.astype(float), axis=1, keepdims=True)
    unit = dict(zip(embedding, embedding.vectors / np.where(lengths > 0, lengths, 1), strict=True))
    cosines, relative = [], []
    for (a, b), (c, w) in permutations(task.pairs, 2):
        prediction = unit[c] + unit[b] - unit[a]
        cosine = prediction @ unit[w] / np.linalg.norm(prediction)
        nearest = max(unit[w] @ unit[other] for other in embedding if other not in (a, b, c, w))
        cosines.append(cosine)
        relative.append(cosine / nearest)
    return float(np.mean(cosines)), float(np.mean(relative))


@pytest.mark.parametrize("task", [PAIRS, SHARED], ids=lambda task: task.name)
def test_all_dimensions_at_once_are_each_on_its_own(task: Task) -> None:
    embedding = random_embedding()
    dims = (1, 2, 3, 5, 8, 12)
    analysis = analyze_task(embedding, task, dims)
    vectors = task_vectors(embedding, task)
    for at, dim in enumerate(dims):
        alone = prefix(embedding, dim)
        gram = vectors[:, :dim] @ vectors[:, :dim].T
        eigenvalues = np.linalg.eigvalsh(gram)
        rank = np.linalg.matrix_rank(vectors[:, :dim])
        ones = np.ones(len(task))
        assert analysis.gram_eigenvalues[at] == pytest.approx(eigenvalues, abs=1e-9)
        assert analysis.snr[at] == pytest.approx(eigenvalues[-1] * rank / np.trace(gram))
        assert analysis.signal_in_mean[at] == pytest.approx(
            ones @ gram @ ones / (len(task) * eigenvalues[-1])
        )
        assert analysis.fits[at].gamma == pytest.approx(
            fit_marchenko_pastur(gram, dim).gamma, rel=1e-6
        )
        assert analysis.accuracy[at] == accuracy_alone(alone, task)
        if dim > 1:  # in one dimension cosines are ±1, and predictions may vanish
            cosine, score = scores_alone(alone, task)
            assert analysis.cosine[at] == pytest.approx(cosine, rel=1e-5)
            assert analysis.normalized_score[at] == pytest.approx(score, rel=1e-5)
    assert analysis.accuracy.max() > 0


@settings(max_examples=60)
@given(
    vectors=arrays(np.float32, (9, 4), elements=st.integers(-3, 3).map(float)),
    dims=st.sets(st.integers(1, 4), min_size=1),
)
def test_ties_and_zero_vectors_are_treated_as_in_the_evaluation(
    vectors: NDArray[np.float32], dims: set[int]
) -> None:
    embedding = Embedding(WORDS[:9], vectors)
    task = Task("small", (("w0", "w1"), ("w2", "w3"), ("w4", "w1"), ("w5", "w6")))
    differences = task_vectors(embedding, task)
    if any(np.ptp(differences[:, :dim], axis=0).max() == 0 for dim in dims):
        return  # no noise to fit
    analysis = analyze_task(embedding, task, dims)
    for dim, accuracy in zip(analysis.dims, analysis.accuracy, strict=True):
        assert accuracy == accuracy_alone(prefix(embedding, dim), task)


@pytest.mark.usefixtures("gensim")
def test_a_text_has_the_accuracy_of_the_evaluation(text_embedding: Embedding) -> None:
    tasks = {t.name: t for t in read_tasks("google")}
    task = tasks["gram6-nationality-adjective"].restrict(text_embedding)
    analysis = analyze_task(text_embedding, task, (7, 30, 100))
    for dim, accuracy in zip(analysis.dims, analysis.accuracy, strict=True):
        assert accuracy == accuracy_alone(prefix(text_embedding, dim), task)
    assert analysis.accuracy.max() > 0.2


@pytest.mark.real_text
@pytest.mark.usefixtures("gensim")
def test_the_mean_task_vector_has_nearly_all_of_the_signal(text_embedding: Embedding) -> None:
    tasks = {t.name: t for t in read_tasks("google")}
    task = tasks["gram6-nationality-adjective"].restrict(text_embedding)
    assert analyze_task(text_embedding, task, (7, 30, 100)).signal_in_mean.max() > 0.9


def test_localization_is_where_the_mean_task_vector_lies() -> None:
    embedding = Embedding(WORDS[:6], np.array([[0, 0], [2, 2], [1, 1], [5, -3], [2, 0], [5, 4]]))
    task = Task("x", (("w0", "w1"), ("w2", "w3"), ("w4", "w5")))
    analysis = analyze_task(embedding, task, dims=[2])
    mean = np.array([3.0, 2 / 3])
    shares = mean**2 / (mean @ mean)
    assert analysis.localization == pytest.approx(shares)
    assert analysis.participation_ratio == pytest.approx(1 / np.sum(shares**2))
    assert analyze_task(embedding, task, dims=[1, 2]).participation_ratios == pytest.approx(
        [1.0, analysis.participation_ratio]
    )


@pytest.mark.parametrize("normalize", ["words", "differences"])
def test_normalized_task_vectors_are_normalized_in_every_dimension(normalize: Any) -> None:
    embedding, dims = random_embedding(), (2, 5, 12)
    analysis = analyze_task(embedding, PAIRS, dims, normalize=normalize)
    for at, dim in enumerate(dims):
        vectors = embedding.vectors[:14, :dim].astype(float)
        if normalize == "words":
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        rows = vectors[7:] - vectors[:7]
        if normalize == "differences":
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        np.testing.assert_allclose(
            task_vectors(embedding, PAIRS, dim, normalize=normalize), rows, atol=1e-6
        )
        assert analysis.gram_eigenvalues[at] == pytest.approx(
            np.linalg.eigvalsh(rows @ rows.T), abs=1e-6
        )
    with pytest.raises(SettingError, match="normalize must be words, differences or None"):
        task_vectors(embedding, PAIRS, normalize="all")  # type: ignore[arg-type]


def test_principal_axes_give_turned_vectors_their_dimensions_back() -> None:
    embedding = principal_axes(random_embedding())
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    turned = principal_axes(Embedding(WORDS, embedding.vectors @ turn))
    one, other = (analyze_task(each, PAIRS, (2, 6, 12)) for each in (embedding, turned))
    assert other.snr == pytest.approx(one.snr, rel=1e-4)
    assert other.localization == pytest.approx(one.localization, abs=1e-4)


def test_unknown_words_are_dropped_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    task = Task("mixed", (*PAIRS.pairs, ("w0", "nowhere"), ("never", "w1")))
    with caplog.at_level(logging.WARNING):
        vectors = task_vectors(random_embedding(), task)
    assert len(vectors) == 7
    assert "2 of the 9 pairs of task 'mixed'" in caplog.text
    analysis = analyze_task(random_embedding(), task)
    assert analysis.task.dropped == (("w0", "nowhere"), ("never", "w1"))
    with pytest.raises(DataError, match="has 1 of its 2 pairs among the 40 words"):
        task_vectors(random_embedding(), Task("few", (("w0", "w1"), ("w2", "w99"))))


def test_dimensions_are_a_grid_or_those_given() -> None:
    grid = dimension_grid(2048)
    assert (grid[0], grid[-1], len(grid)) == (4, 2048, 20)
    assert dimension_grid(2) == (2,)
    embedding = random_embedding()
    assert analyze_task(embedding, PAIRS, [12, 4, 4]).dims == (4, 12)
    for wrong in ([], [0, 4], [13]):
        with pytest.raises(SettingError, match="dims must lie between 1 and 12"):
            analyze_task(embedding, PAIRS, wrong)


def test_an_analysis_is_json() -> None:
    analysis = analyze_task(random_embedding(), PAIRS)
    plain = json.loads(json.dumps(analysis.to_dict(), allow_nan=False))
    assert plain["task"] == "pairs"
    assert plain["snr"] == pytest.approx(analysis.snr)
    assert len(plain["fits"]) == len(plain["gram_eigenvalues"]) == len(plain["dims"])
    assert "SNR" in repr(analysis)


@pytest.mark.parametrize("noise", [0.7, 0.9, 1.1])
def test_accuracy_is_what_noise_and_spacing_predict(noise: float) -> None:
    """Words with a common difference plus noise, among many others: nothing is fitted."""
    rng, pairs, dim = np.random.default_rng(5), 40, 30
    sources = rng.standard_normal((pairs, dim))
    targets = sources + 2 * np.eye(dim)[0] + noise * rng.standard_normal((pairs, dim))
    rest = rng.standard_normal((1_500, dim)) + 0.5 * np.eye(dim)[0]
    words = [f"w{k}" for k in range(2 * pairs + len(rest))]
    space = Embedding(words, np.concatenate([sources, targets, rest]))
    task = Task("shifted", tuple(zip(words[:pairs], words[pairs : 2 * pairs], strict=True)))
    found = analyze_task(space, task, dims=[dim])
    assert 0.1 < found.accuracy[0] < 0.95
    assert found.predicted_accuracy[0] == pytest.approx(found.accuracy[0], abs=0.08)


def test_a_concept_with_little_noise_is_predicted_to_be_known() -> None:
    rng = np.random.default_rng(6)
    sources = rng.standard_normal((8, 20))
    words = [f"w{k}" for k in range(16)]
    targets = sources + 1 + 0.01 * rng.standard_normal((8, 20))
    space = Embedding(words, np.concatenate([sources, targets]))
    task = Task("same", tuple(zip(words[:8], words[8:], strict=True)))
    assert analyze_task(space, task, dims=[20]).predicted_accuracy[0] > 0.99
