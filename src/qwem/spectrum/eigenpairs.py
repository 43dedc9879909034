"""What a solver is asked for and what it hands back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qwem.spectrum.orthonormal import Block


@dataclass(frozen=True)
class Wanted:
    """What a solver is asked for.

    `direction` is the unit vector along which the unseen pairs push, for telling the outlier.
    """

    dim: int
    signed: bool
    tol: float
    direction: NDArray[np.float64]


@dataclass(frozen=True)
class Eigenpairs:
    """Eigenvalues, best first, with their eigenvectors, and what was done to get them.

    `outlier` is the eigenvalue left out of a signed selection, `floor` the magnitude below which
    an eigenvalue can't be told from zero, `products` the number of vectors that were multiplied.
    """

    eigenvalues: NDArray[np.float64]
    eigenvectors: Block
    outlier: float | None
    floor: float
    products: int
