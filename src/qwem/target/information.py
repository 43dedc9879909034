"""Pointwise mutual information and its positive part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.errors import SettingError
from qwem.target.build import build_target
from qwem.target.formula import Formula, require_finite
from qwem.target.reweighting import Reweighting, setting31

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.target import Target


def pmi(
    counts: Cooccurrence,
    *,
    floor: float = 1e-25,
    reweighting: Reweighting | None = None,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
    threads: int | None = None,
) -> Target:
    """Return PMI = log(Ψ⁺ P_ij / (Ψ⁻ P_i P_j) + floor), the minimiser of word2vec's own loss.

    `floor` stands in for the logarithm of zero: the entry of a pair never seen is log(floor).
    Other parameters are those of `mstar`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> pmi(counts).toarray()[1].round(2)
    array([  0.29, -57.56], dtype=float32)
    """
    if not (math.isfinite(floor) and floor >= np.finfo(np.float32).tiny):
        raise SettingError(f"floor must be a positive number, at least 1.2e-38, not {floor}.")

    def logarithm(ratio: NDArray[Any]) -> None:
        ratio += ratio.dtype.type(floor)
        np.log(ratio, out=ratio)

    return build_target(
        counts,
        Formula.of_ratio(logarithm, unseen=math.log(floor)),
        setting31() if reweighting is None else reweighting,
        name="pmi",
        settings={"target": "pmi", "floor": floor},
        dtype=dtype,
        dense=dense,
        threads=threads,
    )


def ppmi(
    counts: Cooccurrence,
    shift: float = 0.0,
    *,
    reweighting: Reweighting | None = None,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
    threads: int | None = None,
) -> Target:
    """Return max(PMI − shift, 0), with shift = log k for the shifted PPMI of k negatives.

    Other parameters are those of `mstar`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> ppmi(counts).toarray()[1].round(2)
    array([0.29, 0.  ], dtype=float32)
    """
    require_finite("shift", shift)

    def positive_part(ratio: NDArray[Any]) -> None:
        np.maximum(ratio, ratio.dtype.type(math.exp(shift)), out=ratio)
        np.log(ratio, out=ratio)
        ratio -= ratio.dtype.type(shift)

    return build_target(
        counts,
        Formula.of_ratio(positive_part, unseen=0.0),
        setting31() if reweighting is None else reweighting,
        name="ppmi",
        settings={"target": "ppmi", "shift": shift},
        dtype=dtype,
        dense=dense,
        threads=threads,
    )
