"""Vectors of words that were not there, from their counts with the words that were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from qwem.errors import CountError, SettingError
from qwem.model.choices import SHRINKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from qwem.corpus import Vocabulary
    from qwem.model.model import Model

    Vector: TypeAlias = NDArray[np.float64]

Counts: TypeAlias = "ArrayLike | sparse.sparray | sparse.spmatrix | Sequence[Mapping[str, float]]"


@dataclass(frozen=True, eq=False)
class EmbeddedRows:
    """Vectors in the space of a model, with the noise that they inherit from their counts."""

    vectors: NDArray[np.float32]
    """One vector per row."""
    covariances: NDArray[np.float32] = field(repr=False)
    """How each vector would vary with other text of the same kind, one d × d matrix per row."""

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """The standard error of each number of each vector."""
        variances = np.diagonal(self.covariances, axis1=1, axis2=2).astype(np.float64)
        return np.sqrt(np.maximum(variances, 0))


def embed_rows(
    model: Model,
    counts: Counts,
    occurrences: ArrayLike | None = None,
    *,
    shrink: bool = True,
    dispersion: float | None = None,
) -> EmbeddedRows:
    """Return the vectors of new rows; see `Model.embed_rows`."""
    rows = _as_rows(counts, model.vocabulary)
    if dispersion is None:
        dispersion = dispersion_of(model.spectrum.target_settings.get("weights"))
    totals = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
    if not np.all(totals > 0):
        empty = int(np.argmin(totals > 0))
        raise CountError(
            f"Row {empty} has no count with any of the {len(model.vocabulary):,} words of the "
            "model, so there is nothing to embed it by; leave it out, or give more contexts."
        )
    if model.polished is not None:
        found = list(_polished_rows(model, rows, dispersion))
    else:
        share = _occurrences(model, totals, occurrences)
        settings = dict(model.spectrum.target_settings)
        if shrink and "shrinkage" in settings:
            settings["shrinkage"] = settings["shrinkage"] or SHRINKAGE
        found = list(_closed_rows(model, settings, rows, share, dispersion))
    return EmbeddedRows(
        np.array([vector for vector, _ in found], dtype=np.float32),
        np.array([covariance for _, covariance in found], dtype=np.float32),
    )


def dispersion_of(weights: Sequence[int] | None) -> float:
    """Return Σ a²/Σ a over the weights a of a window, which is what a random pair counts for.

    >>> dispersion_of([1, 1, 1]), round(dispersion_of([3, 2, 1]), 3)
    (1.0, 2.333)
    """
    if not weights:
        return 1.0
    array = np.asarray(weights, dtype=np.float64)
    return float(array @ array / array.sum())


def _occurrences(model: Model, totals: Vector, given: ArrayLike | None) -> Vector:
    """Return how often each row's word occurred: as given, or as its pairs amount to."""
    settings, words = model.spectrum.target_settings, model.vocabulary.counts.sum()
    if given is None:
        if "pair_total" not in settings:
            raise SettingError(
                "This model does not record how many pairs it was made of, so new words can't be "
                "embedded; fit from text or counts."
            )
        return totals * (words / settings["pair_total"])
    occurrences = np.asarray(given, dtype=np.float64)
    if occurrences.shape != totals.shape or not np.all(
        np.isfinite(occurrences) & (occurrences > 0)
    ):
        raise SettingError(f"occurrences needs {len(totals)} positive numbers, one for each row.")
    return occurrences


