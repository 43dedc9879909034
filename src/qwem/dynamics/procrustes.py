"""How far apart two embeddings are when rotations do not count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def requiv_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return min ‖W₁U − W₂‖ over orthogonal d × d matrices U: the distance between REquiv classes.

    The loss sees embeddings only up to such U (paper, "Model equivalence classes"). The best U is
    the polar factor of W₁ᵀW₂ (Schönemann 1966), a d × d problem; the residual is then formed, not
    inferred from norms, so that small distances keep their digits.

    >>> requiv_distance([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]])
    0.0
    """
    left, right = (np.asarray(vectors, dtype=np.float64) for vectors in (first, second))
    if left.ndim != 2 or left.shape != right.shape:
        raise SettingError(
            "A distance modulo rotations needs two matrices of one shape, not "
            f"{left.shape} and {right.shape}."
        )
    outer, _, inner = np.linalg.svd(left.T @ right)
    return float(np.linalg.norm(left @ (outer @ inner) - right))
