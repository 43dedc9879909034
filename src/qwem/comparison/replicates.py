"""Models of slightly different counts, found from the model of all counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.resources import blas_threads
from qwem.comparison.perturbed import PerturbedSpectra
from qwem.embedding import Embedding
from qwem.model.fitting import build_target
from qwem.polish import Polished, polish
from qwem.spectrum import factorize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model
    from qwem.model.settings import ResolvedSettings
    from qwem.spectrum import Spectrum


class Replicates:
    """The embeddings of slightly different counts, aligned to the model of all counts.

    A closed form is factorized anew, from the eigenvectors of the model. In a polished model the
    closed form changes as `PerturbedSpectra` says, and the vectors of the model move as it does;
    from there they take some sweeps on the new counts, the last of them for words only, because
    contexts come after words in a sweep. A rotation then brings the vectors as near as can be to
    those of the model; it changes no cosine.
    """

    def __init__(
        self,
        model: Model,
        counts: Cooccurrence,
        settled: ResolvedSettings,
        *,
        sweeps: int,
    ) -> None:
        self._model, self._settled = model, settled
        self._sweeps = sweeps
        self._whole = model.embedding().vectors
        self._spectra: PerturbedSpectra | None = None
        if isinstance(model.solution, Polished):
            with blas_threads():
                self._spectra = PerturbedSpectra(model.spectrum, counts, settled)

    def of(self, counts: Cooccurrence) -> Embedding:
        """Return the embedding of some of the counts, all of whose words occur."""
        with blas_threads():
            if self._spectra is None:
                found = self._factorized(counts)
            else:
                found = self._polished(counts, self._spectra.spectrum(counts))
            return aligned(found, self._whole)

    def _factorized(self, counts: Cooccurrence) -> Embedding:
        spectrum = self._model.spectrum
        return factorize(
            build_target(counts, self._settled),
            spectrum.dim,
            signed=spectrum.signed,
            tol=spectrum.tol,
            seed=self._settled.seed,
            warm_start=spectrum,
        ).embedding()

    def _polished(self, counts: Cooccurrence, spectrum: Spectrum) -> Embedding:
        solution = self._model.solution
        assert isinstance(solution, Polished)
        start = solution.warm_start(spectrum)
        if self._sweeps > 1:
            names = ("negatives", "exponent", "evidence")
            start = polish(
                spectrum,
                counts,
                sweeps=self._sweeps - 1,
                tol=0.0,
                start=start,
                **{name: solution.settings[name] for name in names},
            ).start
        return solution.solve_words(counts, start, steps=1)


def aligned(embedding: Embedding, vectors: NDArray[np.floating]) -> Embedding:
    """Return an embedding rotated to be as near as can be to `vectors` (Schönemann 1966)."""
    from scipy.linalg import orthogonal_procrustes

    rotation, _ = orthogonal_procrustes(
        embedding.vectors.astype(np.float64), np.asarray(vectors, dtype=np.float64)
    )
    return Embedding(
        embedding.vocabulary,
        embedding.vectors @ rotation.astype(np.float32),
        provenance=embedding.provenance,
    )
