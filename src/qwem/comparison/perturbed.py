"""Closed forms of slightly different counts, each by one product with eigenvectors of the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from qwem.errors import RankError
from qwem.model.fitting import build_target
from qwem.spectrum import factorize
from qwem.spectrum.selection import fix_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model.settings import ResolvedSettings
    from qwem.spectrum import Spectrum
    from qwem.target import Target

# How accurate the further eigenvectors are: they are only a space to look in.
_TOL = 0.01
# Products that find the eigenvector of the outlier, once the others are known.
_OUTLIER_PRODUCTS = 4


class PerturbedSpectra:
    """The spectra of targets that differ a little from that of all counts.

    Eigenvalues lie close together where a spectrum is cut off, and there a small change of the
    target turns eigenvectors into those that were left out. So the space Q to look in has more than
    the eigenvectors of the model: a quarter more and eight, and the outlier's. In it the eigenpairs
    (θ, Qu) of another target M are those of QᵀMQ (Rayleigh–Ritz). What leaves the space follows to
    first order, with the eigenvalues out there taken as small: with the residual r = (M − θ)Qu, the
    eigenvector is v = Qu + r/θ, and the eigenvalue θ + |r|²/θ.
    """

    def __init__(
        self,
        spectrum: Spectrum,
        counts: Cooccurrence,
        settled: ResolvedSettings,
    ) -> None:
        self._whole, self._settled = spectrum, settled
        target = build_target(counts, settled)
        vectors = _more_eigenvectors(spectrum, target, settled.seed)
        self._has_outlier = spectrum.outlier is not None or not spectrum.signed
        if self._has_outlier:
            vectors = np.column_stack([vectors, _outlier(target, vectors)])
        self._basis: NDArray[Any] = scipy.linalg.qr(vectors, mode="economic")[0]

    def spectrum(self, counts: Cooccurrence) -> Spectrum:
        """Return the spectrum of other counts of the same words.

        Its residuals are those before the last step, and its eigenvectors orthonormal only nearly.
        """
        target = build_target(counts, self._settled)
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
    except RankError:  # the others are zero, and nothing turns into them
        return spectrum.eigenvectors


def _outlier(target: Target, vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the eigenvector of the outlier, to which the others are orthogonal."""
    matrix, scale = target.solved_matrix(), target.row_scale
    found = np.ones(len(vectors)) if scale is None else 1 / scale
    for _ in range(_OUTLIER_PRODUCTS):
        found = found - vectors @ (vectors.T @ found)
        column = np.ascontiguousarray(found[:, None] / np.linalg.norm(found), vectors.dtype)
        found = (matrix @ column)[:, 0]
    return np.asarray(found / np.linalg.norm(found))
