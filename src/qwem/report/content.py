"""Data that the page computes with: the spectrum, the training run, words and their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem.report.compact import quantized

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.embedding import Embedding
    from qwem.interpretation.features import Feature

REPLAYED_AXES = 16
"""How many features the replay can show. Each costs two bytes per word."""


def spectrum_data(
    run: ClosedFormDynamics, features: Sequence[Feature], names: Mapping[int, str]
) -> dict[str, Any]:
    """Return the eigenvalues, how each mode starts and grows, and names and words of features."""
    spectrum = run.spectrum
    return {
        "eigenvalues": spectrum.eigenvalues.tolist(),
        "start": run.initial_singular_values.tolist(),
        "rates": run.rates.tolist(),
        "learningTimes": run.learning_times.tolist(),
        "unit": float(run.time(1.0)),
        "features": [
            [[word for word, _ in end] for end in (feature.positive, feature.negative)]
            for feature in features
        ],
        "names": [names.get(feature.rank, "") for feature in features],
    }


def words_data(run: ClosedFormDynamics, embedding: Embedding, words: int) -> dict[str, Any]:
    """Return the most frequent words with their vectors, rounded.

    ``vectors`` are unit vectors, for neighbours and analogies; ``directions`` are the rows of V*,
    or of Γ⁻¹V* under a coupling, in the first features: times s_k(t) they are the positions of
    the words at time t (Result 3.5).
    """
    return {
        "words": list(embedding.index_to_key[:words]),
        "vectors": quantized(unit_rows(embedding.vectors[:words]), 8),
        "directions": quantized(_directions(run, words), 16),
    }


def _directions(run: ClosedFormDynamics, words: int) -> NDArray[np.float64]:
    spectrum = run.spectrum
    rows = spectrum.eigenvectors[:words, :REPLAYED_AXES].astype(np.float64)
    if spectrum.row_scale is not None:
        rows *= spectrum.row_scale[:words, None]
    return rows
