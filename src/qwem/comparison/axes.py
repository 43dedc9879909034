"""Axes: directions from one kind of words to another, and where other words lie on them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.results import Provenance, Result, listed
from qwem._internal.settings import require_whole
from qwem.comparison.results import paragraph
from qwem.errors import CoverageError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.embedding import Embedding

    Array: TypeAlias = NDArray[np.float64]


MAX_MISSING = 0.2
"""Default share of a list that may be missing from the vocabulary."""


@dataclass(frozen=True)
class Projection:
    """Where one word lies on an axis."""

    word: str
    cosine: float
    """Between its vector and the axis: above 0 on the positive side."""
    percentile: float
    """The percentage of all words that lie lower."""


@dataclass(frozen=True)
class Projections(Result):
    """Words on an axis, the most positive first."""

    words: tuple[Projection, ...]
    positive: tuple[str, ...]
    """The words that define the positive end of the axis."""
    negative: tuple[str, ...]
    missing: tuple[str, ...] = ()
    """Requested words that are not in the vocabulary."""
    left_out: tuple[str, ...] = ()
    """Requested words that are not placed because they define the axis."""
    pairs: bool = False
    """Whether the words of both ends are partners."""
    neighbours: int = 0
    """By how many of its nearest words each end is extended."""

    @property
    def described(self) -> str:
        """What was measured, as a sentence for a method paragraph."""
        made = "the difference of the mean vectors of its ends"
        if self.pairs:
            made = "the mean difference of partners"
        elif self.neighbours:
            made += (
                f", each extended by its {self.neighbours} nearest words (SemAxis; An, Kwak and "
                "Ahn 2018)"
            )
        return (
            f"We placed words on the axis from {', '.join(self.negative)} to "
            f"{', '.join(self.positive)} by the cosine of their vectors with it (Kozlowski, Taddy "
            f"and Evans 2019); it is {made}."
        )

    def __getitem__(self, word: str) -> float:
        """Return the cosine of a word with the axis."""
        for each in self.words:
            if each.word == word:
                return each.cosine
        raise KeyError(word)

    def heading(self) -> str:
        """Return the two ends of the axis, and the words that are missing."""
        text = f"From {listed(self.negative)} (−) to {listed(self.positive)} (+).\n"
        if self.left_out:
            text += f"Left out because they define the axis: {listed(self.left_out)}.\n"
        return text + (f"Missing: {listed(self.missing)}.\n" if self.missing else "")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word."""
        return [vars(each) for each in self.words]

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        return paragraph([self.described, "The vectors are taken as given."], self.provenance)


