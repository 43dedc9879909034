"""Training for real beside the theory, on one axis of time and with nothing fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dynamics.gradient_flow import singular_values, spectrum_of, untied_flow
from qwem.cooccurrence import Cooccurrence
from qwem.dynamics import closed_form, exact_flow
from qwem.dynamics.flow import requiv_distance
from qwem.spectrum import factorize
from qwem.target import mstar, rank_one, setting31
from qwem.target.reweighting import unweighted
from qwem.training import LOGISTIC, QUARTIC, population, stochastic, train, word2vec_reweighting
from target.count_matrices import probabilities
from training.cases import topical_text

CORPUS = topical_text()
COUNTS = Cooccurrence.count(CORPUS, 4)
MATRIX = mstar(COUNTS, dtype=np.float64).toarray()
VALUES, BASIS = (part[..., ::-1] for part in np.linalg.eigh(MATRIX))
DIM = 4
FASTEST = float(np.abs(VALUES).max())


def run(trainer: Any, start: Any, until: float, looks: int = 40) -> Any:
    step = trainer.time_per_rate * trainer.rate.rate
    every = max(1, round(until / step / looks))
    return train(trainer, start, until=until, record_every=every, snapshot_every=every)


@pytest.mark.parametrize("scale", [1e-5, 0.3])
def test_fourth_order_steps_follow_the_exact_flow(scale: float) -> None:
    trainer = population(COUNTS, dim=DIM, rate=0.05 / FASTEST, method="rk4", dtype=np.float64)
    start = trainer.init(scale)
    until = float(
        1.5
        * closed_form(
            factorize(mstar(COUNTS, dtype=np.float64), DIM), init_scale=scale
        ).learning_times[-1]
    )
    trace = run(trainer, start, max(until, 3.0))
    flow = exact_flow(VALUES, BASIS.T @ np.asarray(start.vectors), trace.times)
    for step, expected in zip(trace.steps, flow, strict=True):
        (vectors,) = trace.snapshots[int(step)]
        assert requiv_distance(BASIS.T @ vectors, expected) < 1e-4


def test_plain_steps_approach_the_flow_at_first_order() -> None:
    errors = []
    for rate in (0.1 / FASTEST, 0.05 / FASTEST):
        trainer = population(COUNTS, dim=DIM, rate=rate, dtype=np.float64)
        start = trainer.init(0.1)
        trace = train(trainer, start, until=1.0)
        flow = exact_flow(VALUES, BASIS.T @ np.asarray(start.vectors), [trace.times[-1]])
        errors.append(requiv_distance(BASIS.T @ trace.vectors, next(iter(flow))))
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.2)


def test_small_starts_follow_the_closed_form() -> None:
    spectrum = factorize(mstar(COUNTS, dtype=np.float64), DIM)
    worst = []
    for scale in (1e-2, 1e-5):
        trainer = population(COUNTS, dim=DIM, rate=0.2 / FASTEST, method="rk4", dtype=np.float64)
        start = trainer.init(scale)
        theory = closed_form(spectrum, initial_vectors=np.asarray(start.vectors))
        trace = run(trainer, start, float(1.5 * theory.learning_times.max()))
        curves = np.sort(theory.singular_values(trace.times))[:, ::-1]
        errors = np.abs(trace.singular_values - curves) / np.sqrt(spectrum.eigenvalues)
        worst.append(errors.max())
        np.testing.assert_allclose(
            trace.losses[[0, -1]], theory.loss(trace.times[[0, -1]]), rtol=0.02, atol=1e-3
        )
    assert worst[1] < 0.05
    assert worst[1] < worst[0]


def test_singular_vectors_align_silently() -> None:
    """V(t) turns to V* while every s_k is still small, and as the exact flow says."""
    spectrum = factorize(mstar(COUNTS, dtype=np.float64), DIM, tol=1e-10)
    trainer = population(COUNTS, dim=DIM, rate=0.1 / FASTEST, method="rk4", dtype=np.float64)
    start = trainer.init(1e-6, seed=1)
    theory = closed_form(spectrum, initial_vectors=np.asarray(start.vectors))
    until = float(1.5 * theory.learning_times.max())
    trace = train(trainer, start, until=until, record_every=5, reference=spectrum)
    assert trace.alignment is not None
    assert trace.subspace_alignment is not None
    flow = exact_flow(VALUES, BASIS.T @ np.asarray(start.vectors), trace.times)
    for row, state in enumerate(flow):
        overlaps = np.linalg.svd(state)[0][:, :DIM] ** 2  # in the eigenbasis V* is the identity
        np.testing.assert_allclose(trace.alignment[row], np.diagonal(overlaps), atol=1e-3)
        for k in range(1, DIM + 1):
            inside = overlaps[:k, :k].sum() / k
            assert trace.subspace_alignment[row, k - 1] == pytest.approx(inside, abs=1e-3)
    early = np.argmax(trace.singular_values[:, 0] ** 2 > 0.01 * VALUES[0])
    assert trace.alignment[0, 0] < 0.5
    assert trace.alignment[early, 0] > 0.9
    assert np.all(trace.alignment[-1] > 0.99)


def test_aligned_untied_starts_follow_the_closed_form_of_either_sign() -> None:
    chosen = [0, 1, len(VALUES) - 1]
    values, vectors = VALUES[chosen], BASIS[:, chosen]
    assert values[-1] < 0
    theory = closed_form(
        spectrum_of(values, vectors, signed=True), initial_singular_values=[1e-3, 1e-4, 1e-3]
    )
    trainer = population(
        COUNTS, dim=3, rate=0.1 / FASTEST, method="rk4", tied=False, dtype=np.float64
    )
    start = trainer.init(vectors=theory.vectors(0.0), context_vectors=theory.context_vectors(0.0))
    until = float(1.2 * theory.learning_times.max())
    trace = run(trainer, start, until)
    curves = np.sort(theory.singular_values(trace.times))[:, ::-1]
    np.testing.assert_allclose(trace.singular_values, curves, rtol=1e-3)
    np.testing.assert_allclose(trace.losses, theory.loss(trace.times), rtol=2e-3, atol=1e-4)
    product = trace.vectors @ trace.context_vectors.T
    np.testing.assert_allclose(
        product,
        theory.vectors(trace.times[-1]) @ theory.context_vectors(trace.times[-1]).T,
        atol=1e-2,
    )


def test_random_untied_starts_follow_the_flow() -> None:
    trainer = population(
        COUNTS, dim=2, rate=0.1 / FASTEST, method="rk4", tied=False, dtype=np.float64
    )
    start = trainer.init(0.2, seed=5)
    trace = run(trainer, start, 2.0, looks=5)
    begin = np.asarray(start.vectors), np.asarray(start.context_vectors)
    left, right = untied_flow(MATRIX, begin[0], begin[1], trace.times)
    for step, w, c in zip(trace.steps, left, right, strict=True):
        vectors, context = trace.snapshots[int(step)]
        np.testing.assert_allclose(vectors @ context.T, w @ c.T, atol=1e-5)
    roots = np.sqrt(singular_values(left @ right.swapaxes(1, 2))[:, :2])
    np.testing.assert_allclose(trace.singular_values, roots, atol=1e-5)


def test_losses_share_one_time_near_the_origin() -> None:
    ends = []
    for loss in (QUARTIC, LOGISTIC):
        probe = population(COUNTS, loss, dim=DIM, rate=1.0)
        rate = 0.02 / FASTEST / probe.time_per_rate
        trainer = population(COUNTS, loss, dim=DIM, rate=rate, dtype=np.float64)
        ends.append(train(trainer, trainer.init(1e-4), until=6 / FASTEST).vectors)
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize(("loss", "unit"), [(QUARTIC, 2.0), (LOGISTIC, 1.0)])
def test_time_is_that_of_the_mean_coupling(loss: Any, unit: float) -> None:
    size = len(COUNTS.vocabulary)
    g = np.linspace(1, 3, size)
    for reweighting in (
        setting31(),
        unweighted(),
        word2vec_reweighting(0.02),
        rank_one(g),
        setting31() * rank_one(g),
    ):
        pairs, expected = probabilities(COUNTS)
        coupling = reweighting.positive_weight(COUNTS) * pairs
        coupling += reweighting.negative_weight(COUNTS) * expected
        trainer = population(COUNTS, loss, reweighting, dim=2, rate=0.5)
        assert trainer.time_per_rate == pytest.approx(unit * coupling.mean(), rel=1e-9)
        state, info = trainer.step(trainer.init(0.1))
        assert state.time == pytest.approx(0.5 * trainer.time_per_rate)
        assert info.rate == 0.5


def test_minibatches_follow_the_flow() -> None:
    trainer = stochastic(
        CORPUS, COUNTS, dim=DIM, rate=0.06 / FASTEST, batch_size=8_000, flatten=1.0
    )
    start = trainer.init(1e-2)
    trace = run(trainer, start, 8.0)
    flow = exact_flow(VALUES, BASIS.T @ np.asarray(start.vectors), trace.times)
    curves = np.array([singular_values(state) for state in flow])
    errors = np.abs(trace.singular_values - curves) / np.sqrt(VALUES[:DIM])
    assert trace.singular_values[-1, 1] > 0.9 * np.sqrt(VALUES[1])
    assert errors[:, :2].max() < 0.05
