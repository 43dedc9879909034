"""Findings of the training figures: they measure modes, and depend on no clock."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem import Cooccurrence, factorize, mstar
from qwem.dynamics import closed_form
from qwem.paper.ablation import curve_distance, mode_separation
from qwem.training import population, train

if TYPE_CHECKING:
    from qwem import Spectrum
    from qwem.training import Trace

WORDS, DIM = 30, 4


@pytest.fixture(scope="module")
def counts() -> Cooccurrence:
    random = np.random.default_rng(0)
    hidden = random.normal(size=(WORDS, DIM)) * (1.4, 1.1, 0.9, 0.7)
    rates = np.exp(3.0 + hidden @ hidden.T / 2)
    pairs = random.poisson((rates + rates.T) / 2)
    return Cooccurrence.from_matrix(
        [f"w{k:02}" for k in range(WORDS)], np.triu(pairs) + np.triu(pairs, 1).T
    )


@pytest.fixture(scope="module")
def spectrum(counts: Cooccurrence) -> Spectrum:
    return factorize(mstar(counts, dtype=np.float64), DIM, tol=1e-8)


@pytest.fixture(scope="module")
def trace(counts: Cooccurrence, spectrum: Spectrum) -> Trace:
    rate = 0.2 / spectrum.eigenvalues[0]
    trainer = population(counts, dim=DIM, rate=rate, method="rk4", dtype=np.float64)
    until = 1.3 * float(closed_form(spectrum, init_scale=1e-6).learning_times.max())
    return train(trainer, trainer.init(1e-6), until=until, record_every=1, reference=spectrum)


def faster(trace: Trace, factor: float) -> Trace:
    """The same course on another clock, and recorded half as often."""
    assert trace.subspace_alignment is not None
    return replace(
        trace,
        times=trace.times[::2] / factor,
        steps=trace.steps[::2],
        losses=trace.losses[::2],
        accuracy=trace.accuracy[::2],
        singular_values=trace.singular_values[::2],
        subspace_alignment=trace.subspace_alignment[::2],
    )


def test_modes_from_a_small_start_are_separate(trace: Trace) -> None:
    assert mode_separation(trace).min() > 0.95


def test_modes_of_another_matrix_are_not(counts: Cooccurrence, trace: Trace) -> None:
    """The same run against random directions: of k among V, k/V by chance."""
    random = np.linalg.qr(np.random.default_rng(1).normal(size=(WORDS, DIM)))[0]
    vectors = np.linalg.svd(trace.vectors, full_matrices=False)[0]
    inside = np.array([np.sum((random[:, :k].T @ vectors[:, :k]) ** 2) / k
                       for k in range(1, DIM + 1)])  # fmt: skip
    turned = replace(trace, subspace_alignment=np.tile(inside, (len(trace.steps), 1)))
    assert mode_separation(turned) == pytest.approx(inside)
    assert mode_separation(turned).max() < 0.5


def test_a_change_of_clock_changes_nothing(trace: Trace) -> None:
    other = faster(trace, 1.3)
    assert mode_separation(other) == pytest.approx(mode_separation(trace), abs=0.01)
    assert curve_distance(trace, other) < 0.005


def test_another_course_is_at_a_distance(trace: Trace) -> None:
    """Modes that grow together are not the modes that grow one after the other."""
    level = np.linspace(0, 1, len(trace.steps))[:, None]
    together = replace(trace, singular_values=level * trace.singular_values[-1])
    assert curve_distance(trace, together) > 0.2
