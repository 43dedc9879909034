"""Building a `Target`: the formula of an entry, applied to the counts of all pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypedDict

import numpy as np
from scipy import sparse

from qwem._internal.arrays import blocks, for_each, stored_blocks
from qwem._internal.resources import blas_threads, require_memory
from qwem.errors import ConvergenceError, SettingError
from qwem.target.reweighting import setting31
from qwem.target.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import DTypeLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.reweighting import Reweighting

    Array = NDArray[np.float64]
    Factors: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
    Pairs: TypeAlias = NDArray[Any] | sparse.csr_array[Any]


class Derivatives(NamedTuple):
    """The first and second derivative of one side of a loss, f⁺ or f⁻, at 0."""

    first: float
    second: float


LOGISTIC_PLUS = Derivatives(-0.5, 0.25)
"""The derivatives of word2vec's f⁺(x) = log(1 + e⁻ˣ)."""
LOGISTIC_MINUS = Derivatives(0.5, 0.25)
"""The derivatives of word2vec's f⁻(x) = log(1 + eˣ)."""


@dataclass(frozen=True)
class Formula:
    """The entry of a pair: ``finish((a C + b E) / (c C + d E + h))``.

    C is the pair's count and E the count expected under independence.
    """

    coefficients: tuple[float, float, float, float, float]
    """a, b, c, d and h."""
    unseen: float | None
    """The entry of pairs that never occur, if it is the same for all; otherwise None."""
    curvature: tuple[float, float]
    """The weights of C and E in the coupling: f⁺″(0) and f⁻″(0)."""
    finish: Callable[[NDArray[Any]], None] | None = None
    """Applied in place to the fraction, which must then be 0 for C = 0; None for no change."""

    def unseen_entry(self, expected: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the entries of pairs that never occur, given their expected counts."""
        _, b, _, d, h = self.coefficients
        return b * expected / (d * expected + h)


def formula_of(settings: Mapping[str, Any]) -> Formula:
    """Return the formula of `mstar`, `pmi` or `ppmi` with these settings."""
    name = settings["target"]
    if name == "mstar":
        return expansion(LOGISTIC_PLUS, LOGISTIC_MINUS, settings["shrinkage"])
    if name == "pmi":
        return _pmi_formula(settings["floor"])
    if name == "ppmi":
        return _ppmi_formula(settings["shift"])
    raise SettingError(f"The formula of the target {name!r} is not recorded with it.")


def expansion(plus: Derivatives, minus: Derivatives, shrinkage: float = 0.0) -> Formula:
    """Return the minimizer of a loss's quadratic expansion, entry by entry (paper, eq. mstar).

    M* = −(C f⁺′ + E f⁻′) / (C f⁺″ + E f⁻″). `shrinkage` is added to E in the denominator only,
    which amounts to a penalty on M*².
    """
    require_finite("shrinkage", shrinkage)
    for derivative in (*plus, *minus):
        require_finite("A loss's derivative at 0", derivative)
    if shrinkage < 0:
        raise SettingError(f"shrinkage must not be negative, and it is {shrinkage}.")
    if plus.second < 0 or minus.second <= 0:
        raise SettingError(
            "The quadratic expansion of this loss has no minimum: it needs f⁺″(0) ≥ 0 and "
            f"f⁻″(0) > 0, and they are {plus.second:g} and {minus.second:g}."
        )
    return Formula(
        (-plus.first, -minus.first, plus.second, minus.second, shrinkage * minus.second),
        unseen=-minus.first / minus.second if shrinkage == 0 else None,
        curvature=(plus.second, minus.second),
    )


def function_of_ratio(finish: Callable[[NDArray[Any]], None], unseen: float) -> Formula:
    """Return a function of P_ij / (P_i P_j), with the coupling of word2vec's own loss."""
    curvature = (LOGISTIC_PLUS.second, LOGISTIC_MINUS.second)
    return Formula((1.0, 0.0, 0.0, 1.0, 0.0), unseen, curvature, finish)


def _pmi_formula(floor: float) -> Formula:
    if not (math.isfinite(floor) and floor >= np.finfo(np.float32).tiny):
        raise SettingError(f"floor must be a positive number, at least 1.2e-38, not {floor}.")

    def logarithm(ratio: NDArray[Any]) -> None:
        ratio += ratio.dtype.type(floor)
        np.log(ratio, out=ratio)

    return function_of_ratio(logarithm, unseen=math.log(floor))


def _ppmi_formula(shift: float) -> Formula:
    require_finite("shift", shift)

    def positive_part(ratio: NDArray[Any]) -> None:
        np.maximum(ratio, ratio.dtype.type(math.exp(shift)), out=ratio)
        np.log(ratio, out=ratio)
        ratio -= ratio.dtype.type(shift)

    return function_of_ratio(positive_part, unseen=0.0)


def require_finite(name: str, value: float) -> None:
    """Raise `SettingError` unless a number is finite."""
    if not math.isfinite(value):
        raise SettingError(f"{name} must be a finite number, not {value}.")


TOLERANCE = 1e-5
"""The largest error of an entry that `separate` accepts."""

_SAMPLES = 400
_CHECKS = 2000
_MOST_TERMS = 64


def separate(
    function: Callable[[Array], Array], left: Array, right: Array, word_counts: NDArray[np.int64]
) -> tuple[Array, Array, float]:
    """Write function(left @ right), a symmetric matrix, as terms @ diag(signs) @ terms.T.

    The factors are smooth functions of a word's count, so words of equal count have equal rows. The
    eigenvectors on a few hundred words, evenly spread over the logarithm of the count, are extended
    to all words (Nyström). Terms are added until the largest error is at most `TOLERANCE`. It is
    measured among words of distinct counts, at most about 2,000 of them, evenly spread.

    Returns the terms (words × terms), their signs, and the error measured.
    """
    distinct, first, place = np.unique(word_counts, return_index=True, return_inverse=True)
    left, right = left[first], right[:, first]
    sample, check = _spread(distinct, _SAMPLES), _spread(distinct, _CHECKS)

    values, vectors = np.linalg.eigh(function(left[sample] @ right[:, sample]))
    order = np.argsort(-np.abs(values))
    order = order[np.abs(values[order]) > 1e-10 * np.abs(values[order[0]])]
    values, vectors = values[order], vectors[:, order]
    extended = function(left @ right[:, sample]) @ (vectors / np.sqrt(np.abs(values)))
    signs = np.sign(values)

    rest = function(left[check] @ right[:, check])
    for count in range(1, min(values.size, _MOST_TERMS) + 1):
        term = extended[check, count - 1]
        for rows in blocks(len(check), len(check)):
            rest[rows] -= np.outer(signs[count - 1] * term[rows], term)
        error = max(float(np.abs(rest[rows]).max()) for rows in blocks(*rest.shape))
        if error <= TOLERANCE:
            return extended[place, :count], signs[:count], error
    raise ConvergenceError(
        f"The entries of unseen pairs could not be written as a few separable terms (the error "
        f"stays at {error:.1e}); use dense=True."
    )


def _spread(counts: NDArray[np.int64], size: int) -> NDArray[np.intp]:
    """Return indices into sorted `counts`, evenly spread over the logarithm, with both ends."""
    if counts.size <= size:
        return np.arange(counts.size)
    even = np.geomspace(counts[0], counts[-1], size)
    return np.unique(np.searchsorted(counts, even).clip(max=counts.size - 1))


ALWAYS_DENSE_SIZE = 2_000
"""The largest vocabulary size at which a target is always dense."""

DENSE_PRODUCT_SHARE = 0.5
"""The share of seen pairs from which on a target is dense. Then an array of all pairs takes no more
memory than the seen pairs with their indices, and `@` about as long: BLAS multiplies all pairs, but
does at least one and a half times as many operations per second as the sparse kernel."""


class TargetOptions(TypedDict, total=False):
    """Parameters that every target takes."""

    reweighting: Reweighting | None
    """Ψ⁺ and Ψ⁻; by default `setting31` (for `simclr_target`, `unweighted`)."""
    dtype: DTypeLike
    """Type of the entries: float32, the default, or float64."""
    dense: bool | None
    """Whether to store every entry; by default, if that is faster."""


@dataclass(frozen=True)
class TargetPlan:
    """Everything needed to compute the entries of a target from the counts of its rows."""

    formula: Formula
    expected: Factors
    """Factors of the expected counts, words × terms and terms × words."""
    dtype: np.dtype[Any]
    dense: bool
    fields: dict[str, Any]
    """The other fields of the `Target`."""

    @classmethod
    def of(
        cls,
        counts: Cooccurrence,
        formula: Formula,
        settings: dict[str, Any],
        *,
        reweighting: Reweighting | None = None,
        dtype: DTypeLike = np.float32,
        dense: bool | None = None,
    ) -> TargetPlan:
        """Return the plan of a target, from the words and sums of the counts.

        `settings` are those of the formula, with its name under ``"target"``.
        """
        reweighting = reweighting or setting31()
        if not reweighting.is_symmetric:
            raise SettingError(
                "A target needs symmetric weights, and negative sampling is asymmetric; choose "
                "symmetrize='geometric' or 'arithmetic'."
            )
        dtype = np.dtype(dtype)
        if dtype not in (np.float32, np.float64):
            raise SettingError(f"dtype must be float32 or float64, not {dtype}.")
        size, _ = counts.symmetric.shape
        if dense is None:
            seen = counts.symmetric.nnz
            dense = size <= ALWAYS_DENSE_SIZE or seen >= DENSE_PRODUCT_SHARE * size * size
        expected = reweighting.expected_counts(counts)
        terms, term_weights = np.empty((size, 0)), np.empty(0)
        if not dense:
            if formula.unseen is None:
                # At this size the threads of BLAS mostly wait for each other.
                with blas_threads(1):
                    terms, term_weights, error = separate(
                        formula.unseen_entry, *expected, counts.word_counts
                    )
                settings = {**settings, "unseen_error": error}
            elif formula.unseen != 0:
                terms, term_weights = np.ones((size, 1)), np.array([formula.unseen])
        fields = {
            "vocabulary": counts.vocabulary,
            "name": settings["target"],
            "settings": {
                **settings,
                "dtype": dtype.name,
                "reweighting": reweighting.settings,
                "window": counts.window,
                "weights": None if counts.weights is None else list(counts.weights),
                "pair_total": counts.symmetric.total,
                "sources": list(counts.sources),
            },
            "terms": terms.astype(dtype),
            "term_weights": term_weights.astype(dtype),
            "coupling": reweighting.coupling(counts, formula.curvature),
        }
        return cls(formula, expected, dtype, dense, fields)

    def target(self, rest: Any) -> Target:
        """Return the target with these entries; see `Target.rest`."""
        return Target(rest=rest, **self.fields)


def build(
    counts: Cooccurrence,
    formula: Formula,
    settings: dict[str, Any],
    **options: Any,
) -> Target:
    """Return the target whose entries are given by `formula`; see `TargetPlan.of`."""
    plan = TargetPlan.of(counts, formula, settings, **options)
    made = plan.formula, plan.expected, plan.dtype
    if plan.dense:
        size = len(counts.vocabulary)
        require_memory(
            size * size * plan.dtype.itemsize,
            f"A dense target of {size:,} words",
            "restrict the vocabulary, or use dense=False",
        )
        rest: Any = row_entries(counts.symmetric.matrix, *made, dense=True)
    else:
        stored = counts.symmetric.tocsr()
        entries = row_entries(stored, *made, dense=False)
        rest = sparse.csr_array((entries, stored.indices, stored.indptr), shape=stored.shape)
    return plan.target(rest)


def row_entries(
    pairs: Pairs, formula: Formula, expected: Factors, dtype: DTypeLike, *, dense: bool
) -> NDArray[Any]:
    """Return the entries of some or all rows of a target.

    Parameters
    ----------
    pairs
        The counts of these rows.
    formula
        The formula of an entry.
    expected
        Factors of the expected counts, rows × terms and terms × words.
    dtype
        Type of the entries.
    dense
        If true, return the entries of all pairs. Otherwise return, for each pair that `pairs`
        stores (as CSR), the difference between its entry and that of an unseen pair.
    """
    from qwem._internal.kernels import fill_from_dense, fill_from_sparse, fill_stored

    (left, right), coefficients = expected, np.array(formula.coefficients)
    stored: Any = pairs
    entries = np.empty(pairs.shape if dense else stored.nnz, dtype)

    def fill(rows: slice) -> None:
        factors = left[rows], right, coefficients
        block = entries[rows]
        if isinstance(pairs, np.ndarray):
            fill_from_dense(pairs[rows], *factors, block)
        else:
            indptr = pairs.indptr[rows.start : rows.stop + 1]
            stored_rows = indptr, pairs.indices, pairs.data
            if dense:
                fill_from_sparse(*stored_rows, *factors, block)
            else:
                fill_stored(*stored_rows, *factors, entries)
                block = entries[indptr[0] : indptr[-1]]
        if formula.finish is not None:
            formula.finish(block)
            if not dense:
                block -= block.dtype.type(formula.unseen)

    for_each(fill, blocks(*pairs.shape) if dense else stored_blocks(stored.indptr))
    return entries
