"""Spiked model: its edge, spike and density are those of large random matrices, and its limits."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qwem.errors import SettingError
from qwem.interpretation import (
    MarchenkoPastur,
    SpikedModel,
    fit_marchenko_pastur,
    spiked_model,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNT, DIM = 300, 450
VARIANCES = {
    "equal": np.ones(DIM),
    "falling": np.geomspace(4, 0.05, DIM),
    "two levels": np.where(np.arange(DIM) < 90, 3.0, 0.2),
}


def draw(noise: NDArray[np.float64], mean: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Task vectors with this mean and these variances."""
    rng = np.random.default_rng(seed)
    return mean + rng.normal(size=(COUNT, len(noise))) * np.sqrt(noise)


def eigenvalues_of(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.linalg.eigvalsh(vectors @ vectors.T / vectors.shape[1])


def direction(kind: str) -> NDArray[np.float64]:
    """A unit vector: on the noisy features, on the quiet ones, or on all."""
    weights = {"first": np.arange(DIM) < 20, "last": np.arange(DIM) >= DIM - 20,
               "all": np.ones(DIM)}[kind].astype(float)  # fmt: skip
    return weights / np.linalg.norm(weights)


@pytest.mark.parametrize("kind", ["first", "last", "all"])
@pytest.mark.parametrize("name", VARIANCES)
@pytest.mark.parametrize("times", [0.3, 2.0, 5.0])
def test_the_largest_eigenvalue_is_the_spike_or_the_edge(
    name: str, kind: str, times: float
) -> None:
    """Below the threshold of Baik, Ben Arous and Péché it is the edge, above it the spike."""
    noise, unit = VARIANCES[name], direction(kind)
    threshold = SpikedModel(COUNT, unit, noise).threshold
    mean = unit * np.sqrt(times * threshold * DIM / COUNT)
    model = SpikedModel(COUNT, mean, noise)
    assert model.strength == pytest.approx(times * threshold)
    assert model.has_spike == (times > 1)
    found = np.mean([eigenvalues_of(draw(noise, mean, seed))[-1] for seed in range(4)])
    # The largest eigenvalue of a finite bulk stays below its edge (Tracy and Widom).
    assert found == pytest.approx(model.spike, rel=0.03 if times > 1 else 0.05)
    assert (model.spike > 1.02 * model.edge) == (times > 1)


@pytest.mark.parametrize("name", VARIANCES)
def test_the_density_is_the_histogram_of_a_large_matrix(name: str) -> None:
    noise = VARIANCES[name]
    model = SpikedModel(COUNT, np.zeros(DIM), noise)
    values = np.concatenate([eigenvalues_of(draw(noise, np.zeros(DIM), seed)) for seed in range(3)])
    cuts = np.quantile(values, [0, 0.2, 0.4, 0.6, 0.8, 1])
    for low, high in pairwise(cuts):
        grid = np.linspace(low, high, 200)
        assert np.trapezoid(model.density(grid), grid) == pytest.approx(0.2, abs=0.01)


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(5, 60),
    dim=st.integers(5, 60),
    variance=st.floats(0.01, 100),
    times=st.floats(0.1, 10),
)
def test_equal_variances_are_the_marchenko_pastur_law(
    count: int, dim: int, variance: float, times: float
) -> None:
    """Then the threshold is σ²√γ, and the spike (s + σ²)(s + γσ²)/s for a strength s above it."""
    gamma = count / dim
    law = MarchenkoPastur(gamma, variance)
    threshold = variance * np.sqrt(gamma)
    strength = times * threshold
    spike = (strength + variance) * (strength + gamma * variance) / strength
    mean = np.full(dim, np.sqrt(strength / count))
    model = SpikedModel(count, mean, np.full(dim, variance))
    assert model.edge == pytest.approx(law.support[1])
    assert model.threshold == pytest.approx(threshold)
    assert model.spike == pytest.approx(spike if times > 1 else law.support[1], rel=1e-6)
    lower, upper = law.support
    inside = lower + (upper - lower) * np.array([0.2, 0.5, 0.8])
    np.testing.assert_allclose(model.density(inside), law.density(inside), rtol=1e-3)


def test_moments_of_task_vectors_predict_their_own_spectrum() -> None:
    """What the model reads off the task vectors is unbiased, also where their mean is noise."""
    noise = VARIANCES["falling"][:60]
    mean = 0.4 * direction("all")[:60] * np.sqrt(60)
    for true_mean in (mean, np.zeros(60)):
        rng = np.random.default_rng(1)
        drawn = [true_mean + rng.normal(size=(30, 60)) * np.sqrt(noise) for _ in range(200)]
        models = [spiked_model(vectors) for vectors in drawn]
        expected = SpikedModel(30, true_mean, noise)
        strengths = np.array([model.strength for model in models])
        error = strengths.std() / np.sqrt(len(models))
        assert abs(strengths.mean() - expected.strength) < 4 * error
        largest = np.mean([eigenvalues_of(vectors)[-1] for vectors in drawn])
        near = 0.07 if expected.has_spike else 0.15
        assert np.mean([model.spike for model in models]) == pytest.approx(largest, rel=near)
        shares = [vectors.mean(axis=0) @ vectors.mean(axis=0) * 30 / 60 for vectors in drawn]
        if expected.has_spike:
            assert np.mean(np.array(shares) / largest) == pytest.approx(
                expected.signal_in_mean, abs=0.05
            )


