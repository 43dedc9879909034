"""Number of non-negative eigenvalues of a target, without computing any of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.spectrum.lapack import count_above, rounding_floor

if TYPE_CHECKING:
    from qwem.target import Target


def count_nonnegative(target: Target) -> int:
    """Return how many eigenvalues of a target are zero or positive.

    This is the largest dimension in which a tied model, WWᵀ, can still improve on the target; the
    paper counts 4,795 for its M* of 10,000 words. The target is made dense, V² numbers in float64,
    and factorized once as LDLᵀ, which takes about V³/3 multiplications.

    >>> from qwem import Target
    >>> count_nonnegative(Target.from_matrix(["a", "b", "c"], np.diag([2.0, 0.0, -1.0])))
    2
    """
    matrix = np.asarray(target.toarray(), dtype=np.float64)
    # The least positive number lets the eigenvalues of a zero matrix count too.
    return count_above(matrix, -max(rounding_floor(matrix), np.finfo(np.float64).tiny))
