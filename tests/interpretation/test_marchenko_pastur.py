"""The Marchenko–Pastur law is one, and its fit finds the noise that made a spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest

from qwem.errors import SettingError
from qwem.interpretation import MarchenkoPastur, fit_marchenko_pastur

if TYPE_CHECKING:
    from numpy.typing import NDArray

laws = st.builds(
    MarchenkoPastur,
    gamma=st.floats(0.02, 0.98) | st.floats(1.02, 20.0) | st.just(1.0),
    variance=st.floats(0.01, 100.0),
)


def integral(law: MarchenkoPastur, upto: float) -> float:
    """Integrate the density by brute force, from the lower edge."""
    lower, upper = law.support
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    # λ = middle − half·cos t takes the square roots out of both edges.
    end = np.arccos(np.clip((middle - upto) / half, -1, 1))

    def slope(t: float) -> float:
        value = middle - half * np.cos(t)
        return float(law.density(value) * half * np.sin(t))

    return float(quad(slope, 0, end, limit=200)[0])


@given(law=laws)
def test_density_and_atom_make_one(law: MarchenkoPastur) -> None:
    assert integral(law, law.support[1]) + law.atom == pytest.approx(1.0, abs=1e-6)
    assert law.atom == pytest.approx(max(0.0, 1 - 1 / law.gamma))


@given(law=laws, part=st.floats(0.0, 1.0))
def test_the_distribution_function_is_the_integral_of_the_density(
    law: MarchenkoPastur, part: float
) -> None:
    lower, upper = law.support
    value = lower + part * (upper - lower)
    assert law.cdf(value) == pytest.approx(integral(law, value) + law.atom, abs=1e-6)


@given(law=laws)
def test_the_distribution_function_outside_the_support(law: MarchenkoPastur) -> None:
    lower, upper = law.support
    values = [-1.0, 0.0, lower / 2, upper * 1.001, np.inf]
    at_zero = law.atom if lower > 1e-12 else 0.0
    assert law.cdf(values) == pytest.approx([0.0, at_zero, at_zero, 1.0, 1.0], abs=1e-7)
    assert not law.density([-1.0, lower * 0.999, upper * 1.001]).any() or lower == 0


@pytest.mark.parametrize(("size", "dim"), [(300, 900), (400, 440), (500, 250)])
def test_spectra_of_noise_follow_the_law(size: int, dim: int) -> None:
    noise = np.random.default_rng(0).normal(scale=1.5, size=(size, dim))
    eigenvalues = np.linalg.eigvalsh(noise @ noise.T / dim)
    law = MarchenkoPastur(size / dim, 1.5**2)
    assert np.mean(eigenvalues < 1e-9) == law.atom
    positive = eigenvalues[eigenvalues > 1e-9]
    tested = kstest(positive, lambda x: (law.cdf(x) - law.atom) / (1 - law.atom))
    assert tested.pvalue > 0.05
    wrong = MarchenkoPastur(2 * size / dim, 1.5**2)
    assert kstest(eigenvalues, wrong.cdf).pvalue < 1e-3


def spiked(rng: np.random.Generator, size: int, dim: int, strength: float) -> NDArray[np.float64]:
    """The Gram matrix of white noise about a common vector of this length, noise having √dim."""
    direction = rng.normal(size=dim)
    mean = strength * np.sqrt(dim) * direction / np.linalg.norm(direction)
    vectors = rng.normal(size=(size, dim)) + mean
    gram: NDArray[np.float64] = vectors @ vectors.T
    return gram


@pytest.mark.parametrize("dim", [20, 40, 80, 160])
@pytest.mark.parametrize(("size", "spread"), [(20, 0.2), (30, 0.12)])
def test_the_fit_recovers_the_dimension_of_noise_around_a_spike(
    size: int, dim: int, spread: float
) -> None:
    """The median of many draws is within 10 %, and four draws of five are within the spread."""
    rng = np.random.default_rng(size * dim)
    fits = [fit_marchenko_pastur(spiked(rng, size, dim, 1.0), dim) for _ in range(60)]
    ratios = np.array([fit.effective_dim for fit in fits]) / dim
    assert np.median(ratios) == pytest.approx(1.0, abs=0.1)
    assert np.quantile(np.abs(ratios - 1), 0.8) < spread
    assert np.median([fit.goodness for fit in fits]) > 0.85
    assert all(fit.spike > fit.edge for fit in fits)


def test_anisotropic_noise_has_a_smaller_effective_dimension() -> None:
    """Thirty strong directions among three hundred: what the paper supposes of real text."""
    rng = np.random.default_rng(0)
    scales = np.where(np.arange(300) < 30, 1.0, 0.05)
    found = []
    for _ in range(20):
        vectors = rng.normal(size=(30, 300)) * scales + 0.5
        found.append(fit_marchenko_pastur(vectors @ vectors.T, 300).effective_dim)
    assert np.median(found) == pytest.approx(30, rel=0.2)


def test_a_second_spike_moves_the_fit_less_than_the_variance() -> None:
    """Ten of thirty vectors share something else; the bulk's variance alone would say 8, not 60."""
    rng = np.random.default_rng(0)
    found, by_variance = [], []
    for _ in range(20):
        vectors = rng.normal(size=(30, 60)) + rng.normal(size=60)
        vectors[:10] += 2 * rng.normal(size=60)
        fit = fit_marchenko_pastur(vectors @ vectors.T, 60)
        found.append(fit.effective_dim)
        by_variance.append(30 / np.var(fit.bulk / fit.bulk.mean()))
    assert np.median(by_variance) < 12
    assert 24 < np.median(found) < 66


@given(seed=st.integers(0, 99), scale=st.floats(1e-3, 1e3))
def test_scale_goes_into_the_variance_alone(seed: int, scale: float) -> None:
    gram = spiked(np.random.default_rng(seed), 20, 40, 1.0)
    one, other = fit_marchenko_pastur(gram, 40), fit_marchenko_pastur(gram * scale, 40)
    assert other.gamma == pytest.approx(one.gamma, rel=1e-3)
    assert other.variance == pytest.approx(scale * one.variance)


def test_the_variance_is_that_of_the_centred_entries() -> None:
    vectors = np.random.default_rng(0).normal(size=(12, 30)) + 3
    fit = fit_marchenko_pastur(vectors @ vectors.T, 30)
    assert fit.variance == pytest.approx(np.var(vectors - vectors.mean(axis=0)))
    assert fit.effective_dim == pytest.approx(12 / fit.gamma)
    assert fit.bulk == pytest.approx(np.linalg.eigvalsh(vectors @ vectors.T)[:-1] / 30)
    assert set(fit.to_dict()) >= {"gamma", "effective_dim", "goodness", "spike"}


@pytest.mark.parametrize(
    ("gram", "dim", "message"),
    [
        (np.eye(2), 4, "at least 3 task vectors"),
        (np.ones((4, 3)), 4, "square Gram matrix"),
        (np.eye(4), 0, "dim must be at least 1"),
        (np.ones((4, 4)), 4, "all the same"),
    ],
)
def test_what_can_not_be_fitted_is_refused(
    gram: NDArray[np.float64], dim: int, message: str
) -> None:
    with pytest.raises(SettingError, match=message):
        fit_marchenko_pastur(gram, dim)


def test_impossible_laws_are_refused() -> None:
    with pytest.raises(SettingError, match="gamma must be a positive number, not 0"):
        MarchenkoPastur(0)
    with pytest.raises(SettingError, match="variance must be a positive number"):
        MarchenkoPastur(1, float("nan"))
