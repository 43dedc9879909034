"""The closed-form run: its limits, its stability, and what is read off it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamics.gradient_flow import integrate, spectrum_of, symmetric_matrix
from qwem.dynamics import ClosedFormDynamics, closed_form
from qwem.errors import RankError, SettingError
from qwem.spectrum import factorize

if TYPE_CHECKING:
    from numpy.typing import NDArray

VALUES = np.array([9.0, 4.0, 1.0])


def run_of(start: list[float], values: np.ndarray = VALUES) -> ClosedFormDynamics:
    _, vectors = symmetric_matrix(np.append(values, [-1.0, -2.0]))
    spectrum = spectrum_of(values, vectors[:, : len(values)])
    return closed_form(spectrum, initial_singular_values=start)


@given(
    value=st.floats(1e-3, 1e5),
    start=st.floats(1e-150, 1e3),
    times=st.lists(st.floats(0, 1e300), min_size=1, max_size=8),
)
def test_any_time_and_scale_is_stable(value: float, start: float, times: list[float]) -> None:
    """Curves run from s(0) to √λ, never back and never outside, and no step of it overflows."""
    run = run_of([start], np.array([value]))
    curve = run.singular_values([0.0, *sorted(times), np.inf])[:, 0]
    assert curve[0] == start
    assert curve[-1] == pytest.approx(np.sqrt(value), rel=1e-14)
    slack = 1e-14 * max(start, np.sqrt(value))
    direction = np.sign(np.sqrt(value) - start)
    assert np.all(np.diff(curve) * direction >= -slack)


@given(value=st.floats(0.1, 10), start=st.floats(1e-3, 5), time=st.floats(0, 5))
def test_it_is_the_formula_of_the_proof(value: float, start: float, time: float) -> None:
    """s² = s²(0) λ e^{λt} / (λ + s²(0) (e^{λt} − 1)), where that does not overflow."""
    grown = np.exp(value * time)
    expected = start**2 * value * grown / (value + start**2 * (grown - 1))
    run = run_of([start], np.array([value]))
    np.testing.assert_allclose(run.singular_values(time)[0] ** 2, expected, rtol=1e-12)


def test_a_mode_that_starts_at_zero_stays_there() -> None:
    run = run_of([1e-3, 0.0, 1e-3])
    values = run.singular_values([0.0, 1.0, 1e6, np.inf])
    assert np.all(values[:, 1] == 0)
    assert run.learning_times[1] == np.inf
    np.testing.assert_allclose(values[-1], [3, 0, 1])
    assert run.effective_rank(np.inf, "entropy") == pytest.approx(
        np.exp(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))
    )


def test_times_keep_their_shape() -> None:
    run = run_of([1e-3, 1e-3, 1e-3])
    times = np.linspace(0, 4, 6).reshape(2, 3)
    assert run.singular_values(1.0).shape == (3,)
    assert run.singular_values(times).shape == (2, 3, 3)
    for method in (run.loss, run.effective_rank, run.rescaled_time):
        assert np.shape(method(times)) == (2, 3)
        assert np.shape(method(1.0)) == ()
    np.testing.assert_array_equal(run.singular_values(times)[1, 2], run.singular_values(4.0))


def test_rescaled_time_goes_there_and_back() -> None:
    run = run_of([1e-3, 1e-3, 1e-3])
    assert run.rescaled_time(run.learning_times[0]) == 1
    np.testing.assert_allclose(run.time(run.rescaled_time([0.0, 2.5])), [0.0, 2.5])
    for start in (0.0, 3.0):
        with pytest.raises(SettingError, match="rescaled"):
            run_of([start, 1e-3, 1e-3]).rescaled_time(1.0)


def test_the_rank_climbs_one_step_for_each_learning_time() -> None:
    run = run_of([1e-6, 1e-6, 1e-6])
    tau = run.learning_times
    between = [0.0, (tau[0] + tau[1]) / 2, (tau[1] + tau[2]) / 2, 2 * tau[2]]
    np.testing.assert_array_equal(run.effective_rank(between), [0, 1, 2, 3])
    smooth = run.effective_rank(between, "entropy")
    assert smooth[0] == pytest.approx(3)
    assert 1 <= smooth[1] < 1.1
    assert smooth[1] < smooth[2] < smooth[3] <= 3
    with pytest.raises(SettingError, match="kind"):
        run.effective_rank(1.0, "nuclear")  # type: ignore[arg-type]


def test_the_loss_falls_to_that_of_the_spectrum() -> None:
    run = run_of([1e-8, 1e-8, 1e-8])
    losses = run.loss(np.linspace(0, 60, 200))
    assert losses[0] == pytest.approx(0, abs=1e-12)
    assert np.all(np.diff(losses) <= 1e-12)
    assert run.loss(np.inf) == pytest.approx(-np.sum(VALUES**2) / 4)


def test_the_embedding_ends_as_that_of_the_spectrum() -> None:
    matrix, _ = symmetric_matrix(np.array([9.0, 4.0, 1.0, -1.0, -2.0]))
    spectrum = factorize(matrix, dim=3, words=list("abcde"), tol=1e-10)
    run = closed_form(spectrum, init_scale=1e-3)
    end = run.embedding(np.inf)
    np.testing.assert_allclose(end.vectors, spectrum.embedding().vectors, rtol=1e-6)
    assert end.index_to_key == tuple("abcde")
    assert end.provenance["time"] == "inf"
    part = run.embedding(2.0, dim=2)
    np.testing.assert_array_equal(part.vectors, run.embedding(2.0).vectors[:, :2])
    np.testing.assert_array_equal(run.context_vectors(2.0), run.vectors(2.0))


def test_an_embedding_at_a_time_is_saved_with_its_time(tmp_path: object) -> None:
    run = run_of([1e-3, 1e-3, 1e-3])
    run.embedding(np.inf).save(f"{tmp_path}/embedding")
    loaded = type(run.embedding(1.0)).load(f"{tmp_path}/embedding")
    assert float(loaded.provenance["time"]) == np.inf


@pytest.mark.parametrize("time", [-1.0, np.nan])
def test_time_before_the_start_is_refused(time: float) -> None:
    with pytest.raises(SettingError, match="time"):
        run_of([1e-3, 1e-3, 1e-3]).singular_values(time)


@pytest.mark.parametrize("start", [[1.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0]])
def test_a_wrong_start_is_refused(start: list[float]) -> None:
    with pytest.raises(SettingError, match="initial_singular_values must be 3"):
        run_of(start)


def test_negative_eigenvalues_are_refused_in_the_tied_model() -> None:
    spectrum = spectrum_of(np.array([2.0, -1.0]), np.eye(2))
    with pytest.raises(RankError, match="number 2 is -1"):
        closed_form(spectrum, init_scale=1e-3)


@pytest.mark.parametrize("aligned", [True, False])
def test_a_rank_one_coupling_trains_each_word_at_a_rate_of_its_own(aligned: bool) -> None:
    from qwem.target import Target

    matrix, _ = symmetric_matrix(np.array([9.0, 4.0, 1.0, -1.0, -2.0]))
    g = np.array([0.5, 1.0, 3.0, 2.0, 0.25])
    spectrum = factorize(Target.from_matrix(list("abcde"), matrix, coupling=g), dim=2, tol=1e-12)
    basis = spectrum.eigenvectors / np.sqrt(g)[:, None]
    start = basis * [1e-2, 2e-2]
    if not aligned:
        start = 1e-6 * np.random.default_rng(0).standard_normal((5, 2))
    run = closed_form(spectrum, initial_vectors=start)
    times = run.learning_times.max() * np.linspace(0.1, 2.0, 7)

    def velocity(w: NDArray[np.float64]) -> NDArray[np.float64]:
        defect = np.outer(g, g) * (matrix - w @ w.T)  # −∇ of ¼ Σ g_i g_j (WWᵀ − M)²_ij
        return defect @ w / (2 * g[:, None])

    states = integrate(velocity, start, times)
    for time, state in zip(times, states, strict=True):
        ours = run.vectors(float(time))
        error = np.abs(ours @ ours.T - state @ state.T).max() / np.abs(matrix).max()
        assert error < (1e-7 if aligned else 5e-3)
    end = run.embedding(np.inf).vectors
    np.testing.assert_allclose(end, spectrum.embedding().vectors, rtol=1e-9)
