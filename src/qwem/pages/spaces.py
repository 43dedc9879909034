"""Spaces: the vectors of a model as rows and weights, for any time and dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks, principal_axes
from qwem.dynamics import ClosedFormDynamics, closed_form
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.spectrum.spectrum import fix_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.spectrum import Spectrum

    Array = NDArray[np.float64]
    Column = NDArray[np.float32]

SLACK = 1e-5
"""Words whose float32 cosine is at most this much below the last result's are compared again in
float64; the rounding error is far smaller."""

_BLOCK_NUMBERS = 1 << 20
_TIMES = 60


@dataclass(frozen=True, eq=False)
class Space:
    """Vectors of words: the vector of word i is g_i r_ik w_k, for k up to the dimension.

    In a closed form r is V*, w_k is s_k(t) (Result 3.5), and g is the diagonal of Γ⁻¹ under a
    coupling. Other vectors are rotated to their principal axes, with r = U and w the singular
    values. Cosines do not depend on g, and are found from r without making the vectors.
    """

    name: str
    """``closed``, ``polished`` or ``given``."""
    vocabulary: Vocabulary
    rows: NDArray[Any] = field(repr=False)
    weights: Array = field(repr=False)
    eigenvalues: Array = field(repr=False)
    run: ClosedFormDynamics | None = field(default=None, repr=False)
    """The training run in closed form; None for other vectors."""

    @classmethod
    def of_spectrum(cls, spectrum: Spectrum, init_scale: float) -> Space:
        """Return the space of a closed form."""
        return cls(
            "closed",
            spectrum.vocabulary,
            spectrum.eigenvectors,
            np.sqrt(np.abs(spectrum.eigenvalues)),
            spectrum.eigenvalues,
            closed_form(spectrum, init_scale=init_scale),
        )

    @classmethod
    def of_embedding(cls, embedding: Embedding, name: str) -> Space:
        """Return the space of vectors without a spectrum, on their principal axes.

        The axes are those of `qwem.interpretation.principal_axes`.
        """
        rows, weights = principal_axes(embedding.vectors)
        if len(weights) == 0:
            raise SettingError("All vectors are zero, so there are no features to show.")
        rows = fix_signs(rows)
        rows.setflags(write=False)
        return cls(name, embedding.vocabulary, rows, weights, weights**2)

    @property
    def dim(self) -> int:
        """The number of features."""
        return len(self.weights)

    @property
    def row_scale(self) -> Array | None:
        """The diagonal of Γ⁻¹, which multiplies the rows, or None."""
        return None if self.run is None else self.run.spectrum.row_scale

    @cached_property
    def unit(self) -> float | None:
        """τ₁ in the paper's time; None without a closed form."""
        return None if self.run is None else float(self.run.time(1.0))

    def at(self, dim: int | None = None, time: float | None = None) -> Space:
        """Return the space of the first d features at a time t/τ₁; None is the end of training."""
        if dim is not None and not 1 <= dim <= self.dim:
            raise SettingError(f"d must be between 1 and {self.dim}, not {dim}.")
        if time is not None and self.run is None:
            raise SettingError(
                f"The {self.name} vectors have no time t; leave it out, or choose the closed form."
            )
        if time is not None and not (math.isfinite(time) and time >= 0):
            raise SettingError(f"t must be at least 0, not {time}.")
        weights = self.weights
        if time is not None and self.run is not None:
            weights = self.run.singular_values(self.run.time(time))[: self.dim]
        return replace(self, rows=self.rows[:, :dim], weights=weights[:dim])

    def vectors(self, indices: NDArray[np.integer] | slice) -> Array:
        """Return the vectors of some words, in float64."""
        vectors = self.rows[indices].astype(np.float64) * self.weights
        return vectors if self.row_scale is None else vectors * self.row_scale[indices][:, None]

    def cosines(self, direction: Array) -> Column:
        """Return the cosine of every word with a direction of length one; 0 for zero vectors."""
        # Early in training all weights are tiny; a common factor changes no cosine.
        weights = self.weights / (float(self.weights.max(initial=0.0)) or 1.0)
        along = (direction * weights).astype(np.float32)
        squared = (weights**2).astype(np.float32)
        found = np.zeros(len(self.rows), dtype=np.float32)
        for part in blocks(len(self.rows), self.dim, most=_BLOCK_NUMBERS):
            rows = self.rows[part].astype(np.float32)
            lengths = np.sqrt(np.square(rows) @ squared)
            np.divide(rows @ along, lengths, out=found[part], where=lengths > 0)
        return found

    def nearest(
        self, direction: Array, topn: int, exclude: tuple[int, ...] = ()
    ) -> list[tuple[int, float]]:
        """Return the index and cosine of the words nearest to a direction, the best first.

        Candidates are found in float32 and ordered in float64, words with equal cosines by their
        index.
        """
        length = float(np.linalg.norm(direction))
        if not length > 0:
            return []
        cosines = self.cosines(direction / length)
        cosines[[index for index in exclude if index < len(cosines)]] = -np.inf
        topn = min(topn, len(cosines))
        last = np.partition(cosines, len(cosines) - topn)[len(cosines) - topn]
        found = np.flatnonzero(cosines >= max(last - SLACK, -2.0))
        vectors = self.vectors(found)
        lengths = np.linalg.norm(vectors, axis=1)
        kept = lengths > 0
        found, vectors, lengths = found[kept], vectors[kept], lengths[kept]
        exact = np.clip(vectors @ (direction / length) / lengths, -1.0, 1.0)
        order = np.lexsort((found, -exact.round(12)))[:topn]
        return list(zip(found[order].tolist(), exact[order].tolist(), strict=True))

    def embedding(self, words: int) -> Embedding:
        """Return the embedding of the most frequent words."""
        words = min(words, len(self.vocabulary))
        return Embedding(self.vocabulary.restrict(words), self.vectors(slice(words)))

    def learned(self) -> Column:
        """Return for each word the t/τ₁ at which its vector has half of its final squared length.

        It is interpolated linearly on a grid of times.
        """
        if self.run is None:
            raise SettingError(f"The {self.name} vectors have no time t; choose the closed form.")
        last = float(self.run.rescaled_time(self.run.learning_times.max())) * 1.5
        times = np.linspace(0.0, last, _TIMES)
        squares = self.run.singular_values(self.run.time(times)) ** 2
        found = np.empty(len(self.rows), dtype=np.float32)
        for part in blocks(len(self.rows), self.dim, most=_BLOCK_NUMBERS):
            grown = self.rows[part].astype(np.float64) ** 2 @ squares.T
            half = grown[:, -1] / 2
            after = np.clip(np.argmax(grown >= half[:, None], axis=1), 1, None)
            each = np.arange(len(grown))
            low, high = grown[each, after - 1], grown[each, after]
            step = np.divide(half - low, high - low, out=np.zeros_like(half), where=high > low)
            found[part] = times[after - 1] + np.clip(step, 0, 1) * (times[1] - times[0])
        return found
