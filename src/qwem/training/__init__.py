"""Training of word2vec and QWEM in JAX: losses, exact and stochastic gradients, traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem._internal.resources import lazy_names, require

if TYPE_CHECKING:
    from qwem.training.exact import population, stable_rate
    from qwem.training.losses import LOGISTIC, QUARTIC, contrastive
    from qwem.training.minibatch import stochastic
    from qwem.training.noise import MinibatchNoise
    from qwem.training.run import train
    from qwem.training.trace import Trace
    from qwem.training.weighting import word2vec_reweighting

__all__ = [
    "LOGISTIC",
    "QUARTIC",
    "MinibatchNoise",
    "Trace",
    "contrastive",
    "population",
    "stable_rate",
    "stochastic",
    "train",
    "word2vec_reweighting",
]

_get, __dir__ = lazy_names(
    __name__,
    {
        "exact": ("population", "stable_rate"),
        "losses": ("LOGISTIC", "QUARTIC", "contrastive"),
        "minibatch": ("stochastic",),
        "noise": ("MinibatchNoise",),
        "run": ("train",),
        "trace": ("Trace",),
        "weighting": ("word2vec_reweighting",),
    },
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        require("jax", "train")
    return _get(name)