def test_the_spectrum_tells_the_noise() -> None:
    """Noise in proportion to λ_k: one number for its size, and the same total."""
    eigenvalues = np.geomspace(50, 1, 40)
    vectors = np.random.default_rng(0).normal(size=(25, 40)) * np.sqrt(0.3 * eigenvalues)
    model = spiked_model(vectors, eigenvalues)
    np.testing.assert_allclose(model.noise / eigenvalues, model.noise[0] / eigenvalues[0])
    assert model.noise[0] / eigenvalues[0] == pytest.approx(0.3, rel=0.1)
    assert model.noise.sum() == pytest.approx(vectors.var(axis=0, ddof=1).sum())


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(SettingError, match="one number per feature"):
        SpikedModel(5, np.zeros(3), np.ones(4))
    with pytest.raises(SettingError, match="some noise"):
        SpikedModel(5, np.ones(3), np.zeros(3))
    with pytest.raises(SettingError, match="at least 2 task vectors"):
        spiked_model(np.ones((1, 3)))


PAIRS = np.where(np.arange(COUNT) % 4 == 0, 3.0, 1 / 3)  # a quarter of the pairs, thrice as noisy


@pytest.mark.parametrize("name", VARIANCES)
@pytest.mark.parametrize("times", [0.3, 3.0])
def test_pairs_of_unequal_noise_move_edge_and_spike(name: str, times: float) -> None:
    noise, unit = VARIANCES[name], direction("all")
    threshold = SpikedModel(COUNT, unit, noise, pair_noise=PAIRS).threshold
    mean = unit * np.sqrt(times * threshold * DIM / COUNT)
    model = SpikedModel(COUNT, mean, noise, pair_noise=PAIRS)
    draws = [
        mean + (draw(noise, np.zeros(DIM), seed) * np.sqrt(PAIRS)[:, None]) for seed in range(4)
    ]
    found = np.mean([eigenvalues_of(vectors)[-1] for vectors in draws])
    # The largest eigenvalue of a finite bulk stays below its edge (Tracy and Widom).
    assert found == pytest.approx(model.spike, rel=0.03 if times > 1 else 0.06)
    assert model.edge > 1.1 * SpikedModel(COUNT, mean, noise).edge
    values = np.concatenate([eigenvalues_of(vectors)[:-1] for vectors in draws])
    low, high = np.quantile(values, [0.3, 0.9])
    grid = np.linspace(low, high, 200)
    assert np.trapezoid(model.density(grid), grid) == pytest.approx(0.6, abs=0.01)


def test_the_atom_at_zero_is_not_in_the_density() -> None:
    model = SpikedModel(300, np.zeros(100), np.ones(100))
    assert model.atom == pytest.approx(2 / 3)
    assert model.density([1e-4, 0.1]) == pytest.approx([0, 0], abs=1e-3)
    grid = np.linspace(0, model.edge, 801)
    assert np.trapezoid(model.density(grid), grid) == pytest.approx(1 / 3, abs=5e-3)


@pytest.mark.parametrize("kind", ["features", "pairs", "both"])
def test_unequal_noise_of_features_or_pairs_lowers_the_effective_dimension(kind: str) -> None:
    count, dim = 80, 250
    features = np.ones(dim) if kind == "pairs" else np.geomspace(20, 0.05, dim)
    pairs = None if kind == "features" else np.random.default_rng(0).gamma(2, 0.5, count)
    model = SpikedModel(count, np.zeros(dim), features, pair_noise=pairs)
    scale = np.ones(count) if pairs is None else pairs / pairs.mean()
    found = []
    for seed in range(8):
        noise = np.random.default_rng(seed).normal(size=(count, dim)) * np.sqrt(features)
        vectors = noise * np.sqrt(scale)[:, None]
        mean = 6 * np.sqrt(features.mean())  # a spike, which the fit leaves out
        gram = (vectors + mean) @ (vectors + mean).T
        found.append(fit_marchenko_pastur(gram, dim).effective_dim)
    assert model.effective_dim < 0.8 * dim
    assert np.mean(found) == pytest.approx(model.effective_dim, rel=0.1)


def test_lengths_that_differ_by_chance_are_not_taken_for_unequal_noise() -> None:
    rng = np.random.default_rng(0)
    even = spiked_model(rng.normal(size=(60, 40)))
    if even.pair_noise is not None:
        assert np.std(even.pair_noise) < 0.1
    pairs = rng.gamma(2, 0.5, 60)
    uneven = spiked_model(rng.normal(size=(60, 400)) * np.sqrt(pairs)[:, None])
    assert uneven.pair_noise is not None
    assert np.corrcoef(uneven.pair_noise, pairs)[0, 1] > 0.98
    assert spiked_model(rng.normal(size=(60, 40)), equal_pairs=True).pair_noise is None
    with pytest.raises(SettingError, match="pair_noise"):
        SpikedModel(3, np.zeros(4), np.ones(4), pair_noise=np.ones(2))
