"""From counts to a `Target`: the one road that every formula takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.blocks import blocks, for_each, stored_blocks
from qwem._internal.resources import require_memory
from qwem.errors import SettingError
from qwem.target.separable import separate
from qwem.target.target import Target

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.formula import Formula
    from qwem.target.reweighting import Reweighting

    Array = NDArray[np.float64]

SMALL = 2_000
"""Up to this vocabulary size a target is dense whatever its counts."""

DENSE_FROM = 0.2
"""The share of pairs seen from which `@` is faster dense: BLAS does about five times the operations
per second of the sparse kernel, on every pair instead of the seen ones."""


def build_target(
    counts: Cooccurrence,
    formula: Formula,
    reweighting: Reweighting,
    *,
    name: str,
    settings: dict[str, Any],
    dtype: DTypeLike,
    dense: bool | None,
    threads: int | None,
) -> Target:
    """Apply `formula` to every pair of words."""
    if not reweighting.is_symmetric:
        raise SettingError(
            "A target needs symmetric weights, and negative sampling is asymmetric; choose "
            "symmetrise='geometric' or 'arithmetic'."
        )
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise SettingError(f"dtype must be float32 or float64, not {dtype}.")
    size, _ = counts.pair_counts.shape
    if dense is None:
        dense = size <= SMALL or counts.pair_counts.nnz >= DENSE_FROM * size * size
    pairs = reweighting.weighted_counts(counts)
    left, right = reweighting.expected_counts(counts)
    coupling = reweighting.coupling(counts, formula.curvature)

    terms, term_weights = np.empty((size, 0)), np.empty(0)
    if dense:
        require_memory(
            size * size * dtype.itemsize,
            f"A dense target of {size:,} words",
            "restrict the vocabulary, or use dense=False",
        )
        rest: Any = _every_entry(pairs, formula, left, right, dtype, threads)
    else:
        rest = _stored_entries(pairs, formula, left, right, dtype, threads)
        if formula.unseen is None:
            terms, term_weights, error = separate(
                formula.unseen_entry, left, right, counts.word_counts
            )
            settings = {**settings, "unseen_error": error}
        elif formula.unseen != 0:
            terms, term_weights = np.ones((size, 1)), np.array([formula.unseen])
    return Target(
        vocabulary=counts.vocabulary,
        name=name,
        settings={
            **settings,
            "dtype": dtype.name,
            "reweighting": reweighting.settings,
            "window": counts.window,
            "weights": None if counts.weights is None else list(counts.weights),
            "sources": list(counts.sources),
        },
        rest=rest,
        terms=terms.astype(dtype),
        term_weights=term_weights.astype(dtype),
        coupling=coupling,
        threads=threads,
    )


def _every_entry(
    pairs: NDArray[Any] | sparse.csr_array[Any],
    formula: Formula,
    left: Array,
    right: Array,
    dtype: np.dtype[Any],
    threads: int | None,
) -> NDArray[Any]:
    from qwem.target.kernels import fill_from_dense, fill_from_sparse

    coefficients = np.array(formula.coefficients)
    entries = np.empty(pairs.shape, dtype)

    def fill(rows: slice) -> None:
        block = entries[rows]
        if isinstance(pairs, np.ndarray):
            fill_from_dense(pairs[rows], left[rows], right, coefficients, block)
        else:
            indptr = pairs.indptr[rows.start : rows.stop + 1]
            fill_from_sparse(
                indptr, pairs.indices, pairs.data, left[rows], right, coefficients, block
            )
        if formula.finish is not None:
            formula.finish(block)

    for_each(fill, blocks(*entries.shape), threads)
    return entries


def _stored_entries(
    pairs: NDArray[Any] | sparse.csr_array[Any],
    formula: Formula,
    left: Array,
    right: Array,
    dtype: np.dtype[Any],
    threads: int | None,
) -> sparse.csr_array[Any]:
    """Return what stored pairs add to an unseen one's entry, on the index arrays of the counts."""
    from qwem.target.kernels import fill_stored

    rows_of = pairs if not isinstance(pairs, np.ndarray) else sparse.csr_array(pairs)
    indptr, indices, stored = rows_of.indptr, rows_of.indices, rows_of.data
    coefficients = np.array(formula.coefficients)
    entries = np.empty(rows_of.nnz, dtype)

    def fill(rows: slice) -> None:
        part = indptr[rows.start : rows.stop + 1]
        fill_stored(part, indices, stored, left[rows], right, coefficients, entries)
        if formula.finish is not None and formula.unseen is not None:
            block = entries[part[0] : part[-1]]
            formula.finish(block)
            block -= block.dtype.type(formula.unseen)

    for_each(fill, stored_blocks(indptr), threads)
    return sparse.csr_array((entries, indices, indptr), shape=pairs.shape)
