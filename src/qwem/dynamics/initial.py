"""What a random start W(0) gives each mode to grow from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from qwem.dynamics.vanishing import triangular_factor
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from qwem.spectrum import Spectrum

Initial = Literal["qr", "svd"]


def typical_values(spectrum: Spectrum, init_scale: float, initial: Initial) -> NDArray[np.float64]:
    """Return the typical start of each mode where W(0) has independent entries N(0, σ²).

    W(0)ᵀV* is then a d × d matrix of such entries, so R_kk(0)/σ is χ-distributed with d − k + 1
    degrees of freedom: what is left of column k when k − 1 directions are taken out. The value for
    ``"qr"`` is its geometric mean, exp E ln R_kk, so that the learning times, which are linear in
    ln R_kk, are the expected ones. For ``"svd"`` it is σ√V, the root of the mean squared singular
    value, around which they spread by about a part √(d/V). In the untied model half of the start,
    in the mean, lies in directions that only decay, so that ``"qr"`` has σ/√2 for σ. Under a
    rank-one coupling it is ΓW(0) that has these entries.
    """
    if not (np.isfinite(init_scale) and init_scale > 0):
        raise SettingError(f"init_scale must be a positive number, not {init_scale}.")
    words, dim = spectrum.eigenvectors.shape
    if initial == "svd":
        return np.full(dim, init_scale * np.sqrt(words))
    from scipy.special import digamma

    scale = init_scale / np.sqrt(2) if spectrum.signed else init_scale
    freedom = np.arange(dim, 0, -1)
    return scale * np.sqrt(2) * np.exp(digamma(freedom / 2) / 2)


def values_of_start(
    spectrum: Spectrum, vectors: ArrayLike, context: ArrayLike | None, initial: Initial
) -> NDArray[np.float64]:
    """Return what the given W(0), and W′(0) in the untied model, gives each mode.

    For ``"qr"`` it is the diagonal of R in W(0)ᵀV* = QR, for ``"svd"`` the singular values of
    W(0). Untied weights Y = (W; W′)/√2 that are balanced, WᵀW = W′ᵀW′, obey the equation of the
    tied ones with the matrix (0 M*; M* 0), whose eigenvectors for |λ_k| are
    (v_k; sign(λ_k) v_k)/√2; a small random start is balanced to the order of σ².
    """
    if (context is None) == spectrum.signed:
        raise SettingError(
            "initial_context_vectors belong to an untied model, whose spectrum is signed; "
            f"this spectrum has signed={spectrum.signed}."
        )
    sides = [_checked(spectrum, vectors, "initial_vectors")]
    bases = [spectrum.eigenvectors]
    if context is not None:
        sides.append(_checked(spectrum, context, "initial_context_vectors"))
        bases.append(spectrum.eigenvectors * np.sign(spectrum.eigenvalues))
    if initial == "svd":
        stacked = np.concatenate(sides) / np.sqrt(len(sides))
        return np.asarray(np.linalg.svd(stacked, compute_uv=False), dtype=np.float64)
    overlaps = [side.T @ basis for side, basis in zip(sides, bases, strict=True)]
    return np.diagonal(triangular_factor(np.mean(overlaps, axis=0)))


def _checked(spectrum: Spectrum, vectors: ArrayLike, name: str) -> NDArray[np.float64]:
    array = np.asarray(vectors, dtype=np.float64)
    if array.shape != spectrum.eigenvectors.shape or not np.all(np.isfinite(array)):
        raise SettingError(
            f"{name} must be finite and of shape {spectrum.eigenvectors.shape}, words by "
            f"dimensions as in the spectrum, not {array.shape}; restrict the spectrum if need be."
        )
    # Under a rank-one coupling it is U = ΓW that obeys the theory.
    return array if spectrum.row_scale is None else array / spectrum.row_scale[:, None]
