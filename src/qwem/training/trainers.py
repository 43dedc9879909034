"""The two trainers: by the exact gradient, and by minibatches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from qwem.errors import SettingError
from qwem.target import Reweighting, setting31
from qwem.training.exact import population_source
from qwem.training.losses import QUARTIC, Loss
from qwem.training.minibatch import Backend, minibatch_source
from qwem.training.pairs import PairSampler
from qwem.training.schedule import Stepwise
from qwem.training.trainer import Method, Optimizer, Trainer
from qwem.training.weighting import Weighting, time_per_rate, weigh

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus


def population(
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    dim: int,
    rate: float | Stepwise | None = None,
    optimizer: Optimizer | None = None,
    method: Method = "sgd",
    tied: bool = True,
    dtype: DTypeLike = np.float32,
) -> Trainer:
    """Return a trainer by the exact gradient of the loss over all pairs.

    Parameters
    ----------
    counts
        How often words meet.
    loss
        `QUARTIC`, `LOGISTIC`, or `contrastive` of any f⁺ and f⁻.
    reweighting
        Ψ⁺ and Ψ⁻; by default `setting31`. word2vec's are `word2vec_weighting`.
    dim
        d.
    rate
        η of W ← W − η∇L, a number or a schedule such as `stepwise`.
    optimizer
        Any Optax optimiser, instead of a rate.
    method
        ``"sgd"``, or ``"rk4"``, which follows the gradient flow to fourth order in η at the price
        of four gradients a step.
    tied
        Whether W′ = W, as in the paper. An untied model can learn modes of either sign, so its
        theory is that of a signed spectrum, at half the speed; see `closed_form`.
    dtype
        float32 or float64, whatever JAX's own configuration.

    >>> from qwem import Cooccurrence
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> trainer = population(counts, dim=1, rate=0.1)
    >>> state, info = trainer.step(trainer.init(init_scale=0.1))
    >>> state.step, state.time
    (1, 0.2)
    """
    with jax.enable_x64(np.dtype(dtype) == np.float64):
        reweighting, weighting, common = _common(
            counts, loss, reweighting, dim, rate, optimizer, method, tied, dtype
        )
        source = population_source(counts, reweighting, weighting, loss, np.dtype(dtype))
    common["settings"] |= {"source": "population"}
    return Trainer(source=source, **common)


def stochastic(
    corpus: Corpus,
    counts: Cooccurrence,
    loss: Loss = QUARTIC,
    reweighting: Reweighting | None = None,
    *,
    dim: int,
    rate: float | Stepwise | None = None,
    optimizer: Optimizer | None = None,
    tied: bool = True,
    dtype: DTypeLike = np.float32,
    batch_size: int = 100_000,
    flatten: float = 0.0,
    backend: Backend = "auto",
) -> Trainer:
    """Return a trainer by minibatches of pairs, half of them positive, drawn from the text.

    Parameters
    ----------
    corpus
        The text, which may be larger than memory.
    counts
        The pairs of this text, for P_ij and P_i; drawn pairs are spread over distances as counted.
    batch_size
        Pairs in a batch: 100,000 in the paper.
    flatten
        β from 0, pairs drawn as in the paper, to 1, all words about equally often; the expectation
        of the gradient stays what it is. Near 1, Setting 3.1 has far less noise; see `pairs`.
    backend
        Who gathers and scatters rows: ``"jax"``, ``"compiled"`` loops for CPUs, or what suits.

    The other parameters are those of `population`.

    >>> from qwem import Cooccurrence, Corpus
    >>> corpus = Corpus.from_documents(["a b a c"])
    >>> trainer = stochastic(corpus, Cooccurrence.count(corpus, 2), dim=1, rate=0.1, batch_size=10)
    >>> trainer.step(trainer.init(init_scale=0.1))[0].step
    1
    """
    if backend not in ("auto", "jax", "compiled"):
        raise SettingError(f"backend must be auto, jax or compiled, not {backend!r}.")
    _, weighting, common = _common(
        counts, loss, reweighting, dim, rate, optimizer, "sgd", tied, dtype
    )
    sampler = PairSampler(
        corpus, counts, weighting, batch_size=batch_size, flatten=flatten, dtype=dtype
    )
    common["settings"] |= {
        "source": "stochastic",
        "corpus": corpus.fingerprint,
        "batch_size": batch_size,
        "flatten": flatten,
    }
    return Trainer(source=minibatch_source(sampler, loss, backend), **common)


def _common(
    counts: Cooccurrence,
    loss: Loss,
    reweighting: Reweighting | None,
    dim: int,
    rate: float | Stepwise | None,
    optimizer: Optimizer | None,
    method: Method,
    tied: bool,
    dtype: DTypeLike,
) -> tuple[Reweighting, Weighting, dict[str, Any]]:
    """Return what all trainers have, after a look at the settings."""
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise SettingError(f"dtype must be float32 or float64, not {np.dtype(dtype)}.")
    if not 1 <= dim <= len(counts.vocabulary):
        raise SettingError(
            f"dim must lie between 1 and the {len(counts.vocabulary):,} words, not be {dim}."
        )
    if (rate is None) == (optimizer is None):
        raise SettingError("Give a rate or an Optax optimizer, and not both.")
    if method not in ("sgd", "rk4") or (method == "rk4" and rate is None):
        raise SettingError(f"method must be sgd, or rk4 with a rate, not {method!r}.")
    if rate is not None and not isinstance(rate, Stepwise):
        rate = Stepwise(float(rate))
    reweighting = setting31() if reweighting is None else reweighting
    weighting = weigh(counts, reweighting, loss)
    settings = {
        "counts": counts.fingerprint,
        "loss": loss.name,
        "reweighting": reweighting.settings,
        "dim": dim,
        "tied": tied,
        "dtype": np.dtype(dtype).name,
        "method": "optax" if rate is None else method,
        "rate": None if rate is None else [rate.rate, str(rate.drop_at), rate.factor],
    }
    common = {
        "vocabulary": counts.vocabulary,
        "dim": dim,
        "tied": tied,
        "dtype": np.dtype(dtype),
        "time_per_rate": time_per_rate(weighting, loss),
        "rate": rate,
        "method": method,
        "optimizer": optimizer,
        "settings": settings,
    }
    return reweighting, weighting, common
