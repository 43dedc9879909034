"""Features of an embedding, the words at their ends, and overlaps with another's features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from qwem._internal.results import Plain, Result, ShownTable, one_line
from qwem.dynamics import closed_form
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.model import Model
from qwem.spectrum.spectrum import fix_signs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.spectrum import Spectrum


class SingularVectors(NamedTuple):
    """W = U S Rᵀ in float64, without singular values that are zero up to rounding."""

    left: NDArray[np.float64]
    """U, one column for each feature: how much of it each word has."""
    values: NDArray[np.float64]
    """The diagonal of S, the largest first."""
    right: NDArray[np.float64]
    """Rᵀ, one row for each feature: its direction in the space of the vectors."""


def singular_vectors(vectors: NDArray[Any]) -> SingularVectors:
    """Return the singular vectors of W, with the signs that a spectrum would give them.

    Nothing is centred: the features of a trained W are those of WWᵀ, as in the paper.

    >>> found = singular_vectors(np.array([[0.0, -2.0], [0.0, 0.0], [-1.0, 0.0]]))
    >>> found.values, np.abs(found.left).tolist()
    (array([2., 1.]), [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    left, values, right = np.linalg.svd(np.asarray(vectors, np.float64), full_matrices=False)
    # Vectors are stored in float32; smaller singular values are rounding.
    kept = int(np.sum(values > np.finfo(np.float32).eps * values[0]))
    if kept == 0:
        raise SettingError("These vectors are all zero, and have no features.")
    fixed = fix_signs(left[:, :kept])
    turned = np.sign(np.sum(fixed * left[:, :kept], axis=0))
    return SingularVectors(fixed, values[:kept], right[:kept] * turned[:, None])


def principal_axes(embedding: Embedding) -> Embedding:
    """Return an embedding rotated so that its k-th dimension is its k-th feature.

    W becomes WR = US. Lengths and angles stay the same, and the first d dimensions are now the best
    embedding of dimension d, as in a closed form. Dimensions that are zero are left out.

    >>> turned = principal_axes(Embedding(["a", "b"], [[0.0, -3.0], [1.0, 0.0]]))
    >>> np.abs(turned.vectors)
    array([[3., 0.],
           [0., 1.]], dtype=float32)
    """
    found = singular_vectors(embedding.vectors)
    provenance = {**embedding.provenance, "axes": "principal"}
    return Embedding(embedding.vocabulary, found.left * found.values, provenance=provenance)


_COUNT = 10
_NO_WORD = "(no word)"
_SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)  # features of which overlaps are shown


class WordCosine(NamedTuple):
    """A word, and its cosine with a direction."""

    word: str
    cosine: float


LEAST = 0.05
"""A word whose cosine with a feature is smaller lies at neither end."""


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
        """The first three words of its clearer end."""
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
    count: int | None = None,
    *,
    topn: int = 10,
    most_frequent: int | None = 4000,
    init_scale: float = 1e-6,
) -> FeatureTable:
    """Return the leading features of a model and the words at both ends of each.

    Feature k is the k-th eigenvector of M*, which in the embedding W = V Λ^½ is the k-th axis. For
    vectors of another origin it is the k-th left singular vector, and its direction is the k-th
    right singular vector. The words at its ends are those whose vectors have the largest cosine
    with that direction and with its opposite, as in the paper's table. The features of a model are
    those of its closed form, even if it was polished. Pass ``model.embedding()`` for the principal
    axes of polished vectors.

    Parameters
    ----------
    source
        A model, its spectrum, or any embedding: word2vec's, PPMI's, a file's.
    count
        How many features, from the first; by default ten, or all if there are fewer.
    topn
        How many words at each end; fewer if fewer lie on that side.
    most_frequent
        Search only this many of the most frequent words, or all for None.
    init_scale
        σ of the random start for the learning times.

    >>> space = Embedding(["cat", "dog", "up", "down"], [[2, 0], [2, 0], [0, 1], [0, -1]])
    >>> [[word for word, _ in feature.positive] for feature in features(space, 2).features]
    [['cat', 'dog'], ['up']]
    """
    modes = _modes(source, init_scale)
    count = min(_COUNT, len(modes.eigenvalues)) if count is None else count
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
        tuple(WordCosine(words[i], x) for i, x in zip(line, near, strict=True) if x > LEAST)
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


class _Modes(NamedTuple):
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


