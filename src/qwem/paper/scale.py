"""Scale: the size and the settings of a reproduction of the paper, one row per named scale."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple


class Size(NamedTuple):
    """The size of a model, and how its pairs are counted and sampled."""

    vocab_size: int
    dim: int
    window: int = 16
    """How far a window reaches to each side; the paper's L counts both sides."""
    negatives: float = 1.0
    """Negative samples per positive one in word2vec's weighting."""


@dataclass(frozen=True)
class Scale:
    """All settings of a reproduction of the paper."""

    dynamics: Size
    """The training runs of Figures 1 and 2."""
    ablation: Size
    """The four training runs of the ablation, for which the paper has settings of its own."""
    benchmarks: Size
    """Figure 3 and the overlaps, where all models have the same words and dimension."""
    tasks: Size
    """Figure 4 and the other figures of task vectors, which need M* alone, up to a large d."""
    step: float
    """λ₁Δt, the time step in units of the fastest growth."""
    batch_size: int | None = None
    """Pairs per minibatch of stochastic gradient descent; None follows the exact gradient flow."""
    adam: tuple[float, int] | None = None
    """Rate and steps of Adam, with which word2vec is trained for the benchmarks. None trains it as
    QWEM is trained."""
    subsample: float = 1e-3
    """word2vec's threshold t for the subsampling of frequent words."""
    normalization: Literal["samples", "words"] = "samples"
    """The normalization of word2vec's negatives; the paper's formula is that of words."""
    small_init: float = 1e-8
    """σ of the entries of the small start."""
    standard_init: float | Literal["word2vec"] = "word2vec"
    """The standard start: word2vec's own, uniform on ±1/(2d), or σ of normal entries."""
    stretch: float = 1.15
    """How long to train, in units of the last mode's learning time."""
    patience: float = 2.0
    """How many times as long to train for the benchmarks."""
    min_tokens: int = 500
    """Documents with fewer words are left out."""
    tokenizer: str = "ascii"
    seed: int = 0
    seeds: int = 1
    """How many starts the runs of Figures 1 and 2 and of the ablation have, from `seed` on."""

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return asdict(self)


# Tens of millions of words have fewer pairs of rare words than the paper's text, so word2vec
# subsamples more. That also makes its weighting more even, and so closer to Setting 3.1.
_LAPTOP = Scale(
    dynamics=Size(1_200, 40),
    ablation=Size(800, 30, window=8, negatives=2.0),
    benchmarks=Size(4_000, 100),
    tasks=Size(10_000, 1_024),
    step=1.0,
    adam=(0.05, 100),
    subsample=1e-5,
    seeds=3,
)

SCALES = {
    # For two cores and tens of millions of words: exact gradients, and Adam for word2vec.
    "laptop": _LAPTOP,
    # The same sizes, with every model trained by SGD on minibatches as in the paper. It takes far
    # longer.
    "laptop-sgd": replace(_LAPTOP, step=0.02, batch_size=100_000, adam=None, patience=4.0, seeds=1),
    # The paper's own (appendix A), for two billion words of Wikipedia and a GPU.
    "paper": Scale(
        dynamics=Size(10_000, 200),
        ablation=Size(20_000, 150, window=8, negatives=2.0),
        benchmarks=Size(10_000, 200),
        tasks=Size(10_000, 4_096),
        step=2e-3,
        batch_size=100_000,
        patience=4.0,
        normalization="words",
        small_init=1e-12,
    ),
}
"""The named scales of ``qwem reproduce``."""