def _closed_rows(
    model: Model,
    settings: Mapping[str, Any],
    rows: sparse.csr_array[Any],
    share: Vector,
    dispersion: float,
) -> Iterator[tuple[Vector, Vector]]:
    """Yield w = (m ∘ Γ1)ᵀ V sign(Λ)|Λ|^−½ and its covariance, for the row m of the target.

    By the definition of eigenvectors that is W's own row for a word of the target. The covariance
    is that of the jackknife over the pairs of the text: the row with a pair, less that without.
    """
    from qwem.target import target_rows

    spectrum = model.spectrum
    word_counts = spectrum.vocabulary.counts
    roots = np.sign(spectrum.eigenvalues) * np.abs(spectrum.eigenvalues) ** -0.5
    basis = spectrum.eigenvectors * roots
    if spectrum.row_scale is not None:
        basis = basis / spectrum.row_scale[:, None]
    for row, occurrences in enumerate(share):
        counts = rows[[row]]
        columns, seen = counts.indices, counts.data.astype(np.float64)
        entries = target_rows(settings, word_counts, counts, [occurrences])[0]
        fewer = sparse.csr_array(
            (np.maximum(seen - dispersion, 0), columns, counts.indptr), shape=counts.shape
        )
        change = (entries - target_rows(settings, word_counts, fewer, [occurrences])[0])[columns]
        variance = seen / dispersion * change**2
        yield entries @ basis, (basis[columns].T * variance) @ basis[columns]


def _polished_rows(
    model: Model, rows: sparse.csr_array[Any], dispersion: float
) -> Iterator[tuple[Vector, Vector]]:
    """Yield the minimum of each row's loss against the contexts of a polished model.

    A fit adds e pairs of independence to the row of each of its words. A word with fewer pairs of
    its own is better known by the prior, that it is one of the model's words. So a row of n pairs
    has the share n²/(n² + e²) of the evidence of a fit, and the rest, e²/(n² + e²), of the prior.
    """
    from qwem.polish import solve_row

    assert model.polished is not None
    contexts = model.fixed_contexts()
    evidence = model.polished[1].provenance["polish"]["evidence"]
    evidence *= model.spectrum.target_settings["pair_total"] / model.vocabulary.counts.sum()
    for row in range(rows.shape[0]):
        counts = rows[[row]].astype(np.float64)
        own = 1 / (1 + (evidence / counts.sum()) ** 2)
        solved = solve_row(
            contexts,
            counts.indices,
            counts.data,
            dispersion,
            prior=1 - own,
            evidence=own * evidence,
        )
        yield solved.vector - contexts.centre, solved.covariance


def _as_rows(counts: Counts, vocabulary: Vocabulary) -> sparse.csr_array[Any]:
    """Return counts as sparse rows over the vocabulary, after checking them."""
    matrix: Any = counts
    if isinstance(matrix, Mapping):
        matrix = [matrix]
    if isinstance(matrix, Sequence) and matrix and isinstance(matrix[0], Mapping):
        matrix = _from_mappings(matrix, vocabulary)
    elif not sparse.issparse(matrix):
        matrix = np.atleast_2d(np.asarray(matrix))
    if matrix.ndim != 2 or matrix.shape[1] != len(vocabulary):
        raise CountError(
            f"Rows need one count for each of the {len(vocabulary):,} words of the model, and "
            f"these have the shape {matrix.shape}."
        )
    rows = sparse.csr_array(matrix)
    rows.sum_duplicates()
    if not np.all(np.isfinite(rows.data)) or (rows.nnz and rows.data.min() < 0):
        raise CountError("Counts of new rows must be finite and not negative.")
    rows.eliminate_zeros()
    return rows


def _from_mappings(
    counts: Sequence[Mapping[str, float]], vocabulary: Vocabulary
) -> sparse.csr_array[Any]:
    """Return rows of counts by word; words that the model doesn't know are left out."""
    known = [
        [
            (index, count)
            for word, count in row.items()
            if (index := vocabulary.get(word)) is not None
        ]
        for row in counts
    ]
    ends = np.cumsum([0, *map(len, known)])
    indices = np.array([index for row in known for index, _ in row], dtype=np.int64)
    values = np.array([count for row in known for _, count in row], dtype=np.float64)
    return sparse.csr_array((values, indices, ends), shape=(len(counts), len(vocabulary)))
