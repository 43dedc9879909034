"""Results of comparing corpora: changes of words, neighbours, paths along an axis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.results import Chart, Result, ShownTable, listed
from qwem.comparison._methods import paragraph
from qwem.comparison.axes import axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from qwem.embedding import Embedding

SHOWN = 20


@dataclass(frozen=True)
class WordChange:
    """How much a word's use differs between two corpora."""

    word: str
    change: float | None
    """1 − the correlation of the word's associations with other words in the two corpora, free of
    the part that sampling noise adds: about 0 for a word that is used in the same way, however
    rare. None where there is too little text to know its associations in both."""
    low: float | None
    high: float | None
    """The 95 % interval of the change: the jackknife over folds of documents."""
    distance: float
    """1 − cosine of its two vectors as they are, noise included."""
    ratio: float
    """How many times larger the difference of its contexts is than chance would make it, see
    `qwem.comparison.fold_contexts.FoldTest.ratios`: about 1 for a word used in the same way."""
    counts: tuple[int, ...]
    """How often the word occurs in each corpus."""
    p_value: float | None = None
    """The share of random assignments of folds to the corpora with a ratio at least as unusual."""
    q_value: float | None = None
    """The share of false discoveries among words up to this p-value (Benjamini and Hochberg)."""
    any_p: float | None = None
    any_q: float | None = None
    """With three corpora or more, whether the word differs between any of them."""
    trend_p: float | None = None
    trend_q: float | None = None
    """With three corpora or more, whether its contexts move in one direction from first to last."""


@dataclass(frozen=True)
class CorpusNeighbours(Result):
    """The nearest words of a word in each corpus."""

    word: str
    neighbours: dict[str, tuple[tuple[str, float], ...]]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each corpus."""
        return [
            {"corpus": name, "neighbours": " ".join(f"{word} {cos:.2f}" for word, cos in found)}
            for name, found in self.neighbours.items()
        ]


@dataclass(frozen=True)
class AxisPath(Result):
    """Where words lie on an axis, in one corpus after another."""

    chart: ClassVar[Chart] = "paths"
    corpora: tuple[str, ...]
    places: dict[str, tuple[float, ...]]
    """The cosines of each word with the axis, in the order of the corpora."""

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word, with a column for each corpus."""
        return [
            {"word": word, **dict(zip(self.corpora, places, strict=True))}
            for word, places in self.places.items()
        ]

    def plot(self, positive: str = "", negative: str = "") -> Figure:
        """Draw the path of each word.

        `positive` and `negative` name the two ends of the axis.

        >>> len(AxisPath(("1990", "2000"), {"nurse": (0.3, 0.1)}).plot().axes[0].lines)
        2
        """
        from qwem.comparison._plots import plot_path

        return plot_path(self, positive, negative)


