"""Starts: the size of a random W(0), and the value from which each mode grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qwem.dynamics.modes import triangular_factor
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from qwem.spectrum import Spectrum

Initial = Literal["qr", "svd"]
ScaleOf = Literal["entry", "vector", "mode"]


def entry_scale(
    init_scale: float | Literal["word2vec"], shape: tuple[int, int], scale_of: ScaleOf = "entry"
) -> float:
    """Return σ, the standard deviation of each entry of W(0), for a V × d matrix W.

    Parameters
    ----------
    init_scale
        The size of the start; or ``"word2vec"``, for entries uniform on ±1/(2d) as in word2vec.c,
        whose σ is 1/(2√3 d).
    shape
        (V, d).
    scale_of
        What `init_scale` is the size of. ``"entry"``: σ itself, as in the paper's Result 3.5.
        ``"vector"``: the root mean square length √d σ of a word's vector, as in the authors' code.
        ``"mode"``: the typical singular value √V σ of W(0).

    >>> round(entry_scale(0.1, (10_000, 200), "vector"), 5)
    0.00707
    >>> round(100 * entry_scale("word2vec", (10_000, 200)), 3)  # the singular values s_k(0)
    0.144
    """
    words, dim = shape
    if init_scale == "word2vec":
        return float(0.5 / dim / np.sqrt(3))
    if scale_of not in ("entry", "vector", "mode"):
        raise SettingError(f"scale_of must be entry, vector or mode, not {scale_of!r}.")
    if isinstance(init_scale, str) or not (np.isfinite(init_scale) and init_scale > 0):
        raise SettingError(f"init_scale must be a positive number or word2vec, not {init_scale!r}.")
    return float(init_scale / np.sqrt({"entry": 1, "vector": dim, "mode": words}[scale_of]))


def typical_values(spectrum: Spectrum, init_scale: float, initial: Initial) -> NDArray[np.float64]:
    """Return the typical initial value of each mode if W(0) has independent entries N(0, σ²).

    W(0)ᵀV* is then a d × d matrix of such entries, so R_kk(0)/σ is χ-distributed with d − k + 1
    degrees of freedom: the length of column k after projecting out k − 1 directions. The value for
    ``"qr"`` is its geometric mean, exp E ln R_kk. Learning times are linear in ln R_kk, so this
    value gives their expectation. The value for ``"svd"`` is σ√V, the root mean square singular
    value, with a relative spread of about √(d/V). In the untied model half of the start, on
    average, lies in directions that only decay, so ``"qr"`` uses σ/√2 for σ. Under a rank-one
    coupling, ΓW(0) has these entries.
    """
    if not (np.isfinite(init_scale) and init_scale > 0):
        raise SettingError(f"init_scale must be a positive number, not {init_scale}.")
    dim = spectrum.dim
    if initial == "svd":
        rows = len(spectrum.vocabulary) + len(spectrum.contexts or spectrum.vocabulary)
        return np.full(dim, init_scale * np.sqrt(rows / 2))
    from scipy.special import digamma

    scale = init_scale / np.sqrt(2) if spectrum.signed else init_scale
    freedom = np.arange(dim, 0, -1)
    return scale * np.sqrt(2) * np.exp(digamma(freedom / 2) / 2)


def values_of_start(
    spectrum: Spectrum,
    vectors: ArrayLike,
    context: ArrayLike | None,
    initial: Initial,
) -> NDArray[np.float64]:
    """Return the initial value of each mode for a given W(0), and W′(0) in the untied model.

    For ``"qr"`` it is the diagonal of R in W(0)ᵀV* = QR, and for ``"svd"`` the singular values of
    W(0). Untied weights Y = (W; W′)/√2 that are balanced, WᵀW = W′ᵀW′, obey the equation of the
    tied ones with the matrix (0 M*; M* 0), whose eigenvectors for |λ_k| are
    (v_k; sign(λ_k) v_k)/√2; a small random start is balanced to the order of σ².
    """
    if (context is None) == spectrum.signed:
        raise SettingError(
            "Give initial_context_vectors for an untied model (a signed spectrum or singular "
            "triplets), and leave them out for a tied one."
        )
    bases = [spectrum.eigenvectors, *([] if context is None else [spectrum.context_vectors])]
    sides = [
        _checked(given, basis, spectrum.row_scale, name)
        for given, basis, name in zip((vectors, context), bases, _STARTS, strict=False)
    ]
    if initial == "svd":
        stacked = np.concatenate(sides) / np.sqrt(len(sides))
        return np.asarray(np.linalg.svd(stacked, compute_uv=False), dtype=np.float64)
    overlaps = [side.T @ basis for side, basis in zip(sides, bases, strict=True)]
    return np.diagonal(triangular_factor(np.mean(overlaps, axis=0)))


_STARTS = ("initial_vectors", "initial_context_vectors")


def _checked(
    vectors: Any, basis: NDArray[Any], scale: NDArray[np.float64] | None, name: str
) -> NDArray[np.float64]:
    array = np.asarray(vectors, dtype=np.float64)
    if array.shape != basis.shape or not np.all(np.isfinite(array)):
        raise SettingError(
            f"{name} must be finite and of shape {basis.shape}, the words and "
            f"dimensions of the spectrum, not {array.shape}; restrict the spectrum to change them."
        )
    # Under a rank-one coupling the theory is that of U = ΓW.
    return array if scale is None else array / scale[:, None]
