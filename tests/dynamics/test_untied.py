"""The untied model WW′ᵀ of any target: tied curves for |λ| or s at half the speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from dynamics.gradient_flow import (
    singular_values,
    spectrum_of,
    symmetric_matrix,
    untied_flow,
)
from qwem.dynamics import closed_form, descent_values
from qwem.errors import SettingError
from qwem.spectrum import singular_triplets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem.spectrum import Spectrum

    Array = NDArray[np.float64]
    Case = Callable[[], tuple[Array, Spectrum]]

# By magnitude, of either sign.
EIGENVALUES = np.array([6.0, -3.0, 1.5, -0.6, 0.2, -0.1])
ROWS, COLUMNS, DIM = 7, 5, 3
TIMES = np.linspace(0, 80, 120)


def signed() -> tuple[Array, Spectrum]:
    """A symmetric target, and its largest modes of either sign."""
    matrix, vectors = symmetric_matrix(EIGENVALUES)
    return matrix, spectrum_of(EIGENVALUES[:DIM], vectors[:, :DIM], signed=True)


def triplets() -> tuple[Array, Spectrum]:
    """A target without symmetry, and its largest singular triplets."""
    rng = np.random.default_rng(2)
    left, right = (np.linalg.qr(rng.standard_normal((n, 4)))[0] for n in (ROWS, COLUMNS))
    matrix = np.asarray((left * [6.0, 3.0, 1.2, 0.3]) @ right.T)
    words, contexts = (
        [f"{side}{i}" for i in range(n)] for side, n in (("w", ROWS), ("c", COLUMNS))
    )
    return matrix, singular_triplets(matrix, DIM, words=words, contexts=contexts, tol=1e-9)


@pytest.mark.parametrize("case", [signed, triplets])
def test_from_a_balanced_aligned_start_it_is_exact(case: Case) -> None:
    matrix, spectrum = case()
    run = closed_form(spectrum, initial_singular_values=[1e-3, 0.2, 2.0])
    words, contexts = untied_flow(matrix, run.vectors(0.0), run.context_vectors(0.0), TIMES)
    np.testing.assert_allclose([run.vectors(t) for t in TIMES], words, atol=1e-7)
    np.testing.assert_allclose([run.context_vectors(t) for t in TIMES], contexts, atol=1e-7)
    distances = np.sum((words @ contexts.transpose(0, 2, 1) - matrix) ** 2, axis=(1, 2))
    np.testing.assert_allclose(run.loss(TIMES), (distances - np.sum(matrix**2)) / 4, atol=1e-6)


def test_learning_takes_twice_as_long_as_in_the_tied_model() -> None:
    _, spectrum = signed()
    start = np.full(DIM, 1e-3)
    sizes = spectrum_of(np.abs(spectrum.eigenvalues), spectrum.eigenvectors)
    untied, tied = (closed_form(one, initial_singular_values=start) for one in (spectrum, sizes))
    np.testing.assert_allclose(untied.learning_times, 2 * tied.learning_times)
    np.testing.assert_allclose(untied.singular_values(TIMES), tied.singular_values(TIMES / 2))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("case", "least"), [(signed, 2e-3), (triplets, 5e-3)])
def test_from_a_random_start_it_is_the_limit(case: Case, least: float, seed: int) -> None:
    """Both factors reach the modes in turn; the error falls with σ, from R_kk(0)."""
    matrix, spectrum = case()
    errors = []
    for scale in (1e-2, 1e-4, 1e-6):
        rng = np.random.default_rng(seed)
        start, context = (scale * rng.standard_normal((n, DIM)) for n in matrix.shape)
        run = closed_form(spectrum, initial_vectors=start, initial_context_vectors=context)
        words, contexts = untied_flow(matrix, start, context, TIMES)
        theory = np.sort(run.singular_values(TIMES))[:, ::-1]
        products = np.sqrt(singular_values(words @ contexts.transpose(0, 2, 1))[:, :DIM])
        errors.append(np.abs(products - theory).max())
        ended = run.vectors(np.inf) @ run.context_vectors(np.inf).T
        np.testing.assert_allclose(words[-1] @ contexts[-1].T, ended, atol=0.05)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < least


def test_typical_starts_are_those_of_random_ones() -> None:
    modes, scale = triplets()[1], 1e-3
    rng = np.random.default_rng(0)
    drawn = np.array(
        [
            closed_form(
                modes,
                initial_vectors=scale * rng.standard_normal((ROWS, DIM)),
                initial_context_vectors=scale * rng.standard_normal((COLUMNS, DIM)),
            ).initial_singular_values
            for _ in range(2_000)
        ]
    )
    typical = closed_form(modes, init_scale=scale).initial_singular_values
    np.testing.assert_allclose(np.log(drawn).mean(axis=0), np.log(typical), atol=0.06)


def test_embeddings_have_their_own_names() -> None:
    modes = triplets()[1]
    run = closed_form(modes, init_scale=1e-3)
    assert run.embedding(np.inf).index_to_key[0] == "w0"
    assert run.context_embedding(np.inf).index_to_key[0] == "c0"
    np.testing.assert_allclose(run.embedding(np.inf).vectors, modes.embedding().vectors, rtol=1e-6)
    np.testing.assert_allclose(run.rates, modes.eigenvalues / 2)
    assert descent_values(run, 0.01, 5).shape == (DIM,)
    with pytest.raises(SettingError, match="untied"):
        closed_form(modes, initial_vectors=np.ones((ROWS, DIM)))


def test_word2vecs_own_negatives_are_learned_along_the_same_curves() -> None:
    """Trained on all pairs with Ψ⁻ ∝ P_j^(−¼): an asymmetric target, and nothing fitted."""
    from qwem.cooccurrence import Cooccurrence
    from qwem.target import asymmetric_mstar, negative_sampling, setting31
    from qwem.training import QUARTIC, population, train
    from training.cases import topical_text

    counts = Cooccurrence.count(topical_text(), 4)
    reweighting = setting31() * negative_sampling(0.75, 1.0, None)
    matrix = asymmetric_mstar(counts, reweighting, dtype=np.float64)
    modes = singular_triplets(matrix, 2, words=counts.vocabulary, tol=1e-9)
    theory = closed_form(modes, initial_singular_values=[1e-3, 1e-3])
    rate = 0.1 / float(modes.eigenvalues[0])
    trainer = population(
        counts, QUARTIC, reweighting, dim=2, rate=rate, method="rk4", tied=False, dtype=np.float64
    )
    start = trainer.init(vectors=theory.vectors(0.0), context_vectors=theory.context_vectors(0.0))
    until = float(1.2 * theory.learning_times.max())
    trace = train(trainer, start, until=until, record_every=10)
    curves = np.sort(theory.singular_values(trace.times))[:, ::-1]
    np.testing.assert_allclose(trace.singular_values, curves, rtol=2e-3)
