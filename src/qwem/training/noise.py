"""Noise of minibatch gradients, and what it does: plateaus, critical batch size, early learning."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from qwem._internal.arrays import quotient
from qwem._internal.resources import require_memory
from qwem.errors import SettingError
from qwem.target import mstar, setting31
from qwem.training.losses import QUARTIC, Loss
from qwem.training.pairs import flattened
from qwem.training.weighting import pair_weights, time_per_rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.target import Reweighting
    from qwem.training.weighting import PairWeights

    Array = NDArray[np.float64]


class _Draw(NamedTuple):
    """Positive or negative pairs: the probability of a draw, and the weight Ψ±P in the loss."""

    chance: Array
    mass: Array

    def weighed(self, slope: Array) -> tuple[Array, Array]:
        """Return c_ij, its importance weight times f±′, and E c_ij over draws."""
        # Pairs that are never drawn have no mass.
        return quotient(self.mass, self.chance) * slope, self.mass * slope


@dataclass(frozen=True, eq=False)
class MinibatchNoise:
    """Noise of the gradient of minibatches, computed exactly over all pairs.

    A batch has n = `batch_size`/2 positive and n negative pairs, drawn independently. A pair (i, j)
    contributes c_ij w′_j to the gradient in w_i and c_ij w_i to that in w′_j, where c is its
    importance weight times f±′(w_i·w′_j); in a tied model W′ = W. Formulas and their derivation:
    ``docs/theory/minibatch-noise.md``.

    Parameters
    ----------
    counts, loss, reweighting, batch_size, flatten
        As in `stochastic`.

    >>> from qwem import Cooccurrence
    >>> noise = MinibatchNoise(Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]]))
    >>> covariance = noise.covariance([[1.0], [0.0]], directions=np.eye(2)[:, :, None])
    >>> bool(np.isclose(np.trace(covariance), noise.total([[1.0], [0.0]])))
    True
    """

    counts: Cooccurrence
    loss: Loss = QUARTIC
    reweighting: Reweighting | None = None
    batch_size: int = 100_000
    flatten: float = 0.0

    def covariance(
        self,
        vectors: ArrayLike,
        directions: ArrayLike,
        context_vectors: ArrayLike | None = None,
        context_directions: ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Return the covariance of the minibatch gradient along some directions.

        Parameters
        ----------
        vectors
            W, the point at which the gradient is taken.
        directions
            Matrices A of the shape of W, stacked.
        context_vectors, context_directions
            W′ and the matrices A′ of an untied model. A is then a direction in W, A′ in W′, and the
            gradient along both is the sum of the two.
        """
        if (context_vectors is None) != (context_directions is None):
            raise SettingError("An untied model needs both context_vectors and context_directions.")
        w, along = self._point(vectors), self._directions(directions)
        context, context_along = w, along
        if context_vectors is not None and context_directions is not None:
            context = self._point(context_vectors)
            context_along = self._directions(context_directions)
        if along.shape[1:] != w.shape or context_along.shape != along.shape:
            raise SettingError(
                f"Directions must be stacks of matrices of the same shape as vectors, {w.shape}, "
                f"not {along.shape} and {context_along.shape}."
            )
        contributions = along @ context.T + w @ context_along.swapaxes(1, 2)
        total = np.zeros((len(along), len(along)))
        for draw, slope in zip(self._draws, self._slopes(w @ context.T), strict=True):
            values = (contributions * draw.weighed(slope)[0]).reshape(len(along), -1)
            means = values @ draw.chance.ravel()
            total += (values * draw.chance.ravel()) @ values.T - np.outer(means, means)
        return total / (self.batch_size / 2)

    def total(self, vectors: ArrayLike, context_vectors: ArrayLike | None = None) -> float:
        """Return Tr C, the expected squared distance of a minibatch's gradient from the exact one.

        It is the trace of `covariance` over an orthonormal basis of all directions.
        """
        return self._moments(vectors, context_vectors)[0]

    def critical_batch_size(
        self, vectors: ArrayLike, context_vectors: ArrayLike | None = None
    ) -> float:
        """Return the batch size at which the noise is as large as the gradient: Tr C = |∇L|².

        In smaller batches noise dominates; larger ones add little information (McCandlish and
        others, 2018, "simple noise scale"). It grows as training proceeds and the gradient gets
        small.
        """
        noise, gradient = self._moments(vectors, context_vectors)
        return self.batch_size * noise / gradient if gradient > 0 else np.inf

    def excess_loss(self, vectors: ArrayLike, rate: float) -> float:
        """Return ¼ η Tr C: how far above the minimum, W, the loss of a tied model levels off.

        Near a minimum with the Hessian H, steps of rate η have the stationary covariance Σ with
        HΣ + ΣH = ηC, to first order in η, and the excess ½ Tr HΣ = ¼η Tr C does not depend on H.
        Rotations of W have no curvature, but they have no noise either. `mode_plateau` is the part
        of it that lies along learned modes, usually a small one.
        """
        return rate * self.total(vectors) / 4

    def seeded_start(self, vectors: ArrayLike, rate: float) -> NDArray[np.float64]:
        """Return the value from which each mode grows under minibatches, to be used for R_kk(0).

        Noise moves weight from other modes into mode k. While W is small, the mean of R_kk² is

            e^{λ_k t} (R_kk²(0) + (η/2) ∫ e^{−λ_k s} ν_k(s) ds),

        where ν_k is the noise of the gradient along v_k uᵀ, summed over the directions u that no
        larger mode uses. The square root of the bracket is returned, for ``closed_form(spectrum,
        initial_singular_values=…)``. This holds for Setting 3.1 and tied weights.

        Parameters
        ----------
        vectors
            W(0), a small start.
        rate
            The learning rate η.
        """
        if self._weights.curvature is None:
            raise SettingError(
                "seeded_start needs Setting 3.1, under which each mode grows by itself."
            )
        start = self._point(vectors)
        target = mstar(self.counts, reweighting=self.reweighting, dtype=np.float64).toarray()
        values, basis = (part[..., ::-1] for part in np.linalg.eigh(target))
        overlaps = start.T @ basis
        per_time = rate / time_per_rate(self._weights, self.loss)
        moments = [
            (draw.chance * np.square(single), mean)
            for draw, slope in zip(self._draws, self._slopes(np.zeros_like(target)), strict=True)
            for single, mean in (draw.weighed(slope),)
        ]
        found = np.empty(start.shape[1])
        for k in range(len(found)):
            free = np.linalg.qr(overlaps[:, :k], mode="complete")[0][:, k:]
            parts = (overlaps.T @ free)[k:]  # of modes k, k + 1, … along each free direction
            rates = values[k] - (values[k:, None] + values[k:]) / 2
            rates[0, 0] = np.inf  # mode k does not seed itself
            noise = _mode_noise(moments, basis[:, k], basis[:, k:]) / (self.batch_size / 2)
            seed = np.einsum("ma,na,mn->", parts, parts, noise / rates)
            found[k] = np.sqrt(np.sum(parts[0] ** 2) + per_time * max(seed, 0.0))
        return found

    @cached_property
    def _weights(self) -> PairWeights:
        reweighting = setting31() if self.reweighting is None else self.reweighting
        return pair_weights(self.counts, reweighting, self.loss)

    @cached_property
    def _draws(self) -> tuple[_Draw, _Draw]:
        """The distributions of positive and of negative pairs."""
        size = len(self.counts.vocabulary)
        require_memory(
            10 * 8 * size**2, f"The gradient noise of {size:,} words", "restrict the vocabulary"
        )
        positive, negative = self._weights.toarrays()
        accept, drawn = flattened(self.counts.word_counts, self.flatten)
        pairs: Any = self.counts.symmetric.toarray() * np.outer(accept, accept)
        return _Draw(pairs / pairs.sum(), positive), _Draw(np.outer(drawn, drawn), negative)

    def _moments(self, vectors: ArrayLike, context: ArrayLike | None) -> tuple[float, float]:
        """Return Tr C and |∇L|²."""
        w = self._point(vectors)
        other = w if context is None else self._point(context)
        # A pair adds c w′_j to the gradient of w_i and c w_i to that of w′_j; in a tied model a
        # word with itself adds both to the same row.
        lengths = np.add.outer(*(np.sum(side**2, axis=1) for side in (w, other)))
        if context is None:
            lengths[np.diag_indices(len(lengths))] *= 2
        noise, gradients = 0.0, []
        for draw, slope in zip(self._draws, self._slopes(w @ other.T), strict=True):
            single, mean = draw.weighed(slope)
            sides = np.stack([mean @ other, mean.T @ w])
            gradients.append(sides.sum(axis=0) if context is None else sides)
            noise += np.sum(draw.chance * single**2 * lengths) - np.sum(gradients[-1] ** 2)
        return float(noise) / (self.batch_size / 2), float(np.sum(sum(gradients) ** 2))

    def _slopes(self, x: Array) -> tuple[Array, Array]:
        """Return f⁺′ and f⁻′."""
        with jax.enable_x64(True):
            one, zero = jnp.ones_like(x), jnp.zeros_like(x)
            plus, minus = (
                np.asarray(self.loss.costs(jnp.asarray(x), *sides)[1], dtype=np.float64)
                for sides in ((one, zero), (zero, one))
            )
        return plus, minus

    def _point(self, vectors: ArrayLike) -> Array:
        w = np.asarray(vectors, dtype=np.float64)
        if w.ndim != 2 or len(w) != len(self.counts.vocabulary):
            raise SettingError(
                f"vectors must have {len(self.counts.vocabulary):,} rows, not shape {w.shape}."
            )
        return w

    def _directions(self, directions: ArrayLike) -> Array:
        along = np.asarray(directions, dtype=np.float64)
        if along.ndim != 3:
            raise SettingError(
                f"directions must be a stack of matrices of the shape of vectors, not {along.shape}"
            )
        size = len(self.counts.vocabulary)
        require_memory(
            (len(along) + 6) * 8 * size**2,
            f"The gradient noise of {size:,} words",
            "restrict the vocabulary, or ask for fewer directions",
        )
        return along


