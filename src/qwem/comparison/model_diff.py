"""Differences between a model and its update: features, words and neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.results import Result, listed
from qwem._internal.settings import require_whole
from qwem.interpretation import overlaps

if TYPE_CHECKING:
    from qwem.model import Model

NEIGHBOURS = 10
SAME = 0.5
"""The squared overlap from which two features are the same."""


@dataclass(frozen=True)
class WordMove:
    """A word, how far it moved, and which of its ten nearest words are new or gone."""

    word: str
    moved: float
    """1 − cosine of its old and new vectors, after the best rotation of all vectors."""
    came: tuple[str, ...]
    went: tuple[str, ...]


@dataclass(frozen=True)
class FeatureMatch:
    """A feature of the earlier model and its match in the later one, both by rank from 1."""

    before: int
    after: int
    overlap: float
    """The squared overlap of the two."""


@dataclass(frozen=True)
class ModelDiff(Result):
    """Differences between a model and its update."""

    entered: tuple[str, ...]
    """Words that only the update has."""
    left: tuple[str, ...]
    """Words that only the earlier model has."""
    features: tuple[FeatureMatch, ...]
    words: tuple[WordMove, ...]
    """The words that moved most."""
    median: float
    """How far the word in the middle moved."""

    def heading(self) -> str:
        """Return how many words and features moved."""
        lines = []
        for words, verb in ((self.entered, "entered"), (self.left, "left")):
            if words:
                count = "1 word" if len(words) == 1 else f"{len(words):,} words"
                lines.append(f"{count} {verb}: {listed(words)}")
        same = [each for each in self.features if each.overlap >= SAME]
        lines.append(f"{len(same)} of {len(self.features)} features are the same")
        moved = [f"{each.before} to {each.after}" for each in same if each.before != each.after]
        if moved:
            lines[-1] += f"; other places in the order: {listed(moved)}"
        lines.append(f"half of the words moved by less than {self.median:.3f}")
        return "".join(f"{line}\n" for line in lines)

    def rows(self) -> list[dict[str, Any]]:
        """Return the words that moved most."""
        return [
            {
                "word": each.word,
                "moved": each.moved,
                "nearer": listed(each.came, 4),
                "further": listed(each.went, 4),
            }
            for each in self.words
        ]


def diff_models(before: Model, after: Model, *, topn: int = 10, least_count: int = 20) -> ModelDiff:
    """Compare a model with its update.

    Parameters
    ----------
    before, after
        The two models.
    topn
        How many of the words that moved most to name.
    least_count
        How often a word must occur in the earlier model to be named; rarer ones move by chance.

    >>> import qwem
    >>> texts = ["the king and the queen", "a cat and a dog"] * 20
    >>> model = qwem.fit(texts, dim=2, keep_counts=True)
    >>> diff_models(model, model.update(["a fox and a cat"] * 20)).entered
    ('fox',)
    """
    from scipy.linalg import orthogonal_procrustes

    require_whole("topn", topn, least=0)
    old, new = before.embedding(), after.embedding()
    found = overlaps(before.spectrum.embedding(), after.spectrum.embedding())
    shared = found.words
    one, other = unit_rows(old[shared]), unit_rows(new[shared])
    rotation, _ = orthogonal_procrustes(one, other)
    distances = 1 - np.sum((one @ rotation) * other, axis=1)
    counts = old.vocabulary.counts[old.vocabulary.indices(shared)]
    often = np.flatnonzero(counts >= min(least_count, int(counts.max())))
    most = often[np.argsort(-distances[often], kind="stable")][:topn]
    names = [shared[row] for row in most]
    words = []
    for row, name in zip(most, names, strict=True):
        was, now = (
            [word for word, _ in side.most_similar(name, topn=NEIGHBOURS)] for side in (old, new)
        )
        came = tuple(word for word in now if word not in was)
        went = tuple(word for word in was if word not in now)
        words.append(WordMove(name, float(distances[row]), came, went))
    matched = zip(found.match.tolist(), found.matched.tolist(), strict=True)
    return ModelDiff(
        entered=tuple(word for word in new if word not in old),
        left=tuple(word for word in old if word not in new),
        features=tuple(
            FeatureMatch(before=rank, after=match + 1, overlap=overlap)
            for rank, (match, overlap) in enumerate(matched, 1)
        ),
        words=tuple(words),
        median=float(np.median(distances)),
    )
