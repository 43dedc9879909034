"""Training of word2vec and QWEM in JAX: losses, exact and stochastic gradients, traces."""

from qwem._internal.imports import require

require("jax", "train")

from qwem.training.ensemble import train_seeds  # noqa: E402
from qwem.training.exact import population  # noqa: E402
from qwem.training.losses import LOGISTIC, QUARTIC, contrastive  # noqa: E402
from qwem.training.minibatch import stochastic  # noqa: E402
from qwem.training.noise import gradient_noise, mode_plateau  # noqa: E402
from qwem.training.run import train  # noqa: E402
from qwem.training.schedule import stepwise  # noqa: E402
from qwem.training.stability import stable_rate  # noqa: E402
from qwem.training.trace import Trace  # noqa: E402
from qwem.training.trainer import Trainer  # noqa: E402
from qwem.training.weighting import word2vec_reweighting  # noqa: E402

__all__ = [
    "LOGISTIC",
    "QUARTIC",
    "Trace",
    "Trainer",
    "contrastive",
    "gradient_noise",
    "mode_plateau",
    "population",
    "stable_rate",
    "stepwise",
    "stochastic",
    "train",
    "train_seeds",
    "word2vec_reweighting",
]