@dataclass(frozen=True, eq=False)
class CorpusComparison(Result):
    """Vectors of the same words in several corpora, and what differs between two of them."""

    embeddings: dict[str, Embedding] = field(repr=False)
    """The vectors of each corpus, comparable with each other without rotation."""
    between: tuple[str, str]
    """The two corpora whose differences are listed."""
    changes: tuple[WordChange, ...] = field(repr=False)
    """All words, the largest sure change first: in the order of the lower ends of intervals."""
    permutations: int
    documents: dict[str, int]
    """How many documents each corpus has."""
    groups: dict[str, int]
    """How many documents, or groups of documents, were dealt into folds."""
    folds: dict[str, int]
    """How many folds each corpus has in the test of the two, in proportion to its size."""
    entered: dict[str, int]
    """Words of the second of the two corpora that the first lacks, with their counts."""
    left: dict[str, int]
    """Words of the first of the two corpora that the second lacks."""
    strata: tuple[str, ...] = ()
    """The strata within which folds were exchanged."""

    def __getitem__(self, word: str) -> WordChange:
        """Return the change of a word."""
        for each in self.changes:
            if each.word == word:
                return each
        raise KeyError(word)

    def neighbours(self, word: str, topn: int = 10) -> CorpusNeighbours:
        """Return the nearest words of a word in each corpus."""
        found = {
            name: tuple(embedding.most_similar(word, topn=topn))
            for name, embedding in self.embeddings.items()
        }
        return CorpusNeighbours(word, found)

    def path(
        self, words: Sequence[str], positive: Sequence[str], negative: Sequence[str]
    ) -> AxisPath:
        """Return where words lie on an axis in each corpus, the axis being that of all together.

        The axis is the mean of the axes of the corpora, see `qwem.comparison.axis`.
        """
        first = next(iter(self.embeddings.values()))
        rows = first.vocabulary.indices(words)
        direction = np.mean(
            [axis(each, positive, negative).vector for each in self.embeddings.values()], axis=0
        )
        direction /= np.linalg.norm(direction)
        cosines = [unit_rows(each.vectors[rows]) @ direction for each in self.embeddings.values()]
        places = np.array(cosines).T.tolist()
        found = {word: tuple(place) for word, place in zip(words, places, strict=True)}
        return AxisPath(tuple(self.embeddings), found)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word."""
        return [
            {**vars(each), "counts": dict(zip(self.embeddings, each.counts, strict=True))}
            for each in self.changes
        ]

    def heading(self) -> str:
        """Return what was compared, and how many words differ."""
        sizes = "; ".join(
            f"{name}: {self.documents[name]:,} documents, {self.folds[name]} folds"
            for name in self.between
        )
        text = f"{sizes}.\n"
        if self.permutations:
            sure = sum(each.q_value is not None and each.q_value <= 0.05 for each in self.changes)
            text += f"{sure:,} of {len(self.changes):,} words differ with q ≤ 0.05.\n"
        for words, name in ((self.entered, self.between[1]), (self.left, self.between[0])):
            if words:
                text += f"Only in {name}: {listed(words)}.\n"
        return text

    def shown(self, topn: int = SHOWN) -> ShownTable:
        """Return the `topn` words with the largest sure changes, and their neighbours."""
        rows = []
        for each in self.changes[:topn]:
            near = self.neighbours(each.word, 4).neighbours
            cells = {name: " ".join(word for word, _ in near[name]) for name in self.between}
            row = {"word": each.word, "change": each.change, "low": each.low, "high": each.high}
            row |= {"q": each.q_value}
            if len(self.embeddings) > 2:
                row |= {"q of any": each.any_q, "q of trend": each.trend_q}
            rows.append({**row, **cells})
        return ShownTable(self.heading(), rows)

    def to_text(self, topn: int = SHOWN) -> str:
        """Return what `shown` returns, as text."""
        return self.shown(topn).to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the changes of all words, without vectors."""
        return {**super().to_dict(), "corpora": list(self.embeddings), "changes": self.rows()}

    def methods(self) -> str:
        """Return what was done as a paragraph for a paper, with references."""
        sizes = ", ".join(
            f"{name} ({self.documents[name]:,} documents)" for name in self.embeddings
        )
        units = "documents" if self.groups == self.documents else "groups of documents"
        first, last = self.between
        settings = {} if self.provenance is None else self.provenance.settings
        procrustes = settings.get("alignment") == "procrustes"
        how = (
            "by orthogonal Procrustes (Hamilton, Leskovec and Jurafsky 2016)"
            if procrustes
            else "with shared context vectors (Di Carlo, Bianchi and Palmonari 2019)"
        )
        said = [
            f"We compared the use of {len(self.changes):,} words in {sizes}, in word vectors of "
            f"{settings.get('dim')} dimensions that are comparable {how}.",
            f"Changes between {first} and {last} are 1 minus the correlation of a word's "
            "associations in the two, without the bias of noise; 95 % intervals are from the "
            f"jackknife over folds of {units} (Tukey 1958).",
        ]
        cited = ["Tukey 1958", "Hamilton et al. 2016" if procrustes else "Di Carlo et al. 2019"]
        if self.permutations:
            within = " within strata" if self.strata else ""
            said.append(
                f"Differences of mean contexts were tested by the pseudo-F of Anderson (2001) with "
                f"up to {self.permutations:,} permutations of {self.folds[first]} and "
                f"{self.folds[last]} folds of {units}{within}, pooled over words of similar "
                "frequency; q-values control the false discovery rate (Benjamini and Hochberg "
                "1995)."
            )
            cited += ["Anderson 2001", "Benjamini and Hochberg 1995"]
        return paragraph(said, cited, self.provenance)
