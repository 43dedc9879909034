"""The targets: M*, PMI, PPMI, SimCLR's, that of any contrastive loss, and the asymmetric M*.

Each symmetric target is a `Formula` for the entry of a pair, which `build` applies to all pairs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np
from scipy import sparse

from qwem.errors import SettingError
from qwem.target.building import (
    ALWAYS_DENSE_SIZE,
    LOGISTIC_MINUS,
    LOGISTIC_PLUS,
    Derivatives,
    TargetOptions,
    build,
    expansion,
    formula_of,
    require_finite,
    row_entries,
)
from qwem.target.reweighting import negative_sampling, setting31, unweighted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from scipy.sparse.linalg import LinearOperator

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.reweighting import Reweighting
    from qwem.target.target import Target


_NODES = 19
_AGREEMENT = 1e-8
_NEGLIGIBLE = 1e-10


LossSide: TypeAlias = "Callable[[float], Any] | Derivatives"
"""f⁺ or f⁻: a function of a number, or its derivatives at 0 if these are known."""


def derivatives_at_zero(function: LossSide) -> Derivatives:
    """Return the first two derivatives of a smooth function at 0.

    They are those of the polynomial through 19 Chebyshev nodes on [−h, h]. The interval is halved
    from h = 1 until two consecutive results agree to 1e-8 of the derivatives' size. Then analytic
    functions are exact to about 1e-11 of it, and a derivative below 1e-10 of it is set to 0. A
    function with a kink at 0 never converges, and is refused.

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


PMI_FLOOR = 1e-25
"""The default of the number that is added to a ratio of probabilities before its logarithm."""


def mstar(
    counts: Cooccurrence,
    *,
    negatives: float = 1.0,
    shrinkage: float = 0.0,
    **options: Unpack[TargetOptions],
) -> Target:
    """Return M* = 2 (Ψ⁺ P_ij − Ψ⁻ P_i P_j) / (Ψ⁺ P_ij + Ψ⁻ P_i P_j) (paper, eq. mstar).

    Every entry lies between −2, that of an unseen pair, and 2. Common factors of Ψ⁺ and Ψ⁻ cancel
    here and remain in the coupling. Under Setting 3.1, the default, M* has a closed-form solution.

    Parameters
    ----------
    counts
        The counts of words and pairs; every word must occur.
    negatives
        word2vec's k, the weight of a negative pair: a factor of Ψ⁻.
    shrinkage
        α: with C the weighted count of a pair and E the expected one, entries become
        2 (C − E)/(C + E + α), so that counts well below α have little effect. The entry of an
        unseen pair is then −2E/(E + α), a smooth function of the words' counts; in a sparse target
        it is a sum of a few separable terms, within 1e-5 of that value.
    **options
        `TargetOptions`: reweighting, dtype, dense.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> mstar(counts, negatives=2.0).toarray()[0].round(3)
    array([-0.769, -0.4  ], dtype=float32)
    """
    require_finite("negatives", negatives)
    reweighting = options.get("reweighting") or setting31()
    options["reweighting"] = reweighting * negative_sampling(exponent=1.0, negatives=negatives)
    settings = {"target": "mstar", "negatives": negatives, "shrinkage": shrinkage}
    return build(counts, formula_of(settings), settings, **options)


def pmi(
    counts: Cooccurrence, *, floor: float = PMI_FLOOR, **options: Unpack[TargetOptions]
) -> Target:
    """Return PMI = log(Ψ⁺ P_ij / (Ψ⁻ P_i P_j) + floor), the minimizer of word2vec's own loss.

    `floor` keeps the logarithm finite: the entry of an unseen pair is log(floor). The `options` are
    `TargetOptions`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> pmi(counts).toarray()[1].round(2)
    array([  0.29, -57.56], dtype=float32)
    """
    settings = {"target": "pmi", "floor": floor}
    return build(counts, formula_of(settings), settings, **options)


def ppmi(counts: Cooccurrence, shift: float = 0.0, **options: Unpack[TargetOptions]) -> Target:
    """Return max(PMI − shift, 0), with shift = log k for the shifted PPMI of k negatives.

    The `options` are `TargetOptions`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> ppmi(counts).toarray()[1].round(2)
    array([0.29, 0.  ], dtype=float32)
    """
    settings = {"target": "ppmi", "shift": shift}
    return build(counts, formula_of(settings), settings, **options)


def simclr_target(
    counts: Cooccurrence, beta: float = 1.0, **options: Unpack[TargetOptions]
) -> Target:
    """Return SimCLR's target (P_ij/(P_i P_j) − 1)/β (paper, appendix on SimCLR).

    At large batches and small embeddings, the loss at inverse temperature β is contrastive with
    f⁺(x) = −βx and f⁻(x) = βx + β²x²/2. Only its negative side is curved, so without reweighting,
    the default, the coupling is β² P_i P_j: rank one, and Proposition 3.3 solves it. The `options`
    are `TargetOptions`.

    The paper expands log E_k e^{βS_ik} as E_k e^{βS_ik} − 1, which drops −½β² (E_k S_ik)², a term
    of second order. The target is right nevertheless: the dropped term vanishes for features of
    mean Σ P_i f_i = 0, and the minimum has such features, with or without the term, as long as P_i
    is the share of word i in the pairs. Away from the minimum the loss needs the term; see the page
    on SimCLR.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> simclr_target(counts, beta=2.0).coupling
    array([1.5, 0.5])
    """
    if not (math.isfinite(beta) and beta > 0):
        raise SettingError(f"beta must be a positive inverse temperature, not {beta}.")
    options["reweighting"] = options.get("reweighting") or unweighted()
    formula = expansion(Derivatives(-beta, 0.0), Derivatives(beta, beta * beta))
    return build(counts, formula, {"target": "simclr", "beta": beta}, **options)


