"""Mixing of modes by uneven weights of pairs.

Under Setting 3.1 the coupling G is constant, and the minimum of ½ Σ G_ij (WWᵀ − M*)²_ij of rank d
consists of the first d eigenmodes. Weights such as word2vec's mix modes in two ways. The part of G
of rank one, ggᵀ, is solved exactly by Proposition 3.3 (`rank_one_part`). The rest is constant up
to δG, and to first order in δG the condition (G∘(WWᵀ − M*))W = 0 is that of a constant weight for
the target

    M_eff = M* + (δG/g)∘(M* − X),   X = Σ_{k≤d} λ_k v_k v_kᵀ:

only what rank d leaves out is mixed in. Replacing X by the solution and repeating converges to a
minimum of the weighted loss. This is the EM algorithm of Srebro and Jaakkola (2003).

During training X is what has been learned so far. At the start X = 0, and M_eff = (G∘M*)/g exactly:
`weighted_modes` are the modes that grow from a small start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qwem.dynamics.modes import checked_times, damping
from qwem.errors import SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def rank_one_part(coupling: ArrayLike) -> NDArray[np.float64]:
    """Return the vector g for which g_i g_j is closest to a positive coupling G_ij, in logarithms.

    G must be symmetric. The reweighting ``setting31() * rank_one(g)`` has the coupling g_i g_j, and
    a closed form.

    >>> rank_one_part(np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 4.0])).round(6)
    array([1., 2., 4.])
    """
    weights = np.asarray(coupling, dtype=np.float64)
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or not np.all(weights > 0):
        raise SettingError("The coupling must be a square matrix of positive numbers.")
    _require_symmetric("coupling", weights)
    logs = np.log(weights)
    return np.exp(logs.mean(axis=1) - logs.mean() / 2)


class WeightedModes(NamedTuple):
    """Modes that grow from a small start under uneven weights, the fastest first."""

    rates: NDArray[np.float64]
    """The eigenvalues λ_k of (G∘M*)/g: the growth rates of s_k² in the paper's time."""
    sizes: NDArray[np.float64]
    """κ_k, the value of s_k² at which mode k would stop growing if it were alone."""
    vectors: NDArray[np.float64]
    """The eigenvectors a_k, one per column."""

    def singular_value(self, times: ArrayLike, initial: float, mode: int = 0) -> Array:
        """Return s_k(t) of a mode that grows alone from `initial`, as the first one does.

        ds²/dt = (λ − λs²/κ) s²: the curve of Lemma 3.4 with the rate λ and the size κ.
        """
        growth = checked_times(times) * self.rates[mode]
        return initial / damping(growth, self.sizes[mode], initial)


def weighted_modes(
    matrix: ArrayLike, coupling: ArrayLike, dim: int, scale: float | None = None
) -> WeightedModes:
    """Return the modes that a weighted loss learns first, from a small start.

    Near W = 0 the flow of ¼ Σ G_ij (WWᵀ − M*)²_ij is dW/dt = ½ (G∘M*/g) W, whatever G is. So the
    eigenvectors of G∘M* grow, not those of M*. A single mode W = s a uᵀ then obeys
    ds²/dt = λs² − s⁴ Σ G_ij a_i²a_j²/g and stops at κ = λg/Σ G_ij a_i²a_j². It is learned at
    τ = ln(κ/s²(0))/λ, where s(0) = |W(0)ᵀa|. The logistic loss has the same flow as long as inner
    products are small.

    Parameters
    ----------
    matrix, coupling, scale
        M*, G and g, as in `effective_target`.
    dim
        The number of modes.

    >>> modes = weighted_modes(np.diag([3.0, 2.0]), [[1.0, 1.0], [1.0, 4.0]], dim=1, scale=1.0)
    >>> modes.rates, modes.sizes, np.abs(modes.vectors[:, 0])
    (array([8.]), array([2.]), array([0., 1.]))
    """
    target, weights = _checked(matrix, coupling)
    g = float(weights.mean()) if scale is None else scale
    values, vectors = (part[..., ::-1][..., :dim] for part in np.linalg.eigh(weights * target / g))
    if not 1 <= dim <= len(target) or values[-1] <= 0:
        raise SettingError(
            f"dim must be at least 1 and at most the number of growing modes, not {dim}."
        )
    squares = vectors**2
    sizes = values * g / np.einsum("ik,ij,jk->k", squares, weights, squares)
    return WeightedModes(values, sizes, vectors)