def _mode_noise(moments: list[tuple[Array, Array]], mode: Array, others: Array) -> Array:
    """Return the covariance over modes m of v_kᵀ(c + cᵀ)v_m, for the random weights c of one pair.

    `moments` has E c_ij² and E c_ij of positive and of negative pairs.
    """
    total = np.zeros((others.shape[1], others.shape[1]))
    for squares, mean in moments:
        both = squares + squares.T
        inner = np.diag(both @ mode**2) + both * np.outer(mode, mode)
        expected = others.T @ ((mean + mean.T) @ mode)
        total += others.T @ inner @ others - np.outer(expected, expected)
    return total


def mode_plateau(
    eigenvalues: ArrayLike, noise: ArrayLike, rate: float, *, tied: bool = True
) -> NDArray[np.float64]:
    """Return the variance at which s_k levels off around √λ_k, for plain steps of rate η.

    Under Setting 3.1 and the quartic loss, a step multiplies a deviation of s_k by 1 − ηh, with the
    curvature h = 2λ_k in a tied model and λ_k in an untied one, and adds η times the noise of the
    gradient. `noise` is the variance ν_k of the gradient along v_k u_kᵀ, or in an untied model
    along (v_k u_kᵀ, v_k u_kᵀ)/√2, in which both sides grow. The variance of s_k then settles at

        η ν_k / (4λ_k (1 − ηλ_k)),   and η ν_k / (2λ_k (2 − ηλ_k)) in an untied model,

    and the loss of the mode at λ_k times that above its minimum. The loss of all directions
    together is `MinibatchNoise.excess_loss`.

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
