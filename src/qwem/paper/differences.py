"""Differences between a reproduction and the paper's protocol, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.paper.scale import SCALES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qwem.paper.scale import Scale, Size

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
        ("start of QWEM in the ablation", "not stated; σ = 1e-3 in the authors' code",
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
        f"{paper.small_init:g}",
        f"{scale.small_init:g}",
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
