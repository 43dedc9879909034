"""Features of an embedding and the words at their two ends (the paper's feature table)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from qwem._internal.results import Plain, Result, one_line
from qwem.dynamics import closed_form
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.interpretation.singular import singular_vectors
from qwem.model import Model

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.spectrum import Spectrum

_NO_WORD = "(no word)"


class WordCosine(NamedTuple):
    """A word, and its cosine with a direction."""

    word: str
    cosine: float


@dataclass(frozen=True)
class Feature(Plain):
    """One eigen-feature: a direction that a model learned, and the words along it."""

    derived: ClassVar[tuple[str, ...]] = ("title", "participation")
    rank: int
    """Its place in the spectrum, from 1."""
    eigenvalue: float
    """λ_k of the target; for vectors of other origin s_k², the eigenvalue of WWᵀ."""
    share: float
    """|λ_k|/Σ_j|λ_j| over all features of the model: its share in the squared length of W."""
    learning_time: float | None
    """τ_k in the paper's time; None for vectors without a spectrum."""
    concentration: float
    """Σ_i v_i⁴ of the unit vector v over words: 1 for a single word, 1/V if all are equal."""
    positive: tuple[WordCosine, ...]
    """The words nearest to the direction, the nearest first."""
    negative: tuple[WordCosine, ...]
    """The words nearest to the opposite direction; which end is positive has no meaning."""

    @property
    def title(self) -> str:
        """The first words of its clearer end, by which people know it."""
        ends = [self.positive, self.negative]
        clearer = max(ends, key=lambda end: end[0].cosine if end else 0.0)
        return ", ".join(each.word for each in clearer[:3])

    @property
    def participation(self) -> float:
        """The participation ratio 1/Σ_i v_i⁴: about how many words carry the feature."""
        return 1 / self.concentration


@dataclass(frozen=True)
class FeatureTable(Result):
    """Table of the leading features of a model.

    >>> space = Embedding(["cat", "dog", "up", "down"], [[2, 0], [2, 0], [0, 1], [0, -1]])
    >>> print(features(space, 1).to_text(), end="")
      1  cat, dog
         eigenvalue 8   share 80.0%   carried by 2 words
         + cat dog
         − (no word)
    """

    features: tuple[Feature, ...]
    vocab_size: int
    dim: int
    """How many features the model has in all."""
    most_frequent: int
    """How many words were searched, the most frequent first."""

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each feature."""
        return [
            {
                "#": each.rank,
                "title": each.title,
                "λ": each.eigenvalue,
                "share": f"{each.share:.1%}",
                "learned at": each.learning_time,
                "words": round(each.participation),
                "one end": _joined(each.positive),
                "other end": _joined(each.negative),
            }
            for each in self.features
        ]

    def to_text(self) -> str:
        """Return four lines for each feature: its title, its numbers, and its two ends."""
        lines = []
        for row in self.rows():
            rank, title, value, share, time, words, positive, negative = row.values()
            when = f"   learned at t = {time:.3g}" if time is not None else ""
            carried = f"carried by {words:,} word{'' if words == 1 else 's'}"
            lines += [
                f"{rank:>3}  {one_line(title)}",
                f"     eigenvalue {value:.4g}   share {share}{when}   {carried}",
                f"     + {positive or _NO_WORD}",
                f"     − {negative or _NO_WORD}",
            ]
        return "\n".join(lines) + "\n"


def features(
    source: Model | Spectrum | Embedding,
    count: int = 10,
    *,
    topn: int = 10,
    most_frequent: int | None = 4000,
    init_scale: float = 1e-6,
) -> FeatureTable:
    """Return the leading features of a model and the words at both ends of each.

    Feature k is the k-th eigenvector of M*, which in the embedding W = V Λ^½ is the k-th axis. For
    vectors of another origin it is the k-th left singular vector, and its direction is the right
    one. The words at its ends are those whose vectors have the largest cosine with that direction
    and with its opposite, as in the paper's table. The features of a model are those of its closed
    form, whether it was polished or not; the command line and the pages show the same. Pass
    ``model.embedding()`` for the principal axes of polished vectors.

    Parameters
    ----------
    source
        A model, its spectrum, or any embedding: word2vec's, PPMI's, a file's.
    count
        How many features, from the first.
    topn
        How many words at each end; fewer where fewer lie on that side.
    most_frequent
        Search only this many of the most frequent words (None for all), since rare ones say less.
    init_scale
        σ of the random start for the learning times.

    >>> space = Embedding(["cat", "dog", "up", "down"], [[2, 0], [2, 0], [0, 1], [0, -1]])
    >>> [[word for word, _ in feature.positive] for feature in features(space, 2).features]
    [['cat', 'dog'], ['up']]
    """
    modes = _modes(source, init_scale)
    if not 1 <= count <= len(modes.eigenvalues):
        raise SettingError(
            f"count must be between 1 and the {len(modes.eigenvalues)} features there are, "
            f"not {count}."
        )
    if most_frequent is not None and most_frequent < 1:
        raise SettingError(
            f"most_frequent must be at least 1, or None for all, not {most_frequent}."
        )
    words = modes.embedding.index_to_key
    searched = len(words) if most_frequent is None else min(most_frequent, len(words))
    ends = np.concatenate([modes.axes[:count], -modes.axes[:count]])
    rows, cosines = modes.embedding.nearest_indices(ends, topn, restrict_vocab=searched)
    named = [
        tuple(WordCosine(words[i], x) for i, x in zip(line, near, strict=True) if x > 0)
        for line, near in zip(rows.tolist(), cosines.tolist(), strict=True)
    ]
    shares = np.abs(modes.eigenvalues) / np.abs(modes.eigenvalues).sum()
    fourth_powers = np.sum(modes.left[:, :count].astype(np.float64) ** 4, axis=0)
    found = tuple(
        Feature(
            rank=k + 1,
            eigenvalue=float(modes.eigenvalues[k]),
            share=float(shares[k]),
            learning_time=None if modes.times is None else float(modes.times[k]),
            concentration=float(fourth_powers[k]),
            positive=named[k],
            negative=named[count + k],
        )
        for k in range(count)
    )
    return FeatureTable(found, len(words), len(modes.eigenvalues), searched)


@dataclass(frozen=True, eq=False)
class _Modes:
    """An embedding and its features: directions, unit vectors over words, eigenvalues, times."""

    embedding: Embedding
    axes: NDArray[np.float64]
    left: NDArray[Any]
    eigenvalues: NDArray[np.float64]
    times: NDArray[np.float64] | None


def _modes(source: Model | Spectrum | Embedding, init_scale: float) -> _Modes:
    if isinstance(source, Model):
        source = source.spectrum
    if isinstance(source, Embedding):
        found = singular_vectors(source.vectors)
        return _Modes(source, found.right, found.left, found.values**2, None)
    times = closed_form(source, init_scale=init_scale).learning_times
    axes = np.eye(source.dim)
    return _Modes(source.embedding(), axes, source.eigenvectors, source.eigenvalues, times)


def _joined(words: tuple[WordCosine, ...]) -> str:
    return " ".join(one_line(word) for word, _ in words)
