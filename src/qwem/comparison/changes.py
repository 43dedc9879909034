"""Changes between corpora, and between a model and its update."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.resources import progress
from qwem._internal.results import Chart, Provenance, Result, ShownTable, listed
from qwem._internal.settings import require_whole
from qwem.comparison.axes import axis
from qwem.comparison.replicates import rotation
from qwem.comparison.results import jackknife_variance, paragraph, student_quantile
from qwem.embedding import Embedding
from qwem.interpretation import overlaps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.comparison.folds import Slices
    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model

SHOWN = 20
SURE = 0.05
"""The false discovery rate at which words are reported to differ."""

NEIGHBOURS = 10
SAME_FEATURE = 0.5
"""The squared overlap from which two features count as the same."""


@dataclass(frozen=True)
class WordChange:
    """How much a word's use differs between two corpora."""

    word: str
    change: float | None
    """1 − the correlation of the word's associations with other words in the two corpora, without
    the bias of sampling noise: about 0 for a word that is used in the same way, however rare. None
    where there is too little text to know its associations in both."""
    low: float | None
    high: float | None
    """The 95 % interval of the change, for a word chosen beforehand: the jackknife over folds of
    documents."""
    distance: float
    """1 − cosine of its two vectors as they are, noise included."""
    ratio: float
    """How many times larger the difference of its contexts is than chance would make it, see
    `qwem.comparison.contexts.FoldTest.ratios`: about 1 for a word used in the same way."""
    counts: tuple[int, ...]
    """How often the word occurs in each corpus."""
    p_value: float | None = None
    """The share of random assignments of folds to the corpora with a ratio at least as unusual."""
    q_value: float | None = None
    """The share of false discoveries among words up to this p-value (Benjamini and Hochberg)."""
    at_least: float | None = None
    """For words with q ≤ 0.05, the lower end of an interval that allows for their selection, or 0
    if it is negative: on average 95 % of these intervals hold (Benjamini and Yekutieli 2005)."""
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
    errors: dict[str, tuple[float, ...]] = field(default_factory=dict)
    """Their standard errors over documents."""
    intervals: dict[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    """Their 95 % intervals."""
    left_out: tuple[str, ...] = ()
    """Requested words that are not placed because they define the axis."""

    def heading(self) -> str:
        """Return the words that are left out."""
        if not self.left_out:
            return ""
        return f"Left out because they define the axis: {listed(self.left_out)}.\n"

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word in each corpus."""
        rows = []
        for word, places in self.places.items():
            for number, (corpus, place) in enumerate(zip(self.corpora, places, strict=True)):
                row = {"word": word, "corpus": corpus, "cosine": place}
                if word in self.intervals:
                    low, high = self.intervals[word][number]
                    row |= {"error": self.errors[word][number], "low": low, "high": high}
                rows.append(row)
        return rows

    def shown(self) -> ShownTable:
        """Return one row for each word, with a column for each corpus."""
        rows = [
            {"word": word, **dict(zip(self.corpora, places, strict=True))}
            for word, places in self.places.items()
        ]
        return ShownTable(self.heading(), rows, self.chart)

    def to_text(self) -> str:
        """Return the rows as text."""
        return ShownTable(self.heading(), self.rows()).to_text()

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        settings = {} if self.provenance is None else self.provenance.settings
        given = "rotation" if settings.get("alignment") == "procrustes" else "contexts"
        sentences = [
            f"We placed words on the axis from {', '.join(settings.get('negative', ()))} to "
            f"{', '.join(settings.get('positive', ()))} by the cosine of their vectors with it "
            f"(Kozlowski, Taddy and Evans 2019), in {', '.join(self.corpora)}.",
            f"Vectors are comparable {_comparable(settings)}, and the axis is the mean of those of "
            "all corpora.",
            "95 % intervals are from the jackknife over folds of documents (Tukey 1958), after "
            f"Fisher's transformation, with the {given} taken as given.",
        ]
        return paragraph(sentences, self.provenance)

    def plot(self, positive: str = "", negative: str = "") -> Figure:
        """Draw the path of each word, with its 95 % intervals.

        `positive` and `negative` name the two ends of the axis.

        >>> len(AxisPath(("1990", "2000"), {"nurse": (0.3, 0.1)}).plot().axes[0].lines)
        2
        """
        from qwem.comparison._figures import plot_path

        return plot_path(self, positive, negative)


@dataclass(frozen=True, eq=False)
class CorpusComparison(Result):
    """Vectors of the same words in several corpora, and what differs between two of them."""

    embeddings: dict[str, Embedding] = field(repr=False)
    """The vectors of each corpus, comparable with each other without rotation."""
    between: tuple[str, str]
    """The two corpora whose differences are listed."""
    changes: tuple[WordChange, ...] = field(repr=False)
    """All words, in the order of `at_least`, then of p-values: the largest sure changes first, then
    the most likely ones. Without p-values, in the order of the lower ends of intervals."""
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
    strata: tuple[str, ...]
    """The strata within which folds were exchanged."""
    slices: Slices = field(repr=False)
    """The counts of each corpus by fold."""
    solve: Callable[[Cooccurrence], NDArray[Any]] = field(repr=False)
    """Returns the vectors of all words, given the counts of a corpus."""

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
        return CorpusNeighbours(word, found, provenance=self.provenance)

    def path(
        self, words: Sequence[str], positive: Sequence[str], negative: Sequence[str]
    ) -> AxisPath:
        """Return where words lie in each corpus on an axis that all corpora share.

        The axis is the mean of the axes of the corpora, see `qwem.comparison.axis`; words that
        define it are left out. Intervals are those of the jackknife over folds, with the context
        vectors taken as given.
        """
        whole = next(iter(self.embeddings.values()))
        ends = axis(whole, positive, negative)
        words, left_out = ends.without_ends(words)
        chosen = list(dict.fromkeys([*words, *ends.positive, *ends.negative]))
        rows = whole.vocabulary.indices(chosen)
        at = [chosen.index(word) for word in words]

        def places(vectors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
            small = [Embedding(chosen, each) for each in vectors]
            axes = [axis(each, ends.positive, ends.negative).vector for each in small]
            direction = np.mean(axes, axis=0)
            units = [unit_rows(each.vectors[at]) for each in small]
            return np.array(units) @ (direction / np.linalg.norm(direction))

        vectors = [each.vectors[rows] for each in self.embeddings.values()]
        found = places(vectors)
        variance, artanh_variance = np.zeros((2, *found.shape))
        freedom = []
        with progress("replicates", sum(map(len, self.slices.slices.values())), "fold") as bar:
            for number, name in enumerate(self.embeddings):
                own = self.slices[name]
                without = []
                for fold in range(len(own)):
                    changed = self.solve(own.without(fold))[rows]
                    without.append(places([*vectors[:number], changed, *vectors[number + 1 :]]))
                    bar.update(1)
                variance += jackknife_variance(np.array(without))
                bounded = np.clip(without, -1 + 1e-9, 1 - 1e-9)
                artanh_variance += jackknife_variance(np.arctanh(bounded))
                freedom.append(len(own) - 1)
        width = np.sqrt(artanh_variance) * [[student_quantile(0.95, each)] for each in freedom]
        middle = np.arctanh(np.clip(found, -1 + 1e-9, 1 - 1e-9))
        low, high = np.tanh(middle - width), np.tanh(middle + width)
        settings = {} if self.provenance is None else dict(self.provenance.settings)
        settings |= {"positive": list(ends.positive), "negative": list(ends.negative)}
        settings |= {"counts": {word: list(self[word].counts) for word in chosen}}
        return AxisPath(
            corpora=tuple(self.embeddings),
            places={word: tuple(found[:, i].tolist()) for i, word in enumerate(words)},
            errors={word: tuple(np.sqrt(variance[:, i]).tolist()) for i, word in enumerate(words)},
            intervals={
                word: tuple(zip(low[:, i].tolist(), high[:, i].tolist(), strict=True))
                for i, word in enumerate(words)
            },
            left_out=left_out,
            provenance=self.provenance and replace(self.provenance, settings=settings),
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word."""
        return [
            {**vars(each), "counts": dict(zip(self.embeddings, each.counts, strict=True))}
            for each in self.changes
        ]

    def heading(self) -> str:
        """Return what was compared, and how many words differ."""
        sizes = "; ".join(
            f"{name}: {self._size(name)}, {self.folds[name]} folds" for name in self.between
        )
        text = f"{sizes}.\n"
        if self.permutations:
            sure = sum(each.at_least is not None for each in self.changes)
            all_of_them = "both" if len(self.embeddings) == 2 else f"all {len(self.embeddings)}"
            among = f"{len(self.changes):,} words that {all_of_them} have"
            text += f"{sure:,} of the {among} differ with q ≤ {SURE}.\n"
        for words, name in ((self.entered, self.between[1]), (self.left, self.between[0])):
            if words:
                text += f"Only in {name}: {listed(words)}.\n"
        return text

    def _size(self, name: str) -> str:
        """Return how many documents, or documents in groups, a corpus has."""
        grouped = f" in {self.groups[name]:,} groups" if self.groups != self.documents else ""
        return f"{self.documents[name]:,} documents{grouped}"

    def shown(self, topn: int = SHOWN) -> ShownTable:
        """Return the first `topn` words, and their neighbours."""
        rows = []
        for each in self.changes[:topn]:
            near = self.neighbours(each.word, 4).neighbours
            cells = {name: " ".join(word for word, _ in near[name]) for name in self.between}
            row = {"word": each.word, "change": each.change, "low": each.low, "high": each.high}
            row |= {"at least": each.at_least, "q": each.q_value} if self.permutations else {}
            if len(self.embeddings) > 2:
                row |= {"q of any": each.any_q, "q of trend": each.trend_q}
            rows.append({**row, **cells})
        return ShownTable(self.heading(), rows)

    def to_text(self, topn: int = SHOWN) -> str:
        """Return what `shown` returns, as text."""
        return self.shown(topn).to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: the changes of all words, without vectors."""
        return {**super().to_dict(), "corpora": list(self.embeddings), "changes": self.rows()}

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        sizes = ", ".join(f"{name} ({self._size(name)})" for name in self.embeddings)
        units = "documents" if self.groups == self.documents else "groups of documents"
        first, last = self.between
        settings = {} if self.provenance is None else self.provenance.settings
        alike = f" (with equal shares of {len(self.strata)} strata)" if self.strata else ""
        sentences = [
            f"We compared the use of {len(self.changes):,} words, those that all have, in {sizes}. "
            f"Their vectors (window {settings.get('window')}) are comparable "
            f"{_comparable(settings)}.",
            f"Changes between {first} and {last}{alike} are 1 minus the correlation of a word's "
            "associations in the two, in products of different folds and less the bias of their "
            "ratio (Quenouille 1956), so that noise does not enlarge them; 95 % intervals are from "
            f"the jackknife over folds of {units} (Tukey 1958).",
        ]
        if self.permutations:
            within = f" within {len(self.strata)} strata" if self.strata else ""
            sentences.append(
                f"Differences of mean contexts were tested by the pseudo-F of Anderson (2001) with "
                f"up to {self.permutations:,} permutations of {self.folds[first]} and "
                f"{self.folds[last]} folds of {units}{within}, pooled over words of similar "
                "frequency; q-values control the false discovery rate (Benjamini and Hochberg "
                f"1995). Words with q ≤ {SURE} are in the order of the lower ends of intervals "
                "that allow for their choice (Benjamini and Yekutieli 2005)."
            )
            if len(self.embeddings) > 2:
                sentences.append(
                    "Whether a word differs between any of the corpora, and whether it moves in "
                    "one direction from the first to the last, was tested in the same way."
                )
        return paragraph(sentences, self.provenance)


def _comparable(settings: Mapping[str, Any]) -> str:
    """Return how the vectors of corpora were made comparable, for a method paragraph."""
    if settings.get("alignment") == "procrustes":
        return "by orthogonal Procrustes (Hamilton, Leskovec and Jurafsky 2016)"
    return "by shared context vectors (Di Carlo, Bianchi and Palmonari 2019)"


def cosine_distances(one: NDArray[np.floating], other: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return 1 − the cosine of each row of one matrix with the same row of the other."""
    return np.asarray(1 - np.einsum("ij,ij->i", unit_rows(one), unit_rows(other)))


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
    """The median over words of how far they moved."""

    def heading(self) -> str:
        """Return which words entered or left, and how many features and words moved."""
        lines = []
        for words, verb in ((self.entered, "entered"), (self.left, "left")):
            if words:
                count = "1 word" if len(words) == 1 else f"{len(words):,} words"
                lines.append(f"{count} {verb}: {listed(words)}")
        same = [each for each in self.features if each.overlap >= SAME_FEATURE]
        lines.append(f"{len(same)} of {len(self.features)} features are the same")
        moved = [f"{each.before} to {each.after}" for each in same if each.before != each.after]
        if moved:
            lines[-1] += f"; with another rank: {listed(moved)}"
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
    require_whole("topn", topn, least=0)
    old, new = before.embedding(), after.embedding()
    found = overlaps(before.spectrum.embedding(), after.spectrum.embedding())
    shared = found.words
    one, other = unit_rows(old[shared]), unit_rows(new[shared])
    distances = cosine_distances(one @ rotation(one, other), other)
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
        provenance=Provenance(
            {
                "before": before.settings,
                "after": after.settings,
                "topn": topn,
                "least_count": least_count,
            }
        ),
    )
