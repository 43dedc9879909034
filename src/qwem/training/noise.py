"""Noise of minibatch gradients, and the plateau that it leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal.resources import require_memory
from qwem.errors import SettingError
from qwem.target import setting31
from qwem.training.losses import QUARTIC, Loss
from qwem.training.weighting import pair_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.target import Reweighting

    Array = NDArray[np.float64]


def gradient_noise(
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    vectors: ArrayLike,
    directions: ArrayLike,
    context_vectors: ArrayLike | None = None,
    context_directions: ArrayLike | None = None,
    batch_size: int = 100_000,
    flatten: float = 0.0,
) -> NDArray[np.float64]:
    """Return the covariance of the minibatch gradient along some directions.

    A batch has n = `batch_size`/2 positive and n negative pairs, drawn independently. A pair (i, j)
    contributes c_ij (A_i·w′_j + A′_j·w_i) to the gradient along (A, A′), where c is its importance
    weight times f±′(w_i·w′_j); in a tied model W′ = W and A′ = A. The covariance of two directions
    is that of the two contributions of one pair, over n, for positive and negative pairs added. It
    is computed exactly, over all pairs.

    Parameters
    ----------
    counts, loss, reweighting, batch_size, flatten
        As in `stochastic`.
    vectors
        W, the point at which the gradient is taken.
    directions
        Matrices A of the shape of W, stacked.
    context_vectors, context_directions
        W′ and the matrices A′ of an untied model. A is then a direction in W, A′ in W′, and the
        gradient along both is the sum of the two.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> noise = gradient_noise(counts, vectors=[[1.0], [0.0]], directions=np.eye(2)[:, :, None])
    >>> noise.shape
    (2, 2)
    """
    if (context_vectors is None) != (context_directions is None):
        raise SettingError("An untied model needs both context_vectors and context_directions.")
    size = len(counts.vocabulary)
    w, along = _checked(size, vectors, directions)
    context, context_along = w, along
    if context_vectors is not None and context_directions is not None:
        context, context_along = _checked(size, context_vectors, context_directions)
        if context_along.shape != along.shape:
            raise SettingError(
                "directions and context_directions must have the same shape, not "
                f"{along.shape} and {context_along.shape}."
            )
    require_memory(
        (len(along) + 6) * 8 * size**2,
        f"The gradient noise of {size:,} words",
        "restrict the vocabulary, or ask for fewer directions",
    )
    weights = pair_weights(counts, setting31() if reweighting is None else reweighting, loss)
    seen: Any = (
        weights.counts if isinstance(weights.counts, np.ndarray) else weights.counts.toarray()
    )
    positive, negative = seen / weights.total, weights.left @ weights.right
    shared = np.outer(weights.shared, weights.shared)
    if weights.curvature is not None:
        a, b = weights.curvature
        shared = shared / (a * positive + b * negative)
    words = counts.word_counts.astype(np.float64)
    accept, drawn = (words.min() / words) ** flatten, words ** (1 - flatten)
    pairs: Any = np.asarray(counts.symmetric.toarray(), dtype=np.float64) * np.outer(accept, accept)
    contributions = along @ context.T + w @ context_along.swapaxes(1, 2)
    slopes = _slopes(loss, w @ context.T)
    total = np.zeros((len(along), len(along)))
    for mass, chance, slope in (
        (positive * shared, pairs / pairs.sum(), slopes[0]),
        (negative * shared, np.outer(drawn, drawn) / drawn.sum() ** 2, slopes[1]),
    ):
        # Mass over chance is the importance weight; pairs that are never drawn have no mass.
        single = np.divide(mass, chance, out=np.zeros_like(mass), where=chance > 0) * slope
        values = (contributions * single).reshape(len(along), -1)
        means = values @ chance.ravel()
        total += (values * chance.ravel()) @ values.T - np.outer(means, means)
    return total / (batch_size / 2)


def mode_plateau(
    eigenvalues: ArrayLike, noise: ArrayLike, rate: float, *, tied: bool = True
) -> NDArray[np.float64]:
    """Return the variance of s_k around √λ_k at which plain steps of rate η level off.

    Under Setting 3.1 and the quartic loss, a step multiplies a deviation of s_k by 1 − ηh, with the
    curvature h = 2λ_k in a tied model and λ_k in an untied one, and adds η times the noise of the
    gradient. Its variance ν_k, `noise`, is that along v_k u_kᵀ, or in an untied model along
    (v_k u_kᵀ, v_k u_kᵀ)/√2, in which both sides grow. The variance then settles at

        η ν_k / (4λ_k (1 − ηλ_k)),   and η ν_k / (2λ_k (2 − ηλ_k)) in an untied model,

    and the loss of the mode at λ_k times that above its minimum.

    >>> mode_plateau([4.0], [1.0], rate=0.05).round(6)
    array([0.003906])
    """
    values, variance = (np.asarray(x, dtype=np.float64) for x in (eigenvalues, noise))
    curvature = values * (2 if tied else 1)
    if not (rate > 0 and np.all(values > 0) and np.all(rate * curvature < 2)):
        raise SettingError(
            "The plateau needs positive eigenvalues and a rate below the edge of stability, "
            f"{'1/λ' if tied else '2/λ'}."
        )
    # An untied mode is s_k times a unit vector on each side, so it deviates by √2 times as much.
    return rate * variance / (curvature * (2 - rate * curvature) * (1 if tied else 2))


def _checked(size: int, vectors: ArrayLike, directions: ArrayLike) -> tuple[Array, Array]:
    """Return vectors and directions as arrays, after checking their shapes."""
    w = np.asarray(vectors, dtype=np.float64)
    along = np.asarray(directions, dtype=np.float64)
    if w.ndim != 2 or len(w) != size or along.ndim != 3 or along.shape[1:] != w.shape:
        raise SettingError(
            f"vectors must have {size:,} rows, and directions be a stack of matrices of their "
            f"shape, not {w.shape} and {along.shape}."
        )
    return w, along


def _slopes(loss: Loss, x: Array) -> tuple[Array, Array]:
    """Return f⁺′ and f⁻′."""
    with jax.enable_x64(True):
        one, zero = jnp.ones_like(x), jnp.zeros_like(x)
        plus, minus = (
            np.asarray(loss.costs(jnp.asarray(x), *sides)[1], dtype=np.float64)
            for sides in ((one, zero), (zero, one))
        )
    return plus, minus