@dataclass(frozen=True, eq=False)
class Axis:
    """A direction in an embedding, from some words to others."""

    positive: tuple[str, ...]
    """The known words of the positive end."""
    negative: tuple[str, ...]
    missing: tuple[str, ...]
    """Words of either list that are not in the vocabulary, or whose partner is not."""
    vector: Array = field(repr=False)
    """The direction, a vector of length one."""
    embedding: Embedding = field(repr=False)
    pairs: bool = False
    """Whether the words of both ends are partners."""
    neighbours: int = 0
    """By how many of its nearest words each end is extended."""

    def project(self, words: Iterable[str], *, max_missing: float = MAX_MISSING) -> Projections:
        """Return the cosine of each word with the axis.

        Parameters
        ----------
        words
            The words to look at. Those that are not in the vocabulary are listed as missing.
        max_missing
            The share of them that may be missing.
        """
        known = known_words(self.embedding, list(words), "the words to project", max_missing)
        kept, left_out = self.without_ends(known.words)
        found = self._described(self.embedding.vocabulary.indices(kept), known.missing)
        return replace(found, left_out=left_out)

    def without_ends(self, words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
        """Return the words that don't define the axis, and those that do; raise if all do."""
        ends = {*self.positive, *self.negative}
        kept = [word for word in words if word not in ends]
        if not kept:
            raise SettingError(
                f"{listed(words)} would be placed on an axis made of the same words; choose other "
                "words."
            )
        return kept, tuple(word for word in words if word in ends)

    def ends(self, topn: int = 10, *, most_frequent: int | None = 4000) -> Projections:
        """Return the `topn` words at each end, among the `most_frequent` ones (None for all)."""
        require_whole("topn", topn, least=1)
        order = np.argsort(-self._cosines[:most_frequent], kind="stable")
        ends = np.concatenate([order[:topn], order[max(topn, len(order) - topn) :]])
        return self._described(ends, ())

    @cached_property
    def _cosines(self) -> Array:
        return unit_rows(self.embedding.vectors) @ self.vector

    def _described(self, rows: NDArray[np.int64], missing: tuple[str, ...]) -> Projections:
        cosines = self._cosines[rows]
        lower = np.searchsorted(np.sort(self._cosines), cosines) / len(self._cosines)
        placed = [
            Projection(
                self.embedding.index_to_key[rows[i]], float(cosines[i]), float(100 * lower[i])
            )
            for i in np.argsort(-cosines, kind="stable")
        ]
        lists = {
            "positive": self.positive,
            "negative": self.negative,
            "words": tuple(each.word for each in placed),
        }
        return Projections(
            words=tuple(placed),
            positive=self.positive,
            negative=self.negative,
            missing=missing,
            pairs=self.pairs,
            neighbours=self.neighbours,
            provenance=lists_provenance(self.embedding, lists),
        )


def axis(
    embedding: Embedding,
    positive: Sequence[str],
    negative: Sequence[str],
    *,
    pairs: bool = False,
    neighbours: int = 0,
    max_missing: float = MAX_MISSING,
) -> Axis:
    """Return the direction from the words `negative` to the words `positive`.

    It is the difference of the mean vectors of the two lists, each word scaled to length one. With
    ``pairs=True`` it is the mean of the differences of partners, each scaled to length one, so that
    no pair counts more than another (Kozlowski, Taddy and Evans 2019).

    Parameters
    ----------
    embedding
        The vectors.
    positive, negative
        Words that stand for the two ends, such as ``["she", "woman"]`` and ``["he", "man"]``.
    pairs
        Whether the words of the two lists are partners, in their order.
    neighbours
        Extend each end by this many words nearest to its mean, which makes it less dependent on
        the choice of words (SemAxis; An, Kwak and Ahn 2018). Not with `pairs`.
    max_missing
        The share of each list that may be missing from the vocabulary; more is an error.

    >>> from qwem import Embedding
    >>> plane = Embedding(["he", "she", "nurse", "it"], [[1, 1], [-1, 1], [-1, 2], [0, 1]])
    >>> gender = axis(plane, ["she"], ["he"])
    >>> [(each.word, round(each.cosine, 2)) for each in gender.project(["it", "nurse"]).words]
    [('nurse', 0.45), ('it', 0.0)]
    """
    require_whole("neighbours", neighbours, least=0)
    if pairs and neighbours:
        raise SettingError(
            "`neighbours` can't be used with `pairs`, which needs partners; leave one of them out."
        )
    if pairs:
        ends, missing, difference = _paired(embedding, positive, negative, max_missing)
    else:
        known = [
            known_words(embedding, words, name, max_missing)
            for words, name in ((positive, "positive"), (negative, "negative"))
        ]
        ends = known[0].words, known[1].words
        missing = known[0].missing + known[1].missing
        means = [_mean(embedding, words, neighbours) for words in ends]
        difference = means[0] - means[1]
    length = float(np.linalg.norm(difference))
    if length < 1e-9:
        raise SettingError(
            "The two ends of the axis have the same mean vector, so it has no direction; "
            "choose words that differ."
        )
    return Axis(
        positive=ends[0],
        negative=ends[1],
        missing=missing,
        vector=difference / length,
        embedding=embedding,
        pairs=pairs,
        neighbours=neighbours,
    )


def _mean(embedding: Embedding, words: tuple[str, ...], neighbours: int) -> Array:
    vectors = directions(embedding, words)
    mean: Array = vectors.mean(axis=0)
    if neighbours:
        used = embedding.vocabulary.indices(words)[None]
        rows, _ = embedding.nearest_indices(mean[None], neighbours, used)
        added = unit_rows(embedding.vectors[rows[0][rows[0] >= 0]])
        mean = np.concatenate([vectors, added]).mean(axis=0)
    return mean


def _paired(
    embedding: Embedding, positive: Sequence[str], negative: Sequence[str], max_missing: float
) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], tuple[str, ...], Array]:
    if len(positive) != len(negative):
        raise SettingError(
            f"`pairs` needs lists of the same length, not of {len(positive)} and {len(negative)} "
            "words; give each word a partner."
        )
    pairs = list(zip(positive, negative, strict=True))
    known = [pair for pair in pairs if all(word in embedding for word in pair)]
    lost = [pair for pair in pairs if pair not in known]
    if not known or len(lost) > max_missing * len(pairs):
        raise CoverageError(
            f"{len(lost)} of the {len(pairs)} pairs have a word that is not in the vocabulary "
            f"({listed('–'.join(pair) for pair in lost)}), and at most {max_missing:.0%} may be "
            "missing; choose other pairs (in Python, `max_missing` allows more)."
        )
    first, second = zip(*known, strict=True)
    steps = unit_rows(directions(embedding, first) - directions(embedding, second))
    return (first, second), tuple(word for pair in lost for word in pair), steps.mean(axis=0)


class Known(NamedTuple):
    """The words of a list that an embedding has, and those that it lacks."""

    words: tuple[str, ...]
    missing: tuple[str, ...]


def known_words(
    embedding: Embedding, words: Sequence[str], name: str, max_missing: float = MAX_MISSING
) -> Known:
    """Return which of `words` an embedding has; raise `CoverageError` if too many are missing.

    Each word counts once. `name` is what an error message calls the list.
    """
    if isinstance(words, str):
        raise SettingError(f"{name} must be a list of words, not the text {words!r}.")
    if not 0 <= max_missing <= 1:
        raise SettingError(f"max_missing must be a share between 0 and 1, not {max_missing}.")
    given = tuple(dict.fromkeys(words))
    if not given:
        raise SettingError(f"{name} needs at least one word, and has none.")
    known = tuple(word for word in given if word in embedding)
    missing = tuple(word for word in given if word not in embedding)
    if not known or len(missing) > max_missing * len(given):
        raise CoverageError(
            f"{len(missing)} of the {len(given)} words of {name} are not in the vocabulary "
            f"({listed(missing)}), and at most {max_missing:.0%} may be missing; choose other "
            "words (in Python, `max_missing` allows more)."
        )
    return Known(known, missing)


def lists_provenance(
    embedding: Embedding, lists: Mapping[str, Sequence[str]], seed: int | None = None
) -> Provenance:
    """Return the provenance of a result about lists of words: the lists, and the words' counts."""
    words = list(dict.fromkeys(word for each in lists.values() for word in each))
    counts = embedding.vocabulary.counts[embedding.vocabulary.indices(words)].tolist()
    settings = {
        "lists": {name: list(each) for name, each in lists.items()},
        "counts": dict(zip(words, counts, strict=True)) if any(counts) else None,
        "vocabulary": len(embedding),
        "dim": embedding.vector_size,
    }
    return Provenance(settings, seed, len(words))


def directions(embedding: Embedding, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors of words, scaled to length one."""
    return unit_rows(embedding[list(words)])
