"""The request to an eigensolver, and its answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qwem.spectrum.orthonormal import Block


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
