"""Eigenpairs: the request for them, which are kept, in which order, and with which signs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.spectrum.orthonormal import Block

# How much of the outlier's squared length lies along the direction of the unseen pairs.
_OUTLIER_ALIGNMENT = 0.25
# Sums of cubes below this part of the largest they could be are rounding, not a sign.
_BALANCED = 1e-5


@dataclass(frozen=True)
class Request:
    """A request to an eigensolver: how many eigenpairs, which, and how accurate.

    `direction` is the unit vector along which the unseen pairs act; it identifies the outlier.
    """

    dim: int
    signed: bool
    tol: float
    direction: NDArray[np.float64]


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues, best first, with their eigenvectors, and how they were found.

    `outlier` is the eigenvalue left out of a signed selection, `floor` the magnitude below which
    an eigenvalue can't be told from zero, `products` the number of vectors that were multiplied.
    """

    eigenvalues: NDArray[np.float64]
    eigenvectors: Block
    outlier: float | None
    floor: float
    products: int


@dataclass(frozen=True)
class Selection:
    """The indices of the eigenvalues to keep, best first, and of the outlier that is not."""

    kept: NDArray[np.int64]
    outlier: int | None


def select(
    eigenvalues: NDArray[np.float64], alignment: NDArray[np.float64], *, signed: bool
) -> Selection:
    """Order eigenvalues by value, or by magnitude without the outlier where `signed`.

    The outlier is the eigenvalue of largest magnitude, provided that it is negative and that at
    least a quarter of its eigenvector's squared length (`alignment`) lies along the direction in
    which the unseen pairs act: 1, or Γ1 under a rank-one coupling. M* is −2 on every unseen pair,
    so this eigenvalue is near −2V times their share and says nothing about any word; PPMI, which
    has no negative entry, has no such eigenvalue (Perron and Frobenius).

    >>> select(np.array([-9.0, -3.0, 2.0]), np.array([0.9, 0.0, 0.1]), signed=True)
    Selection(kept=array([1, 2]), outlier=0)
    """
    if not signed:
        return Selection(np.argsort(-eigenvalues, kind="stable"), None)
    order = np.argsort(-np.abs(eigenvalues), kind="stable")
    first = int(order[0])
    if eigenvalues[first] < 0 and alignment[first] >= _OUTLIER_ALIGNMENT:
        return Selection(order[1:], first)
    return Selection(order, None)


def fix_signs(eigenvectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Flip each column so that the sum of the cubes of its entries is positive.

    The cubes let the large entries decide, whichever of two nearly equal ones is the largest.
    Where they cancel, the first entry that is at least half as large as the largest is made
    positive.

    >>> fix_signs(np.array([[0.6, -0.6], [-0.8, 0.8]])).tolist()
    [[-0.6, -0.6], [0.8, 0.8]]
    """
    largest = np.maximum(eigenvectors.max(axis=0), -eigenvectors.min(axis=0))
    scale = np.where(largest > 0, largest, 1).astype(eigenvectors.dtype)
    totals, sizes = np.zeros(len(scale)), np.zeros(len(scale))
    for rows in blocks(*eigenvectors.shape):
        scaled = eigenvectors[rows] / scale
        cubes = scaled * scaled * scaled
        totals += cubes.sum(axis=0, dtype=np.float64)
        sizes += np.abs(cubes).sum(axis=0, dtype=np.float64)
    decisive = totals.copy()
    for k in np.flatnonzero(np.abs(totals) <= _BALANCED * sizes):
        decisive[k] = eigenvectors[np.argmax(np.abs(eigenvectors[:, k]) >= largest[k] / 2), k]
    flips = np.where(decisive < 0, -1, 1).astype(eigenvectors.dtype)
    return eigenvectors * flips
