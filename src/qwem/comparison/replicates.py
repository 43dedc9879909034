"""Models of slightly different counts, found from the model of all counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.resources import blas_threads
from qwem.comparison.perturbed import PerturbedSpectra
from qwem.embedding import Embedding
from qwem.model import build_target, moved_start
from qwem.polish import polish, solve_words
from qwem.spectrum import factorize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model, Settled
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
        settled: Settled,
        *,
        sweeps: int,
        threads: int | None = None,
    ) -> None:
        self._model, self._settled = model, settled
        self._sweeps, self._threads = sweeps, threads
        self._whole = model.embedding().vectors
        self._spectra: PerturbedSpectra | None = None
        if model.polished is not None:
            with blas_threads(threads):
                self._spectra = PerturbedSpectra(model.spectrum, counts, settled, threads=threads)

    def of(self, counts: Cooccurrence) -> Embedding:
        """Return the embedding of some of the counts, all of whose words occur."""
        with blas_threads(self._threads):
            if self._spectra is None:
                found = self._factorized(counts)
            else:
                found = self._polished(counts, self._spectra.spectrum(counts))
            return aligned(found, self._whole)

    def _factorized(self, counts: Cooccurrence) -> Embedding:
        spectrum = self._model.spectrum
        return factorize(
            build_target(counts, self._settled, self._threads),
            spectrum.dim,
            signed=spectrum.signed,
            tol=spectrum.tol,
            seed=self._settled.seed,
            warm_start=spectrum,
        ).embedding()

    def _polished(self, counts: Cooccurrence, spectrum: Spectrum) -> Embedding:
        assert self._model.polished is not None
        provenance = self._model.polished[0].provenance
        made = {name: provenance["polish"][name] for name in ("negatives", "exponent", "evidence")}
        start = moved_start(self._model, spectrum)
        if self._sweeps > 1:
            swept = polish(
                spectrum,
                counts,
                sweeps=self._sweeps - 1,
                tol=0.0,
                start=start,
                threads=self._threads,
                **made,
            )
            start = swept.embedding.vectors + swept.centre, swept.context.vectors
        scale = spectrum.row_scale
        vectors = solve_words(
            counts,
            start[1],
            start[0],
            coupling=None if scale is None else scale**-2.0,
            steps=1,
            threads=self._threads,
            **made,
        )
        weights = counts.word_counts / (counts.word_counts + made["evidence"])
        centre = (weights @ vectors / weights.sum()).astype(np.float32)
        return Embedding(counts.vocabulary, vectors - centre, provenance=provenance)


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
