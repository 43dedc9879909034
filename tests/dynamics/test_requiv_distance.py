"""The distance modulo right rotations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from qwem.dynamics.flow import requiv_distance
from qwem.errors import SettingError


def matrices(seed: int, count: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, 9, 3))


@given(seed=st.integers(0, 10_000))
def test_it_is_a_distance_between_classes(seed: int) -> None:
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


def test_it_is_the_norm_of_the_difference_of_singular_values_when_aligned() -> None:
    rows = np.eye(5)[:, :3]
    assert requiv_distance(rows * [3, 2, 1], rows * [1, 2, 4]) == pytest.approx(np.sqrt(13))


def test_small_distances_keep_their_digits() -> None:
    first, change = matrices(0)
    second = first + 1e-12 * change
    assert 1e-13 < requiv_distance(first, second) < 1.1e-12 * np.linalg.norm(change)


def test_different_shapes_are_refused() -> None:
    with pytest.raises(SettingError, match="same shape"):
        requiv_distance(np.ones((3, 2)), np.ones((3, 1)))
