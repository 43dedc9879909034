"""Scale: the size and the settings of a reproduction, and how it differs from the paper's."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


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
        small_init=1e-12 / 200**0.5,  # the authors' code divides its σ by √d
    ),
}
"""The named scales of ``qwem reproduce``."""

Row = tuple[str, str, str]
"""What differs, the paper's, and this reproduction's."""

_PAPER_WORDS = 2_000_000_000
_PURPOSES = {
    "dynamics": "size of the models of Figures 1 and 2",
    "benchmarks": "size of the models of Figure 3",
    "ablation": "size of the models of the ablation",
}
_NEGATIVES = {
    "words": "by the mean of P^(−¼) over words",
    "samples": "so that each positive pair has k negatives before subsampling",
}


def differences(scale: Scale, words: int, text: str) -> list[Row]:
    """Return how a reproduction differs from the paper.

    Parameters
    ----------
    scale
        The settings of the reproduction.
    words
        The number of words of its text, rare ones included.
    text
        The name of the text.

    >>> rows = differences(SCALES["laptop"], 36_000_000, "wiki.parquet")
    >>> rows[0]
    ('text', '2.00 billion words of English Wikipedia, November 2023', '36,000,000 words of \
wiki.parquet')
    """
    rows: list[Row] = []
    if abs(words / _PAPER_WORDS - 1) > 0.01:
        theirs = "2.00 billion words of English Wikipedia, November 2023"
        rows.append(("text", theirs, f"{words:,} words of {text}"))
    rows.append(
        ("text of the ablation", "41 million words of news and American English", "the same text")
    )
    rows += [
        (what, theirs, ours)
        for what, theirs, ours in _settings(SCALES["paper"], scale)
        if theirs != ours
    ]
    rows += [
        ("λ₁Δt of a step", "not stated", f"{scale.step:g}"),
        ("length of a run", "2 hours on a GPU, 12 hours for the benchmarks",
         f"until {scale.stretch:g} times the last mode's learning time; {scale.patience:g} times "
         f"that for {'the' if scale.adam is None else 'QWEM in the'} benchmarks"),
        ("start of QWEM in the ablation", "not stated; σ = 1e-3/√d = 8.2e-5 in the authors' code",
         f"the small start, σ = {scale.small_init:g}"),
        ("γ of the Marchenko–Pastur law", "fitted by eye", "the nearest law (Cramér–von Mises)"),
    ]  # fmt: skip
    return rows


def _settings(paper: Scale, scale: Scale) -> Iterator[Row]:
    """Yield each setting that the paper states, in words, for both."""
    for purpose, what in _PURPOSES.items():
        yield what, _size(getattr(paper, purpose)), _size(getattr(scale, purpose))
    yield "shortest document", f"{paper.min_tokens} words", f"{scale.min_tokens} words"
    yield "words", _tokens(paper), _tokens(scale)
    yield "gradient", _gradient(paper), _gradient(scale)
    yield "training of QWEM for the benchmarks", _schedule(paper), _schedule(scale)
    yield "training of word2vec for the benchmarks", _word2vec(paper), _word2vec(scale)
    yield "standard start", str(paper.standard_init), str(scale.standard_init)
    yield (
        "small start, σ (the paper's: from the authors' code)",
        f"{paper.small_init:.2g}",
        f"{scale.small_init:.2g}",
    )
    yield "word2vec's subsampling", f"{paper.subsample:g}", f"{scale.subsample:g}"
    yield (
        "normalization of negatives",
        _NEGATIVES[paper.normalization],
        _NEGATIVES[scale.normalization],
    )
    yield "runs of each model", _seeds(paper), _seeds(scale)


def _seeds(scale: Scale) -> str:
    if scale.seeds == 1:
        return "one"
    return f"{scale.seeds} in Figures 1 and 2 and the ablation, from as many seeds"


def _size(size: Size) -> str:
    return (
        f"V = {size.vocab_size:,}, d = {size.dim}, L = {2 * size.window}, "
        f"{size.negatives:g} negative{'' if size.negatives == 1 else 's'}"
    )


def _tokens(scale: Scale) -> str:
    return "runs of the letters a to z" if scale.tokenizer == "ascii" else scale.tokenizer


def _gradient(scale: Scale) -> str:
    if scale.batch_size is None:
        return "exact, over all pairs, integrated to fourth order"
    return f"minibatches of {scale.batch_size:,} pairs"


def _schedule(scale: Scale) -> str:
    if scale.batch_size is None:
        return "gradient flow"
    return "SGD, rate lowered by 90 % at three quarters of the time"


def _word2vec(scale: Scale) -> str:
    if scale.adam is None:
        return _schedule(scale)
    return f"Adam on the exact gradient, rate {scale.adam[0]:g}, {scale.adam[1]} steps"
