"""Replicates: models of slightly different counts, found from the model of all counts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from qwem._internal.resources import blas_threads
from qwem.embedding import Embedding
from qwem.errors import RankError
from qwem.model.fitting import build_target
from qwem.polish import Polished, polish
from qwem.polish.sweep import ROUNDED_TOL
from qwem.spectrum import factorize
from qwem.spectrum.spectrum import fix_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model
    from qwem.model.settings import ResolvedSettings
    from qwem.spectrum import Spectrum
    from qwem.target import Target

# Tolerance of the additional eigenvectors, which only widen the space that is searched.
_TOL = 0.01
# Power iterations for the eigenvector of the outlier, once the others are known.
_OUTLIER_PRODUCTS = 4


class Replicates:
    """The embeddings of slightly different counts, aligned to the model of all counts.

    A closed form is factorized anew, starting from the eigenvectors of the model. For a polished
    model, `PerturbedSpectra` updates the closed form, and the polished vectors move with it. They
    then take some sweeps of polishing on the new counts, the last of them for words only, because
    contexts come after words in a sweep. Finally a rotation aligns the vectors with those of the
    model; it changes no cosine.
    """

    def __init__(
        self,
        model: Model,
        counts: Cooccurrence,
        settings: ResolvedSettings,
        *,
        sweeps: int,
    ) -> None:
        self._model, self._settings = model, settings
        self._sweeps = sweeps
        self._whole = model.embedding().vectors
        self._spectra: PerturbedSpectra | None = None
        if isinstance(model.solution, Polished):
            with blas_threads(1):
                self._spectra = PerturbedSpectra(model.spectrum, counts, settings)

    def of(self, counts: Cooccurrence) -> Embedding:
        """Return the embedding of other counts of the same words, each of which must occur.

        Products of matrices have one thread, so that bits don't depend on the number of threads.
        """
        with blas_threads(1):
            if self._spectra is None:
                found = self._factorized(counts)
            else:
                found = self._polished(counts, self._spectra.spectrum(counts))
            return aligned(found, self._whole)

    def _factorized(self, counts: Cooccurrence) -> Embedding:
        spectrum = self._model.spectrum
        return factorize(
            build_target(counts, self._settings),
            spectrum.dim,
            signed=spectrum.signed,
            tol=spectrum.tol,
            seed=self._settings.seed,
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
        return solution.solve_words(counts, start, steps=1, tol=ROUNDED_TOL)


def aligned(embedding: Embedding, vectors: NDArray[np.floating]) -> Embedding:
    """Return an embedding rotated to be as close as possible to `vectors`."""
    turn = rotation(embedding.vectors, vectors).astype(np.float32)
    return Embedding(
        embedding.vocabulary, embedding.vectors @ turn, provenance=embedding.provenance
    )


def rotation(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rotation R for which `one` @ R is nearest to `other` (Schönemann 1966)."""
    wide = (np.asarray(each, dtype=np.float64) for each in (one, other))
    turn: NDArray[np.float64] = scipy.linalg.orthogonal_procrustes(*wide)[0]
    return turn


class PerturbedSpectra:
    """The spectra of targets that differ a little from that of all counts.

    Eigenvalues lie close together where a spectrum is cut off, and there a small change of the
    target turns eigenvectors into those that were left out. So the space Q that is searched has
    more eigenvectors than the model, by a quarter and eight, and that of the outlier. In it the
    eigenpairs (θ, Qu) of another target M are those of QᵀMQ (Rayleigh–Ritz). The part outside the
    space follows to first order, with the eigenvalues there taken as small: with the residual
    r = (M − θ)Qu, the eigenvector is v = Qu + r/θ, and the eigenvalue θ + |r|²/θ.
    """

    def __init__(
        self,
        spectrum: Spectrum,
        counts: Cooccurrence,
        settings: ResolvedSettings,
    ) -> None:
        self._whole, self._settings = spectrum, settings
        target = build_target(counts, settings)
        vectors = _more_eigenvectors(spectrum, target, settings.seed)
        self._has_outlier = spectrum.outlier is not None or not spectrum.signed
        if self._has_outlier:
            vectors = np.column_stack([vectors, _outlier(target, vectors)])
        self._basis: NDArray[Any] = scipy.linalg.qr(vectors, mode="economic")[0]

    def spectrum(self, counts: Cooccurrence) -> Spectrum:
        """Return the spectrum of other counts of the same words.

        Its residuals are those before the first-order correction, and its eigenvectors are only
        nearly orthonormal.
        """
        target = build_target(counts, self._settings)
        basis, whole = self._basis, self._whole
        image = target.solved_matrix() @ basis
        small = (basis.T @ image).astype(np.float64)
        values, turns = np.linalg.eigh((small + small.T) / 2)
        sizes = np.abs(values) if whole.signed else values.copy()
        if self._has_outlier:
            sizes[np.argmax(turns[-1] ** 2)] = -np.inf
        kept = np.argsort(-sizes, kind="stable")[: whole.dim]
        values, turns = values[kept], turns[:, kept]
        inside = basis @ turns.astype(basis.dtype)
        outside = image @ turns.astype(basis.dtype) - inside * values.astype(basis.dtype)
        vectors = inside + outside / values.astype(basis.dtype)
        residuals = np.linalg.norm(outside, axis=0).astype(np.float64)
        return replace(
            whole,
            eigenvalues=values + residuals**2 / values,
            eigenvectors=fix_signs(vectors / np.linalg.norm(vectors, axis=0)),
            residuals=residuals,
            vocabulary=counts.vocabulary,
            row_scale=target.row_scale,
            target_settings=dict(target.settings),
        )


def _more_eigenvectors(spectrum: Spectrum, target: Target, seed: int) -> NDArray[Any]:
    """Return eigenvectors of the target, more than the spectrum has if there are more."""
    size, dim = spectrum.eigenvectors.shape
    wanted = min(dim + dim // 4 + 8, size - 1)
    try:
        return factorize(target, wanted, signed=spectrum.signed, tol=_TOL, seed=seed).eigenvectors
    except RankError:  # the other eigenvalues are zero
        return spectrum.eigenvectors


def _outlier(target: Target, vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the eigenvector of the outlier, which is orthogonal to the others."""
    matrix, scale = target.solved_matrix(), target.row_scale
    found = np.ones(len(vectors)) if scale is None else 1 / scale
    for _ in range(_OUTLIER_PRODUCTS):
        found = found - vectors @ (vectors.T @ found)
        column = np.ascontiguousarray(found[:, None] / np.linalg.norm(found), vectors.dtype)
        found = (matrix @ column)[:, 0]
    return np.asarray(found / np.linalg.norm(found))
