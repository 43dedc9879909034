"""Symmetric matrices whose eigenvalues are known, some of them shaped like M*."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray


def words(size: int) -> list[str]:
    return [f"word{i}" for i in range(size)]


def with_eigenvalues(
    values: ArrayLike, seed: int = 0, first: ArrayLike | None = None
) -> NDArray[np.float64]:
    """A matrix with these eigenvalues and random eigenvectors, but for the first one if given."""
    eigenvalues = np.asarray(values, dtype=np.float64)
    size = len(eigenvalues)
    columns = np.random.default_rng(seed).standard_normal((size, size))
    if first is not None:
        columns[:, 0] = first
    vectors, _ = np.linalg.qr(columns)
    matrix = (vectors * eigenvalues) @ vectors.T
    return (matrix + matrix.T) / 2


def mstar_values(size: int) -> NDArray[np.float64]:
    """An outlier of −5 λ₁ first, then half positive and half negative, decaying slowly."""
    half = (size - 1) // 2
    positive = 2300 / np.arange(1, size - half) ** 0.5
    negative = -540 / np.arange(1, half + 1) ** 0.4
    return np.concatenate([[-12_000], positive, negative])


def mstar_like(size: int, seed: int = 0) -> NDArray[np.float64]:
    """A matrix with the eigenvalues above whose outlier points along a positive vector."""
    rough_ones = 1 + 0.3 * np.random.default_rng(seed + 1).standard_normal(size)
    return with_eigenvalues(mstar_values(size), seed, first=rough_ones)


CASES: dict[str, tuple[Callable[[], NDArray[Any]], int]] = {
    "one word": (lambda: np.array([[2.0]]), 1),
    "three words, all": (lambda: with_eigenvalues([3.0, 2.0, 1.0]), 3),
    "fifty words, all": (lambda: with_eigenvalues(np.linspace(1, 2, 50)), 50),
    "fast decay": (lambda: with_eigenvalues(100 * 0.9 ** np.arange(400)), 30),
    "slow decay": (lambda: with_eigenvalues(np.linspace(-100, 100, 500)), 25),
    "like M*": (lambda: mstar_like(600), 40),
    "like M*, float32": (lambda: mstar_like(500).astype(np.float32), 20),
    "one eigenvalue 100 times": (lambda: with_eigenvalues([50.0] * 100 + [1.0] * 300), 60),
    "copies and more": (lambda: with_eigenvalues(np.r_[[50.0] * 45, np.linspace(1, 40, 500)]), 60),
    "copies at the cut": (lambda: with_eigenvalues([90.0] * 5 + [50.0] * 40 + [1.0] * 400), 20),
    "nearly equal": (
        lambda: with_eigenvalues(np.r_[50 + 1e-6 * np.arange(50), np.linspace(1, 9, 400)]),
        55,
    ),
    "identity": (lambda: np.eye(200), 12),
    "low rank": (lambda: with_eigenvalues([5.0, 4.0, 3.0] + [0.0] * 200), 3),
    "block diagonal": (lambda: np.kron(np.eye(40), np.ones((6, 6))), 40),
}


@cache
def matrix_of(case: str) -> tuple[NDArray[Any], int]:
    """The matrix of a case, made when it is first needed, and how many eigenpairs are computed."""
    make, dim = CASES[case]
    matrix = make()
    matrix.flags.writeable = False
    return matrix, dim
