"""Largest stable learning rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from qwem.training.exact import population
from qwem.training.losses import QUARTIC, Loss

if TYPE_CHECKING:
    from qwem.cooccurrence import Cooccurrence
    from qwem.target import Reweighting

_ITERATIONS = 12
_COLUMNS = 4
_SMALL = 1e-3


def stable_rate(
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    tied: bool = True,
    shrinkage: float = 0.0,
    seed: int = 0,
) -> float:
    """Return a rate η that is stable near W = 0, and for QWEM near its minimum too.

    Near W = 0 the gradient is linear, ∇L = −AW; under Setting 3.1, A = gM*. A step W ← W − η∇L
    multiplies a decaying mode by 1 − η|a|. For the quartic loss under Setting 3.1 the largest
    curvature near the minimum is 2a, so both are stable up to η = 1/max|a|. Half of that is
    returned. Other losses and weightings may be steeper away from W = 0, and need a lower rate if
    their loss starts to rise. The eigenvalue a of largest magnitude is found by
    subspace iteration on gradients; it is usually the negative eigenvalue due to unseen pairs.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> rate = stable_rate(counts)  # M* has the eigenvalues −2.0 and −0.1
    >>> round(1 / (2 * rate), 1)
    2.0
    """
    size = len(counts.vocabulary)
    columns = min(_COLUMNS, size)
    trainer = population(
        counts, loss, reweighting, dim=columns, rate=1.0, tied=tied, shrinkage=shrinkage
    )
    sides = 1 if tied else 2
    block = np.random.default_rng(seed).standard_normal((sides * size, columns))
    largest = 0.0
    for _ in range(_ITERATIONS):
        block, _ = np.linalg.qr(block)
        with trainer.precision():
            start = (_SMALL * block).astype(trainer.dtype)
            parameters = tuple(jnp.asarray(side) for side in np.split(start, sides))
            _, gradients = trainer.objective.evaluate(parameters, 0, 0)
        block = np.concatenate([np.asarray(side, dtype=np.float64) for side in gradients]) / _SMALL
        largest = float(np.linalg.svd(block, compute_uv=False)[0])
    return 0.5 / largest