def effective_target(
    matrix: ArrayLike, coupling: ArrayLike, dim: int, scale: float | None = None
) -> NDArray[np.float64]:
    """Return M_eff, whose first `dim` eigenmodes are the weighted minimum to first order in G − g.

    Parameters
    ----------
    matrix
        The target M*, dense and symmetric.
    coupling
        G, symmetric and not negative, of the same shape.
    dim
        The rank d of the model.
    scale
        g; by default the mean of G.

    >>> matrix = np.diag([3.0, 1.0])
    >>> effective_target(matrix, [[1.0, 1.0], [1.0, 2.0]], dim=1, scale=1.0)
    array([[3., 0.],
           [0., 2.]])
    """
    target, weights = _checked(matrix, coupling)
    values, vectors = np.linalg.eigh(target)
    if not 1 <= dim <= len(values) or values[-dim] <= 0:
        raise SettingError(
            f"dim must be at least 1 and at most the {np.count_nonzero(values > 0)} positive "
            f"eigenvalues of the target, not {dim}."
        )
    learned = (vectors[:, -dim:] * values[-dim:]) @ vectors[:, -dim:].T
    g = float(weights.mean()) if scale is None else scale
    return target + (weights / g - 1) * (target - learned)


def mode_mixing(
    matrix: ArrayLike, coupling: ArrayLike, dim: int, scale: float | None = None
) -> NDArray[np.float64]:
    """Return V*ᵀV to first order in G − g: the part of mode i in feature k of the weighted model.

    The elements are (v_iᵀ M_eff v_k)/(λ_k − λ_i) for i ≠ k, and 1 for i = k. There is a row for
    each eigenvector of the target, the largest eigenvalue first, and a column for each of the `dim`
    features. Their squares are the overlaps of features. They must be small: the theory holds as
    long as (G/g − 1)∘(M* − X) is smaller than the gaps between eigenvalues. The parameters are
    those of `effective_target`.

    >>> mixing = mode_mixing(np.diag([3.0, 1.0, -1.0]), np.ones((3, 3)), dim=2)
    >>> mixing.shape, bool(np.allclose(mixing, np.eye(3)[:, :2]))
    ((3, 2), True)
    """
    effective = effective_target(matrix, coupling, dim, scale)
    values, vectors = np.linalg.eigh(np.asarray(matrix, dtype=np.float64))
    values, vectors = values[::-1], vectors[:, ::-1]
    elements = vectors.T @ effective @ vectors[:, :dim]
    gaps = values[:dim] - values[:, None]
    np.fill_diagonal(gaps, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mixing = elements / gaps
    np.fill_diagonal(mixing, 1.0)
    return mixing


def _checked(matrix: ArrayLike, coupling: ArrayLike) -> tuple[Array, Array]:
    target, weights = (np.asarray(array, dtype=np.float64) for array in (matrix, coupling))
    if target.ndim != 2 or target.shape[0] != target.shape[1] or weights.shape != target.shape:
        raise SettingError(
            "The target and the coupling must be square matrices of the same shape, not "
            f"{target.shape} and {weights.shape}."
        )
    _require_symmetric("target", target)
    _require_symmetric("coupling", weights)
    if weights.min() < 0 or weights.max() == 0:
        raise SettingError("The coupling must not be negative, and not zero everywhere.")
    return target, weights


def _require_symmetric(name: str, array: Array) -> None:
    if not np.allclose(array, array.T, rtol=1e-6, atol=1e-6 * np.abs(array).max()):
        raise SettingError(f"The {name} must be symmetric.")