def contrastive_target(
    counts: Cooccurrence, f_plus: LossSide, f_minus: LossSide, **options: Unpack[TargetOptions]
) -> Target:
    """Return the target of the loss Σ Ψ⁺ P_ij f⁺(w_i·w_j) + Ψ⁻ P_i P_j f⁻(w_i·w_j).

    Expanded to second order around 0, the loss is ½ Σ G (W Wᵀ − M*)² plus a constant, with
    M* = −(Ψ⁺ P f⁺′(0) + Ψ⁻ PP f⁻′(0)) / G and G = Ψ⁺ P f⁺″(0) + Ψ⁻ PP f⁻″(0). word2vec's
    logistic loss gives `mstar`.

    `f_plus` and `f_minus` are functions of a number, or their `Derivatives` at 0 if these are
    known. Under `setting31`, the default, the weights are divided by this G. The `options` are
    `TargetOptions`.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> contrastive_target(counts, lambda x: np.exp(-x), np.exp).toarray()[1].round(3)
    array([ 0.143, -1.   ], dtype=float32)
    """
    plus, minus = derivatives_at_zero(f_plus), derivatives_at_zero(f_minus)
    settings = {"target": "contrastive", "f_plus": list(plus), "f_minus": list(minus)}
    return build(counts, expansion(plus, minus), settings, **options)


def asymmetric_mstar(
    counts: Cooccurrence,
    reweighting: Reweighting | None = None,
    *,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
) -> NDArray[Any] | LinearOperator:
    """Return M*_ij = 2 (Ψ⁺P_ij − Ψ⁻_ij P_iP_j) / (Ψ⁺P_ij + Ψ⁻_ij P_iP_j) for any Ψ⁻.

    word2vec draws contexts, not words, from P_j^¾, so its Ψ⁻ and its target are not symmetric:
    ``setting31() * negative_sampling(symmetrize=None)``. `qwem.spectrum.singular_triplets`
    factorizes it. For large vocabularies the result is a SciPy operator, −2 plus a sparse matrix;
    for small ones, or with ``dense=True``, it is an array.

    >>> from qwem import Cooccurrence
    >>> from qwem.target import negative_sampling
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> asymmetric_mstar(counts, setting31() * negative_sampling(0.75, 1.0, None)).round(3)
    array([[-0.042,  0.089],
           [ 0.36 , -2.   ]], dtype=float32)
    """
    reweighting = setting31() if reweighting is None else reweighting
    expected, pairs = reweighting.expected_counts(counts), counts.symmetric.matrix
    made = expansion(LOGISTIC_PLUS, LOGISTIC_MINUS), expected, dtype
    if dense is None:
        dense = pairs.shape[0] <= ALWAYS_DENSE_SIZE
    if dense:
        return row_entries(pairs, *made, dense=True)
    from scipy.sparse.linalg import LinearOperator

    stored: Any = sparse.csr_array(pairs, copy=True)
    stored.data = row_entries(stored, *made, dense=False)  # M* + 2
    back = stored.T.tocsr()

    def product(matrix: Any) -> Any:
        return lambda block: matrix @ block - 2 * block.sum(axis=0)

    return LinearOperator(
        stored.shape,
        matvec=product(stored),
        rmatvec=product(back),
        matmat=product(stored),
        rmatmat=product(back),
        dtype=np.dtype(dtype),
    )


# Factors of Ψ⁺ and Ψ⁻ that don't change the entries of a target.
_CANCELLING = {"setting31", "rank_one", "subsampling"}


def target_rows(
    settings: Mapping[str, Any],
    word_counts: NDArray[np.int64],
    pair_counts: sparse.csr_array[Any],
    occurrences: ArrayLike,
) -> NDArray[np.float64]:
    """Return the rows that new words would have in a target, from their counts with its words.

    Parameters
    ----------
    settings
        The target's `settings`, which include its formula and the total of the pair counts.
    word_counts
        The counts of the target's words.
    pair_counts
        How often each new word occurs with each word of the target, one row per new word.
    occurrences
        How often each new word occurs.

    For a word of the target the result is its row in the target:

    >>> from qwem import Cooccurrence
    >>> from qwem.target import mstar
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> target = mstar(counts, shrinkage=1.0)
    >>> pairs = counts.symmetric.tocsr()
    >>> rows = target_rows(target.settings, counts.word_counts, pairs, counts.word_counts)
    >>> bool(np.allclose(rows, target.toarray()))
    True
    """
    if "pair_total" not in settings:
        raise SettingError(
            "This target doesn't record the counts it was made from, so new words have no rows in "
            "it; fit from text or counts."
        )
    negatives = 1.0
    for factor in settings["reweighting"]:
        if factor["name"] == "negative_sampling" and factor["exponent"] == 1:
            negatives *= factor["negatives"]
        elif factor["name"] not in _CANCELLING:
            raise SettingError(
                f"New words have no rows in a target that is reweighted by {factor['name']}."
            )
    probability = word_counts / word_counts.sum()
    share = np.asarray(occurrences, dtype=np.float64) / word_counts.sum()
    left = negatives * settings["pair_total"] * share[:, None]
    expected = left, probability[None, :]
    return row_entries(pair_counts, formula_of(settings), expected, np.float64, dense=True)
