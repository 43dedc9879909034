"""Appendix, relation to PMI: PMI = M* + M*³/12 + M*⁵/80 + …"""

from __future__ import annotations

import numpy as np
import pytest

from qwem.cooccurrence import Cooccurrence
from qwem.target import mstar, negative_sampling, pmi, setting31

COEFFICIENTS = [1, 1 / 12, 1 / 80, 1 / 448]


def nearly_independent(deviation: float) -> Cooccurrence:
    """Counts whose relative deviation from independence is of this order."""
    rng = np.random.default_rng(0)
    words = np.array([50_000, 20_000, 9_000, 4_000, 1_000])
    share = np.outer(words, words) / words.sum() ** 2
    bend = deviation * rng.uniform(-1, 1, share.shape)
    counts = np.round(1e12 * share * (1 + np.triu(bend) + np.triu(bend, 1).T))
    return Cooccurrence.from_matrix(list("abcde"), counts, words)


@pytest.mark.parametrize("deviation", [0.01, 0.1, 0.5, 0.9])
def test_each_term_leaves_a_remainder_of_the_next_order(deviation: float) -> None:
    counts = nearly_independent(deviation)
    x = mstar(counts, dtype=np.float64).toarray()
    exact = pmi(counts, dtype=np.float64).toarray()
    assert np.abs(x).max() > deviation / 2
    series = np.zeros_like(x)
    for order, coefficient in enumerate(COEFFICIENTS[:-1]):
        series += coefficient * x ** (2 * order + 1)
        following = COEFFICIENTS[order + 1] * np.abs(x) ** (2 * order + 3)
        remainder = np.abs(exact - series)
        # All terms have the sign of x and shrink by more than x²/4, so the rest is geometric.
        assert np.all(remainder >= following * (1 - 1e-6) - 1e-13)
        assert np.all(remainder <= following / (1 - x**2 / 4) + 1e-13)


def test_the_whole_series_is_twice_the_inverse_hyperbolic_tangent_of_half() -> None:
    for reweighting in (setting31(), setting31() * negative_sampling(negatives=2.0)):
        counts = nearly_independent(0.9)
        x = mstar(counts, reweighting=reweighting, dtype=np.float64).toarray()
        exact = pmi(counts, reweighting=reweighting, dtype=np.float64).toarray()
        np.testing.assert_allclose(exact, 2 * np.arctanh(x / 2), atol=1e-12)
