"""Distance between two embeddings up to rotation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def requiv_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return min ‖W₁U − W₂‖ over orthogonal d × d matrices U: the distance between REquiv classes.

    The loss depends on embeddings only up to such U (paper, "Model equivalence classes"). The best
    U is the polar factor of W₁ᵀW₂ (Schönemann 1966). The residual is computed directly, which keeps
    small distances accurate.

    >>> requiv_distance([[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]])
    0.0
    """
    left, right = (np.asarray(vectors, dtype=np.float64) for vectors in (first, second))
    if left.ndim != 2 or left.shape != right.shape:
        raise SettingError(
            "The distance up to rotation needs two matrices of the same shape, not "
            f"{left.shape} and {right.shape}."
        )
    from scipy.linalg import orthogonal_procrustes

    rotation, _ = orthogonal_procrustes(left, right)
    return float(np.linalg.norm(left @ rotation - right))
