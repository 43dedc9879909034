"""What each mode starts from: given, drawn, or typical of a random start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from dynamics.gradient_flow import spectrum_of, symmetric_matrix
from qwem.dynamics import closed_form
from qwem.dynamics.modes import triangular_factor
from qwem.errors import SettingError

if TYPE_CHECKING:
    from qwem.spectrum import Spectrum

WORDS, DIM = 40, 6
VALUES = np.linspace(12, 2, DIM)


def spectrum(*, signed: bool = False) -> Spectrum:
    _, vectors = symmetric_matrix(np.arange(WORDS, dtype=np.float64))
    values = VALUES * (-1.0) ** np.arange(DIM) if signed else VALUES
    return spectrum_of(values, vectors[:, :DIM], signed=signed)


def draws(count: int, scale: float) -> np.ndarray:
    return scale * np.random.default_rng(0).standard_normal((count, 2, WORDS, DIM))


def test_a_given_start_is_projected_and_triangularized() -> None:
    modes = spectrum()
    start = draws(1, 1e-3)[0, 0]
    run = closed_form(modes, initial_vectors=start)
    # Gram–Schmidt: |R_kk| is what is left of column k when those before it are taken out.
    columns = start.T @ modes.eigenvectors
    left = []
    for k in range(DIM):
        before = columns[:, :k]
        fitted = before @ np.linalg.lstsq(before, columns[:, k])[0] if k else 0
        left.append(np.linalg.norm(columns[:, k] - fitted))
    np.testing.assert_allclose(run.initial_singular_values, left, rtol=1e-10)
    paper = closed_form(modes, initial_vectors=start, initial="svd")
    np.testing.assert_allclose(
        paper.initial_singular_values, np.linalg.svd(start, compute_uv=False)
    )


@pytest.mark.parametrize("signed", [False, True])
def test_the_typical_start_is_the_geometric_mean_of_random_ones(signed: bool) -> None:
    """And so the learning times are the expected ones."""
    modes, scale, count = spectrum(signed=signed), 1e-3, 4000
    drawn = np.empty((count, DIM))
    for row, (start, context) in zip(drawn, draws(count, scale), strict=True):
        given: dict[str, Any] = {"initial_vectors": start}
        if signed:
            given["initial_context_vectors"] = context
        row[:] = closed_form(modes, **given).initial_singular_values
    typical = closed_form(modes, init_scale=scale)
    errors = stats.sem(np.log(drawn), axis=0)
    means = np.log(drawn).mean(axis=0)
    assert np.all(np.abs(np.log(typical.initial_singular_values) - means) < 4.5 * errors)
    expected = np.mean((np.log(VALUES) - 2 * np.log(drawn)) / typical.rates, axis=0)
    np.testing.assert_allclose(typical.learning_times, expected, rtol=5e-3)


def test_the_diagonal_is_chi_distributed() -> None:
    """|R_kk|/σ has d − k + 1 degrees of freedom (k counted from 1)."""
    modes = spectrum()
    drawn = np.array(
        [
            closed_form(modes, initial_vectors=start).initial_singular_values
            for start in draws(2000, 1.0)[:, 0]
        ]
    )
    for k in range(DIM):
        assert stats.kstest(drawn[:, k], stats.chi(DIM - k).cdf).pvalue > 1e-4


def test_the_typical_singular_value_is_the_root_mean_square() -> None:
    modes, scale = spectrum(), 1e-3
    squares = [np.mean(np.linalg.svd(w, compute_uv=False) ** 2) for w in draws(2000, scale)[:, 0]]
    typical = closed_form(modes, init_scale=scale, initial="svd").initial_singular_values
    np.testing.assert_allclose(typical, np.sqrt(np.mean(squares)), rtol=0.01)


def test_the_diagonal_of_r_is_not_negative() -> None:
    for projection in draws(20, 1.0)[:, 0]:
        factor = triangular_factor(projection[:DIM])
        assert np.all(np.diagonal(factor) > 0)
        np.testing.assert_allclose(
            factor.T @ factor, projection[:DIM].T @ projection[:DIM], atol=1e-12
        )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "exactly one start"),
        ({"init_scale": 1e-3, "initial_singular_values": np.ones(DIM)}, "exactly one start"),
        ({"init_scale": 0.0}, "init_scale must be a positive number"),
        ({"init_scale": np.inf}, "init_scale must be a positive number"),
        ({"init_scale": 1e-3, "initial": "lu"}, "qr or svd"),
        ({"initial_vectors": np.ones((WORDS, DIM + 1))}, "initial_vectors must be"),
        ({"initial_vectors": np.full((WORDS, DIM), np.nan)}, "initial_vectors must be finite"),
        (
            {
                "initial_vectors": np.ones((WORDS, DIM)),
                "initial_context_vectors": np.ones((WORDS, DIM)),
            },
            "untied",
        ),
        ({"init_scale": 1e-3, "initial_context_vectors": np.ones((WORDS, DIM))}, "together with"),
    ],
)
def test_wrong_starts_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        closed_form(spectrum(), **given)


def test_an_untied_start_needs_both_sides() -> None:
    with pytest.raises(SettingError, match="untied"):
        closed_form(spectrum(signed=True), initial_vectors=np.ones((WORDS, DIM)))
