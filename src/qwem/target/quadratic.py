"""M*, the target of the quadratic word embedding model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.target.build import build_target
from qwem.target.formula import LOGISTIC_MINUS, LOGISTIC_PLUS, Formula, require_finite
from qwem.target.reweighting import Reweighting, negative_sampling, setting31

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.target import Target


def mstar(
    counts: Cooccurrence,
    *,
    negatives: float = 1.0,
    shrinkage: float = 0.0,
    reweighting: Reweighting | None = None,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
    threads: int | None = None,
) -> Target:
    """Return M* = 2 (Ψ⁺ P_ij − Ψ⁻ P_i P_j) / (Ψ⁺ P_ij + Ψ⁻ P_i P_j) (paper, eq. mstar).

    Every entry lies between −2, that of a pair never seen, and 2. What Ψ⁺ and Ψ⁻ have in common
    cancels here and is left in the coupling.

    Parameters
    ----------
    counts
        How often words meet; every word must occur.
    negatives
        k: how often a negative pair counts for one positive pair; a factor of Ψ⁻.
    shrinkage
        α: with C the weighted count of a pair and E the expected one, entries become
        2 (C − E)/(C + E + α), so that a pair needs evidence of the order of α to count. An unseen
        pair is then −2E/(E + α), smooth in the words' counts; in a sparse target it is a sum of a
        few separable terms, within 1e-5 of that value.
    reweighting
        Ψ⁺ and Ψ⁻; by default `setting31`, under which M* has a closed-form solution.
    dtype
        Of the entries: float32 or float64.
    dense
        Whether to store every entry; by default, where that is faster.
    threads
        How many to use; all cores by default.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> mstar(counts, negatives=2.0).toarray()[0].round(3)
    array([-0.769, -0.4  ], dtype=float32)
    """
    require_finite("negatives", negatives)
    reweighting = setting31() if reweighting is None else reweighting
    return build_target(
        counts,
        Formula.of_loss(LOGISTIC_PLUS, LOGISTIC_MINUS, shrinkage),
        reweighting * negative_sampling(exponent=1.0, k=negatives),
        name="mstar",
        settings={"target": "mstar", "negatives": negatives, "shrinkage": shrinkage},
        dtype=dtype,
        dense=dense,
        threads=threads,
    )
