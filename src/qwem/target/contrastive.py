"""The target of any contrastive loss: the minimiser of its quadratic Taylor expansion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from qwem.errors import SettingError
from qwem.target.build import build_target
from qwem.target.formula import Derivatives, Formula
from qwem.target.reweighting import Reweighting, none, setting31

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.target import Target

    Side: TypeAlias = Callable[[float], Any] | Derivatives

_NODES = 19
_AGREEMENT = 1e-8
_NEGLIGIBLE = 1e-10


def contrastive_target(
    counts: Cooccurrence,
    f_plus: Side,
    f_minus: Side,
    *,
    reweighting: Reweighting | None = None,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
    threads: int | None = None,
) -> Target:
    """Return the target of the loss Σ Ψ⁺ P_ij f⁺(w_i·w_j) + Ψ⁻ P_i P_j f⁻(w_i·w_j).

    Expanded to second order around 0, the loss is ½ Σ G (W Wᵀ − M*)² and a constant, with
    M* = −(Ψ⁺ P f⁺′(0) + Ψ⁻ PP f⁻′(0)) / G and G = Ψ⁺ P f⁺″(0) + Ψ⁻ PP f⁻″(0). word2vec's
    logistic loss gives `mstar`.

    `f_plus` and `f_minus` are functions of a number, or their `Derivatives` at 0 where these are
    known. Under `setting31`, the default, the weights are divided by this G. Other parameters are
    those of `mstar`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> contrastive_target(counts, lambda x: np.exp(-x), np.exp).toarray()[1].round(3)
    array([ 0.143, -1.   ], dtype=float32)
    """
    plus, minus = derivatives_at_zero(f_plus), derivatives_at_zero(f_minus)
    return build_target(
        counts,
        Formula.of_loss(plus, minus),
        setting31() if reweighting is None else reweighting,
        name="contrastive",
        settings={"target": "contrastive", "f_plus": list(plus), "f_minus": list(minus)},
        dtype=dtype,
        dense=dense,
        threads=threads,
    )


def simclr_target(
    counts: Cooccurrence,
    beta: float = 1.0,
    *,
    reweighting: Reweighting | None = None,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
    threads: int | None = None,
) -> Target:
    """Return SimCLR's target (P_ij/(P_i P_j) − 1)/β (paper, appendix on SimCLR).

    At large batches and small embeddings, the loss at inverse temperature β is contrastive with
    f⁺(x) = −βx and f⁻(x) = βx + β²x²/2. Only its negative side is curved, so without reweighting,
    the default, the coupling is β² P_i P_j: rank one, and Proposition 3.3 solves it. Other
    parameters are those of `mstar`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> simclr_target(counts, beta=2.0).coupling
    array([1.5, 0.5])
    """
    if not (math.isfinite(beta) and beta > 0):
        raise SettingError(f"beta must be a positive inverse temperature, not {beta}.")
    return build_target(
        counts,
        Formula.of_loss(Derivatives(-beta, 0.0), Derivatives(beta, beta * beta)),
        none() if reweighting is None else reweighting,
        name="simclr",
        settings={"target": "simclr", "beta": beta},
        dtype=dtype,
        dense=dense,
        threads=threads,
    )


def derivatives_at_zero(function: Side) -> Derivatives:
    """Return the first two derivatives of a smooth function at 0.

    They are those of the polynomial through 19 Chebyshev nodes on [−h, h]. The interval is halved
    from h = 1 until two in a row agree to 1e-8 of the derivatives' size; then analytic functions
    are exact to about 1e-11 of it, and a derivative below 1e-10 of it is taken for 0. A function
    with a kink at 0 never agrees, and is refused.

    >>> round(derivatives_at_zero(np.cos).second, 10)
    -1.0
    """
    if isinstance(function, Derivatives):
        return function
    previous = None
    for halvings in range(12):
        current = _differentiate(function, 0.5**halvings)
        if previous is not None and current is not None:
            size = max(1e-3, *map(abs, current))
            if all(abs(a - b) <= _AGREEMENT * size for a, b in zip(previous, current, strict=True)):
                return Derivatives(*(d if abs(d) > _NEGLIGIBLE * size else 0.0 for d in current))
        previous = current
    raise SettingError(
        "A side of the loss has no first and second derivative at 0 that could be found to 1e-8; "
        "give a smooth function of a number, or its Derivatives(first, second)."
    )


def _differentiate(function: Callable[[float], Any], reach: float) -> Derivatives | None:
    nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
    with np.errstate(all="ignore"):
        values = np.array([float(function(float(reach * node))) for node in nodes])
    if not np.all(np.isfinite(values)):
        return None
    series = np.polynomial.chebyshev.Chebyshev.fit(nodes, values, _NODES - 1, domain=[-1, 1])
    first, second = series.deriv(1)(0.0), series.deriv(2)(0.0)
    return Derivatives(float(first / reach), float(second / reach**2))
