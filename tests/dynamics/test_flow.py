"""The flow from any start, against an ODE solver and conservation laws, and REquiv distances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from dynamics.gradient_flow import tied_flow
from qwem.dynamics import exact_flow
from qwem.dynamics.flow import requiv_distance
from qwem.errors import SettingError

EIGENVALUES = np.array([5.0, 4.9, 1.0, 0.0, -0.5, -40.0])


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 10.0])
def test_it_solves_the_flow(scale: float) -> None:
    start = scale * np.random.default_rng(0).standard_normal((len(EIGENVALUES), 3))
    times = np.array([0.0, 0.01, 0.5, 3.0, 12.0])
    expected = tied_flow(np.diag(EIGENVALUES), start, times)
    for state, exact in zip(exact_flow(EIGENVALUES, start, times), expected, strict=True):
        assert requiv_distance(state, exact) < 1e-6 * max(1, scale)


@given(seed=st.integers(0, 10_000), cut=st.floats(0.01, 0.99))
def test_two_steps_are_one(seed: int, cut: float) -> None:
    start = 0.1 * np.random.default_rng(seed).standard_normal((len(EIGENVALUES), 2))
    end = 4.0
    (direct,) = exact_flow(EIGENVALUES, start, [end])
    *_, stepped = exact_flow(EIGENVALUES, start, [cut * end, end])
    np.testing.assert_allclose(direct @ direct.T, stepped @ stepped.T, atol=1e-10)


def test_a_start_far_below_rounding_is_still_followed() -> None:
    """Modes of 1e-100 beside learned ones of size 1: each row keeps its own digits."""
    values = np.array([4.0, 1.0])
    start = np.diag([1.0, 1e-100])
    time = 300.0
    (state,) = exact_flow(values, start, [time])
    assert np.linalg.norm(state[1]) == pytest.approx(1e-100 * np.exp(time / 2), rel=1e-9)


def test_the_same_time_twice_is_the_same_state() -> None:
    start = np.random.default_rng(2).standard_normal((len(EIGENVALUES), 2))
    once, again = exact_flow(EIGENVALUES, start, [1.0, 1.0])
    np.testing.assert_array_equal(once, again)


def test_long_times_end_at_the_closed_form() -> None:
    start = 1e-8 * np.random.default_rng(1).standard_normal((len(EIGENVALUES), 3))
    (end,) = exact_flow(EIGENVALUES, start, [1e3])
    np.testing.assert_allclose(end @ end.T, np.diag([5.0, 4.9, 1.0, 0, 0, 0]), atol=1e-9)


@pytest.mark.parametrize(
    ("start", "times", "message"),
    [
        (np.ones((2, 1)), [1.0], "row for each"),
        (np.ones((6, 1)), [2.0, 1.0], "increasing"),
        (np.ones((6, 1)), [np.inf], "finite"),
        (np.ones((6, 1)), [-1.0], "negative"),
    ],
)
def test_wrong_input_is_refused(start: np.ndarray, times: list[float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        exact_flow(EIGENVALUES, start, times)


def matrices(seed: int, count: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 9, 3))


@given(seed=st.integers(0, 10_000))
def test_requiv_is_a_distance_between_classes(seed: int) -> None:
    first, second, third = matrices(seed, 3)
    rotation, other = ortho_group.rvs(3, size=2, random_state=seed)
    distance = requiv_distance(first, second)
    assert requiv_distance(first @ rotation, second @ other) == pytest.approx(distance)
    assert requiv_distance(second, first) == pytest.approx(distance)
    assert distance <= requiv_distance(first, third) + requiv_distance(third, second) + 1e-12
    assert requiv_distance(first @ rotation, first) < 1e-13


@given(seed=st.integers(0, 10_000))
def test_no_rotation_comes_closer(seed: int) -> None:
    first, second = matrices(seed)
    distance = requiv_distance(first, second)
    for rotation in ortho_group.rvs(3, size=50, random_state=seed):
        assert np.linalg.norm(first @ rotation - second) >= distance - 1e-12


def test_between_aligned_vectors_it_is_the_norm_of_the_difference_of_singular_values() -> None:
    rows = np.eye(5)[:, :3]
    assert requiv_distance(rows * [3, 2, 1], rows * [1, 2, 4]) == pytest.approx(np.sqrt(13))


def test_small_distances_keep_their_digits() -> None:
    first, change = matrices(0)
    second = first + 1e-12 * change
    assert 1e-13 < requiv_distance(first, second) < 1.1e-12 * np.linalg.norm(change)


def test_different_shapes_are_refused() -> None:
    with pytest.raises(SettingError, match="same shape"):
        requiv_distance(np.ones((3, 2)), np.ones((3, 1)))
