"""The population gradient of each loss and weighting, against differences of the loss; rates."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.errors import ConvergenceError, SettingError
from qwem.target import mstar, setting31
from qwem.training import (
    LOGISTIC,
    QUARTIC,
    contrastive,
    population,
    stable_rate,
    train,
    word2vec_reweighting,
)
from qwem.training.exact import PairwiseObjective, QuadraticObjective
from qwem.training.weighting import pair_weights
from target.count_matrices import probabilities, random_counts
from training.cases import LOSSES, cases, plain_loss, topical_text, weightings

SIZE, DIM = 12, 3
COUNTS = random_counts(SIZE, density=0.6)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize(("loss", "weighting"), cases(SIZE))
def test_the_gradient_is_that_of_the_loss(loss: str, weighting: str, tied: bool) -> None:
    of, reweighting = LOSSES[loss], weightings(SIZE)[weighting]
    trainer = population(COUNTS, of, reweighting, dim=DIM, rate=1.0, tied=tied, dtype=np.float64)
    state = trainer.init(0.5, seed=3)
    value, gradients = trainer.evaluate(state)
    w = np.asarray(state.vectors)
    c = np.asarray(state.context_vectors)
    assert float(value) == pytest.approx(plain_loss(COUNTS, of, reweighting, w, c), rel=1e-9)

    moves = np.random.default_rng(0).standard_normal((4, *w.shape))
    step = 1e-5
    for number, gradient in enumerate(gradients):
        for move in moves:
            left = step * move * (number == 0)
            right = step * move if tied else step * move * (number == 1)
            ahead = plain_loss(COUNTS, of, reweighting, w + left, c + right)
            behind = plain_loss(COUNTS, of, reweighting, w - left, c - right)
            slope = float(np.sum(np.asarray(gradient) * move))
            assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("loss", "weighting"), cases(SIZE))
def test_weights_of_pairs_are_those_of_the_reweighting(loss: str, weighting: str) -> None:
    of, reweighting = LOSSES[loss], weightings(SIZE)[weighting]
    pairs, expected = probabilities(COUNTS)
    positive, negative = pair_weights(COUNTS, reweighting, of).toarrays()
    curvature = of.relative_curvature
    psi = reweighting.positive_weight(COUNTS, curvature=curvature)
    np.testing.assert_allclose(positive, psi * pairs, rtol=1e-12)
    psi = reweighting.negative_weight(COUNTS, curvature=curvature)
    np.testing.assert_allclose(negative, psi * expected, rtol=1e-12)


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize(
    ("weighting", "dense"),
    [("setting31-negatives", True), ("setting31-rank-one", True), ("setting31-rank-one", False)],
)
def test_products_with_mstar_equal_the_sum_over_pairs(
    weighting: str, tied: bool, dense: bool
) -> None:
    counts = random_counts(60, density=0.1)
    reweighting = weightings(60)[weighting]
    trainer = population(counts, QUARTIC, reweighting, dim=4, rate=1.0, tied=tied, dtype="f8")
    state = trainer.init(0.7)
    sides = state.parameters
    weighed = pair_weights(counts, reweighting, QUARTIC)
    with trainer.precision():
        target = mstar(counts, reweighting=reweighting, dtype=np.float64, dense=dense)
        assert target.is_dense == dense
        products = QuadraticObjective(target, weighed.shared, trainer.dtype)
        pairs = PairwiseObjective(weighed, QUARTIC, trainer.dtype)
        loss, gradients = products.evaluate(sides, 0, 0)
        expected, slopes = pairs.evaluate(sides, 0, 0)
    assert float(loss) == pytest.approx(float(expected), rel=1e-12)
    for gradient, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("density", [0.1, 0.9], ids=["sparse", "dense"])
def test_shrinkage_adds_evidence_of_independence(density: float) -> None:
    """L = ¼‖WWᵀ − M‖² − ¼‖M‖² with M = 2(C − E)/(C + E + α), and so in both exact forms."""
    alpha = 7.0
    counts = random_counts(30, density=density)
    trainer = population(counts, dim=4, rate=1.0, shrinkage=alpha, dtype=np.float64)
    state = trainer.init(0.7)
    w = np.asarray(state.vectors)
    seen = counts.symmetric.toarray().astype(float)
    words = counts.word_counts / counts.word_counts.sum()
    expected = seen.sum() * np.outer(words, words)
    shrunk = 2 * (seen - expected) / (seen + expected + alpha)
    value = np.sum((w @ w.T - shrunk) ** 2 - shrunk**2) / 4
    slope = (w @ w.T - shrunk) @ w
    with trainer.precision():
        pairs = PairwiseObjective(
            pair_weights(counts, setting31(), QUARTIC, alpha), QUARTIC, trainer.dtype
        )
        for objective in (trainer.objective, pairs):
            loss, (gradient,) = objective.evaluate((state.vectors,), 0, 0)
            assert float(loss) == pytest.approx(value, rel=1e-10)
            np.testing.assert_allclose(gradient, slope, atol=1e-9)


@pytest.mark.parametrize(
    ("density", "weighting"),
    [(0.1, "word2vec"), (0.9, "setting31")],
    ids=["sparse-word2vec", "dense-setting31"],
)
def test_blocks_make_no_difference(density: float, weighting: str) -> None:
    counts = random_counts(50, density=density)
    assert isinstance(counts.symmetric.matrix, np.ndarray) == (density > 0.5)
    reweighting = weightings(50)[weighting]
    trainer = population(counts, LOGISTIC, reweighting, dim=3, rate=1.0, dtype=np.float64)
    state = trainer.init(1.0)
    whole, (expected,) = trainer.evaluate(state)
    weighed = pair_weights(counts, reweighting, LOGISTIC)
    with trainer.precision():
        source = PairwiseObjective(weighed, LOGISTIC, trainer.dtype, block_entries=333)
        loss, (gradient,) = source.evaluate((state.vectors,), 0, 0)
    assert float(loss) == pytest.approx(float(whole), rel=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-13)


def test_single_precision_is_close_to_double() -> None:
    counts = Cooccurrence.count(topical_text(), 4)
    gradients = []
    for dtype in (np.float32, np.float64):
        trainer = population(counts, LOGISTIC, setting31(), dim=4, rate=1.0, dtype=dtype)
        state = trainer.init(0.5)
        assert state.vectors.dtype == dtype
        _, (gradient,) = trainer.evaluate(state)
        assert gradient.dtype == dtype
        gradients.append(np.asarray(gradient))
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-4, atol=1e-5)
    assert jnp.zeros(1).dtype == np.float32


def test_the_combined_sides_of_the_logistic_loss_are_its_sides() -> None:
    apart = contrastive(LOGISTIC.positive, LOGISTIC.negative)
    np.testing.assert_allclose(apart.curvature, LOGISTIC.curvature, rtol=1e-9)
    x = jnp.linspace(-90, 90, 401)
    a, b = jnp.linspace(0, 2, 401), jnp.linspace(3, 1, 401)
    for one, other in zip(LOGISTIC.costs(x, a, b), apart.costs(x, a, b), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_what_makes_no_sense_is_refused() -> None:
    refused: list[Any] = [
        {"rate": None},
        {"dim": 0},
        {"dim": SIZE + 1},
        {"dtype": np.int32},
        {"method": "newton"},
        {"rate": -1.0},
        {"shrinkage": -1.0},
    ]
    for wrong in refused:
        with pytest.raises(SettingError):
            population(COUNTS, **{"dim": DIM, "rate": 1.0, **wrong})
    trainer = population(COUNTS, dim=DIM, rate=1.0)
    starts: list[Any] = [
        {},
        {"init_scale": -1.0},
        {"init_scale": 1.0, "seed": -1},
        {"vectors": np.ones((SIZE, DIM + 1))},
        {"vectors": np.ones((SIZE, DIM)), "context_vectors": np.ones((SIZE, DIM))},
    ]
    for start in starts:
        with pytest.raises(SettingError):
            trainer.init(**start)


def counts_of(size: int = 12, seed: int = 0) -> Cooccurrence:
    square = np.random.default_rng(seed).integers(0, 20, (size, size))
    return Cooccurrence.from_matrix([f"w{i}" for i in range(size)], square + square.T)


def test_the_stable_rate_is_half_the_inverse_of_the_largest_eigenvalue() -> None:
    counts = counts_of()
    values = np.linalg.eigvalsh(mstar(counts, dtype=np.float64).toarray())
    assert 0.5 / stable_rate(counts) == pytest.approx(np.abs(values).max(), rel=1e-2)


@pytest.mark.parametrize(
    ("loss", "weighting", "tied"),
    [
        (QUARTIC, setting31(), True),
        (QUARTIC, word2vec_reweighting(), False),
        (LOGISTIC, setting31(), False),
        (LOGISTIC, word2vec_reweighting(), True),
    ],
)
def test_steps_of_it_go_down_all_the_way(loss: Any, weighting: Any, tied: bool) -> None:
    counts = counts_of()
    rate = stable_rate(counts, loss, weighting, tied=tied)
    trainer = population(counts, loss, weighting, dim=3, rate=rate, tied=tied, dtype=np.float64)
    trace = train(trainer, trainer.init(0.1), steps=150, record_every=1)
    assert np.all(np.diff(trace.losses) <= 1e-12 * np.abs(trace.losses).max())
    assert trace.losses[-1] < trace.losses[0]


def test_far_larger_steps_diverge() -> None:
    """So that the bound means something."""
    counts = counts_of()
    trainer = population(counts, dim=3, rate=10 * stable_rate(counts))
    with pytest.raises(ConvergenceError, match="smaller rate"):
        train(trainer, trainer.init(0.1), steps=300, record_every=1)