@dataclass(frozen=True, eq=False, repr=False)
class Overlaps(Result):
    """Overlaps between the features of two embeddings, over the words that both have.

    >>> from qwem import Embedding
    >>> a = Embedding(["x", "y", "z"], [[3, 0], [0, 2], [0, 0]])
    >>> print(overlaps(a, a).to_markdown(), end="")
    | feature | matched | overlap | subspace similarity |
    |---|---|---|---|
    | 1 | 1 | 1 | 1 |
    | 2 | 2 | 1 | 1 |
    """

    derived: ClassVar[tuple[str, ...]] = ("shared_words", "dim", "matched_rank", "matched")
    words: tuple[str, ...] = field(repr=False)
    """The shared words, in the order of the first embedding."""
    squared: NDArray[np.float64] = field(repr=False)
    """(u_i · u′_j)² for feature i of the first and j of the second: the paper's heat map."""
    match: NDArray[np.int64] = field(repr=False)
    """For each feature of the first, its match among those of the second. Matches are one to one,
    and chosen so that the sum of their squared overlaps is as large as possible."""
    subspace_similarity: NDArray[np.float64]
    """‖UᵀU′‖²/d for the first d features of both, d = 1, 2, …: the mean squared cosine of the
    angles between the two subspaces, 1 where they are the same, d/V for random ones."""

    def __repr__(self) -> str:
        return (
            f"Overlaps(the first {self.dim} features over {len(self.words):,} words: subspace "
            f"similarity {self.subspace_similarity[-1]:.3f}, matched {self.matched.mean():.3f})"
        )

    @property
    def matched(self) -> NDArray[np.float64]:
        """The squared overlap of each feature of the first with its match."""
        return self.squared[np.arange(len(self.match)), self.match]

    @property
    def dim(self) -> int:
        """How many features of either were compared."""
        return len(self.match)

    @property
    def shared_words(self) -> int:
        """How many words both embeddings have."""
        return len(self.words)

    @property
    def matched_rank(self) -> NDArray[np.int64]:
        """For each feature of the first, the rank of its match in the second, from 1."""
        return self.match + 1

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each feature of the first embedding."""
        columns = (self.matched_rank, self.matched, self.subspace_similarity)
        return [
            {"feature": k, "matched": match, "overlap": overlap, "subspace similarity": similarity}
            for k, (match, overlap, similarity) in enumerate(zip(*columns, strict=True), 1)
        ]

    def heading(self) -> str:
        """Return how much the two have in common."""
        return (
            f"{len(self.words):,} shared words. The spaces of the first {self.dim} features have "
            f"{self.subspace_similarity[-1]:.3f} in common, and matched features "
            f"{self.matched.mean():.3f} on average.\n"
        )

    def shown(self) -> ShownTable:
        """Return the rows of some features, fewer and fewer of the later ones."""
        rows = self.rows()
        some = [rows[k - 1] for k in (*(k for k in _SHOWN if k < self.dim), self.dim)]
        return ShownTable(self.heading(), some)


def overlaps(a: Embedding, b: Embedding, *, dim: int | None = None) -> Overlaps:
    """Compare the left singular vectors of two embeddings.

    The result does not change when either embedding is rotated, so models from different starts and
    different programs can be compared. Embeddings with different words are first restricted to the
    words that both have.

    Parameters
    ----------
    a, b
        Two embeddings, of any dimensions.
    dim
        How many of the leading features to compare; by default as many as both have.

    >>> from qwem import Embedding
    >>> a = Embedding(["x", "y", "z"], [[3, 0], [0, 2], [0, 0]])
    >>> b = Embedding(["z", "y", "x"], [[0, 0], [5, 0], [0, 1]])
    >>> found = overlaps(a, b)
    >>> found.match, found.subspace_similarity.round(6)
    (array([1, 0]), array([0., 1.]))
    """
    from scipy.optimize import linear_sum_assignment

    words = tuple(word for word in a if word in b)
    if not words:
        raise SettingError("These two embeddings share no word, and can't be compared.")
    one, other = (singular_vectors(side[words]) for side in (a, b))
    most = min(len(one.values), len(other.values))
    if dim is None:
        dim = most
    elif not 1 <= dim <= most:
        raise SettingError(
            f"dim must be between 1 and {most}, the features that both embeddings have over their "
            f"{len(words):,} shared words, not {dim}."
        )
    squared = np.square(one.left[:, :dim].T @ other.left[:, :dim])
    match = linear_sum_assignment(squared, maximize=True)[1].astype(np.int64)
    # The sum over the first d rows and columns, for every d at once.
    sums = np.diagonal(squared.cumsum(axis=0).cumsum(axis=1))
    return Overlaps(words, squared, match, sums / np.arange(1, dim + 1))
