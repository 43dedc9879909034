"""The untied model WW′ᵀ: tied curves for |λ| at half the speed, negative eigenvalues included."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics.gradient_flow import (
    singular_values,
    spectrum_of,
    symmetric_matrix,
    untied_flow,
)
from qwem.dynamics import closed_form

# By magnitude, of either sign.
EIGENVALUES = np.array([6.0, -3.0, 1.5, -0.6, 0.2, -0.1])
DIM = 3
TIMES = np.linspace(0, 80, 120)


def test_from_a_balanced_aligned_start_it_is_exact() -> None:
    matrix, vectors = symmetric_matrix(EIGENVALUES)
    start = np.array([1e-3, 0.2, 2.0])
    spectrum = spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM], signed=True)
    run = closed_form(spectrum, initial_singular_values=start)
    words, contexts = untied_flow(matrix, run.vectors(0.0), run.context_vectors(0.0), TIMES)
    np.testing.assert_allclose([run.vectors(t) for t in TIMES], words, atol=1e-7)
    np.testing.assert_allclose([run.context_vectors(t) for t in TIMES], contexts, atol=1e-7)
    distances = np.sum((words @ contexts.transpose(0, 2, 1) - matrix) ** 2, axis=(1, 2))
    np.testing.assert_allclose(run.loss(TIMES), (distances - np.sum(matrix**2)) / 4, atol=1e-6)


def test_learning_takes_twice_as_long_as_in_the_tied_model() -> None:
    _, vectors = symmetric_matrix(EIGENVALUES)
    start = np.full(DIM, 1e-3)
    sizes = np.abs(EIGENVALUES[:DIM])
    untied = closed_form(
        spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM], signed=True),
        initial_singular_values=start,
    )
    tied = closed_form(spectrum_of(sizes, vectors[:, :DIM]), initial_singular_values=start)
    np.testing.assert_allclose(untied.learning_times, 2 * tied.learning_times)
    np.testing.assert_allclose(untied.singular_values(TIMES), tied.singular_values(TIMES / 2))


@pytest.mark.parametrize("seed", range(3))
def test_from_a_random_start_it_is_the_limit(seed: int) -> None:
    """Both factors reach the signed modes in turn; the error falls with σ, from R_kk(0)."""
    matrix, vectors = symmetric_matrix(EIGENVALUES)
    spectrum = spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM], signed=True)
    errors = []
    for scale in (1e-2, 1e-4, 1e-6):
        rng = np.random.default_rng(seed)
        start, context = scale * rng.standard_normal((2, len(EIGENVALUES), DIM))
        run = closed_form(spectrum, initial_vectors=start, initial_context_vectors=context)
        words, contexts = untied_flow(matrix, start, context, TIMES)
        theory = np.sort(run.singular_values(TIMES))[:, ::-1]
        products = np.sqrt(singular_values(words @ contexts.transpose(0, 2, 1))[:, :DIM])
        errors.append(np.abs(products - theory).max())
        ended = run.vectors(np.inf) @ run.context_vectors(np.inf).T
        np.testing.assert_allclose(words[-1] @ contexts[-1].T, ended, atol=0.05)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 2e-3
