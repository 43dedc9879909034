"""How large the paper's experiments are made: one row of settings for each preset."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple


class Size(NamedTuple):
    """V and d of a model."""

    vocab_size: int
    dim: int


@dataclass(frozen=True)
class Scale:
    """Everything in which one reproduction of the paper differs from another."""

    dynamics: Size
    """Figures 1 and 2 and the ablation, where whole training runs are looked at."""
    benchmarks: Size
    """Figure 3, where all models have the same words and dimension."""
    tasks: Size
    """Figure 4 and its relatives, which need only M* and every dimension up to the largest."""
    step: float
    """λ₁Δt: the paper's time that one step takes, in units of the fastest growth."""
    batch_size: int | None = None
    """Pairs in a minibatch; None follows the exact gradient flow, to fourth order."""
    adam: tuple[float, int] | None = None
    """Rate and steps with which word2vec is trained for the benchmarks; by default as the others,
    with the paper's drop of the rate at three quarters."""
    threshold: float = 1e-3
    """Of word2vec's subsampling of frequent words."""
    small_init: float = 1e-8
    standard_init: float = 0.1
    """σ of the two starts."""
    stretch: float = 1.15
    """How long to train, in units of the last mode's learning time."""
    window: int = 16
    min_tokens: int = 500
    tokenizer: str = "ascii"
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)


SCALES = {
    # Within half an hour on two cores and tens of millions of words. Such a text has fewer pairs of
    # rare words than the paper's, so word2vec subsamples more, which also makes its weighting more
    # even: closer to Setting 3.1.
    "laptop": Scale(
        dynamics=Size(1_200, 40),
        benchmarks=Size(4_000, 100),
        tasks=Size(10_000, 1_024),
        step=1.0,
        adam=(0.05, 100),
        threshold=1e-5,
    ),
    # The paper's own (appendix A), for two billion words of Wikipedia and a GPU.
    "paper": Scale(
        dynamics=Size(10_000, 200),
        benchmarks=Size(10_000, 200),
        tasks=Size(10_000, 4_096),
        step=2e-3,
        batch_size=100_000,
        small_init=1e-12,
    ),
}
"""The presets of ``qwem reproduce``."""
