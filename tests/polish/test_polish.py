"""Polishing: what it promises of the loss, of its vectors and of scores on real text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.optimize import minimize

import qwem
from in_threads import in_threads
from polish.statistics import (
    DIM,
    closed_form,
    dense_weights,
    exact_loss,
    parabolic_loss,
    some_counts,
)
from qwem._internal.resources import blas_threads
from qwem.errors import CountError, SettingError
from qwem.evaluation import evaluate_analogies, evaluate_similarity
from qwem.polish import Polished, polish
from qwem.polish.loss import Statistics, Word2vecLoss
from qwem.polish.polished import Start
from qwem.polish.sweep import ROUNDED_TOL
from qwem.target import mstar, rank_one, setting31, word_probability

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem import Cooccurrence
    from qwem.embedding import Embedding

    Array = NDArray[np.float64]


def products_of(polished: Polished, counts: Cooccurrence) -> Array:
    """The logits, less those of independent words."""
    words, contexts, *_ = polished.start
    logits = words @ contexts.T + polished.contexts.bias
    return logits - dense_weights(counts).bias


def test_loss_falls_in_every_half_sweep() -> None:
    counts = some_counts()
    polished = polish(closed_form(counts), counts, sweeps=20, tol=0)
    assert polished.sweeps == 20
    assert len(polished.losses) == 40
    assert np.all(np.diff(polished.losses) < 0)
    assert polished.losses[-1] < 0, "words that are not independent are better than independent"


def test_losses_are_those_of_the_vectors() -> None:
    counts = some_counts()
    one, two = (polish(closed_form(counts), counts, sweeps=n, tol=0) for n in (1, 2))
    weights = dense_weights(counts, evidence=100.0)
    found = parabolic_loss(products_of(one, counts), weights)
    assert two.losses[2] == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize(("size", "dim", "least"), [(40, 5, 1e-3), (400, 100, 1e-4)])
def test_sixteen_bits_change_losses_little_and_less_in_more_dimensions(
    size: int, dim: int, least: float
) -> None:
    counts = some_counts(size=size)
    spectrum = qwem.fit(counts, dim=dim, polish=False).spectrum
    exact, rounded = (
        polish(spectrum, counts, sweeps=1, tol=tol).losses for tol in (0, ROUNDED_TOL)
    )
    assert rounded[0] != exact[0]
    assert rounded[0] == pytest.approx(exact[0], rel=least)


def test_it_goes_to_the_minimum() -> None:
    """Many sweeps end where a general minimizer of the loss by its definition ends."""
    counts = some_counts(size=40)
    spectrum = closed_form(counts, dim=3)
    weights = dense_weights(counts, evidence=100.0)
    shape = (2, *spectrum.eigenvectors.shape)

    def loss(flat: Array) -> float:
        word, context = flat.reshape(shape)
        return parabolic_loss(word @ context.T, weights)

    start = np.stack([spectrum.embedding().vectors, spectrum.context_embedding().vectors])
    best = minimize(loss, start.ravel().astype(np.float64), method="L-BFGS-B")
    polished = polish(spectrum, counts, sweeps=400, tol=0)
    assert polished.losses[-1] == pytest.approx(best.fun, rel=2e-3)


def test_the_parabola_serves_as_well_as_the_exact_loss() -> None:
    """What is lost by the parabola for unseen pairs is little of what polishing wins."""
    counts = some_counts(size=60)
    spectrum = closed_form(counts, dim=4)
    weights = dense_weights(counts)
    shape = (2, *spectrum.eigenvectors.shape)

    def loss(flat: Array) -> float:
        word, context = flat.reshape(shape)
        return exact_loss(word @ context.T, weights)

    start = np.stack([spectrum.embedding().vectors, spectrum.context_embedding().vectors])
    flat = start.ravel().astype(np.float64)
    best = minimize(loss, flat, method="L-BFGS-B", options={"maxiter": 100}).fun
    polished = polish(spectrum, counts, sweeps=200, tol=0, evidence=0.0)
    found = exact_loss(products_of(polished, counts), weights)
    assert best <= found < best + 0.1 * (loss(flat) - best)


def test_polishing_stops_once_the_words_hardly_lower_the_loss() -> None:
    counts, tol = some_counts(), 0.01
    polished = polish(closed_form(counts), counts, tol=tol, sweeps=20)
    losses = polish(closed_form(counts), counts, tol=0, sweeps=20).losses
    assert polished.converged
    last = len(polished.losses) - 1
    assert last % 2 == 1, "a half of the words"
    assert 2 <= last < 30
    falls = 3 * (losses[1:last:2] - losses[2 : last + 1 : 2])
    assert np.all(falls >= tol * -losses[1:last:2])
    # What a step is sure to lower the loss by is at least half of what it does.
    assert 3 * (losses[last] - losses[last + 1]) < 2 * tol * -losses[last]
    assert not polish(closed_form(counts), counts, sweeps=2, tol=0).converged


def test_same_bits_for_any_number_of_threads() -> None:
    counts = some_counts(size=200)
    spectrum = closed_form(counts)
    runs = [in_threads(count, lambda: polish(spectrum, counts)) for count in (1, 2, 5)]
    for run in runs[1:]:
        assert np.array_equal(run.words.vectors, runs[0].words.vectors)
        assert np.array_equal(run.contexts.vectors, runs[0].contexts.vectors)
        assert np.array_equal(run.losses, runs[0].losses)


def test_weights_of_many_words_do_not_depend_on_threads() -> None:
    sums = np.random.default_rng(0).random(50_000)  # enough for BLAS to use threads
    statistics = Statistics(np.ones(50_000, np.int64), sums, sums, 50_000, 1)
    weights = []
    for number in (1, 2):
        with blas_threads(number):
            loss = Word2vecLoss(statistics, negatives=5.0, exponent=0.75, coupling=sums**0.4)
            weights.append((*loss.word_coupling, *loss.context_coupling, loss.of_words().weight[0]))
    assert weights[0] == weights[1]


def test_the_coupling_of_the_spectrum_weights_pairs() -> None:
    counts = some_counts()
    weight = word_probability(counts) ** -0.4
    coupled = qwem.factorize(
        mstar(counts, reweighting=setting31() * rank_one(weight)), DIM, signed=True
    )
    polished = polish(coupled, counts, sweeps=1, tol=0)
    word, context = coupled.embedding().vectors, coupled.context_embedding().vectors
    weights = dense_weights(counts, evidence=100.0, coupling=weight)
    expected = parabolic_loss((word @ context.T).astype(np.float64), weights)
    assert polished.losses[0] == pytest.approx(expected, rel=1e-5)


def test_evidence_keeps_rare_words_near_zero() -> None:
    counts = some_counts()

    def share_of_rare(evidence: float) -> float:
        lengths = polish(closed_form(counts), counts, evidence=evidence).words.norms
        return float(lengths[-20:].mean() / lengths[:20].mean())

    assert share_of_rare(300.0) < 0.8 * share_of_rare(3.0)


def test_callback_sees_every_sweep() -> None:
    counts = some_counts()
    seen: list[float] = []
    polish(closed_form(counts), counts, sweeps=3, tol=0, callback=lambda r: seen.append(r.sweeps))
    assert seen == [1, 2, 3]


def test_no_sweeps_is_the_closed_form() -> None:
    counts = some_counts()
    spectrum = closed_form(counts)
    polished = polish(spectrum, counts, sweeps=0)
    whole = spectrum.embedding().vectors @ spectrum.context_embedding().vectors.T
    np.testing.assert_allclose(products_of(polished, counts), whole, atol=1e-3)
    assert polished.sweeps == 0


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"sweeps": -1}, "sweeps"),
        ({"sweeps": 1.5}, "sweeps"),
        ({"negatives": 0}, "negatives"),
        ({"exponent": float("nan")}, "exponent"),
        ({"evidence": -1}, "evidence"),
        ({"tol": 1}, "tol"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], names: str) -> None:
    counts = some_counts()
    with pytest.raises(SettingError, match=names):
        polish(closed_form(counts), counts, **settings)


def test_it_goes_on_from_an_earlier_result() -> None:
    counts = some_counts()
    cold = polish(closed_form(counts), counts, sweeps=1, tol=0)
    one, three = (
        polish(closed_form(counts), counts, sweeps=n, tol=0, start=cold.start) for n in (1, 3)
    )
    start = one.start
    more = polish(closed_form(counts), counts, sweeps=2, tol=0, start=start)
    assert more.losses == pytest.approx(three.losses[2:], rel=1e-4)
    assert np.allclose(products_of(more, counts), products_of(three, counts), atol=1e-3)
    with pytest.raises(SettingError, match="start must have matrices"):
        polish(closed_form(counts), counts, start=Start(start[0][:, 1:], start[1][:, 1:]))


def test_from_where_it_ended_half_a_sweep_is_enough() -> None:
    counts = some_counts()
    one = polish(closed_form(counts), counts, sweeps=30, tol=0.001)
    ended = one.start
    assert one.sweeps > 2
    again = polish(closed_form(counts), counts, tol=0.001, start=ended)
    one_more = polish(closed_form(counts), counts, sweeps=1, tol=0, start=ended)
    assert (again.sweeps, again.converged) == (0.5, True)
    assert np.array_equal(again.losses, one_more.losses[:1])
    assert (
        polish(closed_form(counts), counts, tol=0.001, start=Start(ended[1], ended[0])).sweeps > 1
    )


def test_words_must_be_the_same() -> None:
    counts = some_counts()
    with pytest.raises(SettingError, match="same words in the same order"):
        polish(closed_form(counts), counts.restrict(50))


def test_every_word_must_occur() -> None:
    counts = some_counts()
    with pytest.raises(CountError, match="every word occurs"):
        polish(closed_form(counts), counts - counts)


def practical(corpus: qwem.Corpus, dim: int) -> tuple[qwem.Spectrum, Cooccurrence]:
    """Return what the practical preset polishes."""
    counts = qwem.Cooccurrence.count(corpus, 5, subsample=1e-3)
    target = mstar(
        counts,
        shrinkage=10.0,
        reweighting=setting31() * rank_one(word_probability(counts) ** -0.2),
    )
    return qwem.factorize(target, dim, signed=True), counts


@pytest.mark.usefixtures("gensim")
def test_polishing_makes_more_analogies_right(text_corpus: qwem.Corpus) -> None:
    spectrum, counts = practical(text_corpus, 40)
    before, after = (
        evaluate_analogies(embedding, "google").accuracy
        for embedding in (spectrum.embedding(), polish(spectrum, counts).embedding())
    )
    assert after > before + 0.01


def test_polishing_raises_scores_on_real_text(real_data: Path) -> None:
    corpus = qwem.Corpus.from_files(
        real_data / "enwiki-2M.parquet", vocab_size=6_000, tokenizer="ascii", min_tokens=500
    )
    spectrum, counts = practical(corpus, 100)
    benchmarks = real_data / "benchmarks"

    def scores(embedding: Embedding) -> tuple[float, float]:
        analogies = evaluate_analogies(embedding, benchmarks / "google-analogies.txt")
        return analogies.accuracy, evaluate_similarity(embedding, benchmarks / "men.txt").spearman

    before, after = scores(spectrum.embedding()), scores(polish(spectrum, counts).words)
    assert after[0] > before[0] + 0.02
    assert after[1] > before[1] + 0.01
