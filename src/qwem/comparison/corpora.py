"""Comparison of corpora: which words are used differently in them, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.checks import require_choice, require_whole
from qwem._internal.results import Chart, Result, ShownTable
from qwem.comparison.axes import axis
from qwem.comparison.fold_contexts import FoldContexts, pooled_p_values
from qwem.comparison.replicates import aligned
from qwem.comparison.slices import slices_of
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.model import Settings, fit, reject_fixed_settings
from qwem.polish import Polished

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model, Preset, ResolvedSettings

    Array: TypeAlias = NDArray[np.float64]

Alignment = Literal["compass", "procrustes"]

SHOWN = 20


@dataclass(frozen=True)
class WordChange:
    """How much a word's use differs between two corpora."""

    word: str
    change: float | None
    """1 − cosine of its two vectors, free of the part that sampling noise adds: about 0 for a word
    that is used in the same way, however rare. None where there is too little text to tell."""
    distance: float
    """1 − cosine as it is, noise included."""
    ratio: float
    """How many times larger the difference of its contexts is than chance would make it, see
    `qwem.comparison.fold_contexts.FoldContexts.ratio`: about 1 for a word used in the same way."""
    p_value: float | None
    """The share of random dealings of documents with a ratio at least as unusual."""
    q_value: float | None
    """The share of false discoveries among words up to this p-value (Benjamini and Hochberg)."""


@dataclass(frozen=True)
class ThenAndNow(Result):
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
    """All words, the surest change first."""
    permutations: int

    def __getitem__(self, word: str) -> WordChange:
        """Return the change of a word."""
        for each in self.changes:
            if each.word == word:
                return each
        raise KeyError(word)

    def neighbours(self, word: str, topn: int = 10) -> ThenAndNow:
        """Return the nearest words of a word in each corpus."""
        found = {
            name: tuple(embedding.most_similar(word, topn=topn))
            for name, embedding in self.embeddings.items()
        }
        return ThenAndNow(word, found)

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
        return [vars(each) for each in self.changes]

    def shown(self, topn: int = SHOWN) -> ShownTable:
        """Return the `topn` words with the surest changes, and their neighbours in both corpora."""
        rows = []
        for each in self.changes[:topn]:
            near = self.neighbours(each.word, 4).neighbours
            cells = {name: " ".join(word for word, _ in near[name]) for name in self.between}
            rows.append({"word": each.word, "change": each.change, "q": each.q_value, **cells})
        return ShownTable(self.heading(), rows)

    def to_text(self, topn: int = SHOWN) -> str:
        """Return what `shown` returns, as text."""
        return self.shown(topn).to_text()

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: the changes of all words, without vectors."""
        return {
            "corpora": list(self.embeddings),
            "between": list(self.between),
            "permutations": self.permutations,
            "changes": self.rows(),
        }


def compare_corpora(
    corpora: Mapping[str, Any],
    *,
    between: tuple[str, str] | None = None,
    folds: int = 10,
    groups: Mapping[str, Sequence[Any]] | None = None,
    permutations: int = 199,
    alignment: Alignment = "compass",
    threads: int | None = None,
    preset: Preset | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> CorpusComparison:
    """Return the vectors of words in several corpora, and which words are used differently.

    All corpora have one vocabulary and one set of context vectors, the compass, from all text
    together (Di Carlo, Bianchi and Palmonari 2019). Given the contexts Y, the word vectors of a
    corpus with the target M_t are W_t = M_t Y (YᵀY)⁻¹, in closed form, so that they are comparable
    without a rotation; the target's shrinkage keeps words with little evidence near zero.

    Whether a word is used differently is tested by its mean context, the mean of the context
    vectors of its neighbours: how far it is between the two corpora, compared with how far it is
    between folds of one corpus (Anderson 2001). For p-values the folds of both are dealt anew
    between them; mean contexts add up, and nothing is counted again. The ratios of a word are
    standardized, and compared with those of all words of similar frequency under all dealings.

    Parameters
    ----------
    corpora
        Text, documents or a `Corpus` by name, such as ``{"1990": …, "2000": …}``.
    between
        The two corpora to list differences of; by default the first and the last.
    folds
        Into how many folds the documents of each corpus are dealt; even.
    groups
        For each corpus, a label for each document, such as its author: documents that are not
        independent of each other stay in one fold.
    permutations
        How many random dealings; 0 leaves out p-values.
    alignment
        ``"compass"``, or ``"procrustes"``: each corpus is fitted by itself and its vectors are
        rotated to those of all together (Hamilton, Leskovec and Jurafsky 2016), the usual baseline.
    threads
        How many to use; all cores by default.
    preset, settings, changes
        As for `qwem.fit`, except that the vectors are those of the closed form unless
        ``polish=True``. Then the compass is polished, and the word vectors of a corpus are the
        minimum of word2vec's loss on its counts, given the contexts: a convex problem for each
        word.

    >>> old = ["the mouse ate the cheese", "the cat ate the mouse"] * 20
    >>> new = ["the mouse has a button", "the cat ate the cheese"] * 20
    >>> compared = compare_corpora({"old": old, "new": new}, folds=2, permutations=0, dim=2)
    >>> [round(each.distance) for each in compared.changes if each.word == "the"]
    [0]
    """
    require_choice("alignment", alignment, ("compass", "procrustes"))
    require_whole("folds", folds, least=2)
    require_whole("permutations", permutations, least=0)
    if len(corpora) < 2 or folds % 2:
        raise SettingError(
            "compare_corpora needs two corpora or more, and an even number of folds."
        )
    first, last = between or (next(iter(corpora)), list(corpora)[-1])
    if first == last or not {first, last} <= set(corpora):
        raise SettingError(f"between must name two of the corpora, not {first!r} and {last!r}.")
    if settings is not None and preset is not None:
        raise SettingError("Both settings and a preset were given; pass one of the two.")
    for source in corpora.values():
        reject_fixed_settings(source, [name for name in changes if name != "vocab_size"])
    if groups is not None and set(groups) != set(corpora):
        raise SettingError("groups must have labels for every corpus, under the same names.")
    chosen = Settings.of(preset, **changes) if settings is None else settings.changed(**changes)
    settled = chosen.changed(polish=chosen.polish is True, ngrams=False)
    slices = slices_of(corpora, settled, folds, threads, groups)
    compass = fit(slices.all, slices.settled, threads=threads)
    vectors = _embedder(compass, slices.settled, alignment, threads)

    halves = [[vectors(half) for half in slices.halves(name)] for name in (first, last)]
    embeddings = {name: vectors(slices.counts(name)) for name in corpora}
    context = compass.solution.context_vectors
    contexts = FoldContexts.of(slices.folds[first], slices.folds[last], context, threads)
    words, ratios = compass.vocabulary, contexts.ratio()
    p_values = None
    if permutations:
        rarest = np.minimum(*(slices.counts(name).word_counts for name in (first, last)))
        drawn = contexts.dealt_anew(permutations, slices.settled.seed)
        p_values = pooled_p_values(ratios, drawn, rarest)
    listed = _listed(
        words.words,
        debiased_changes(*halves),
        distances(embeddings[first], embeddings[last]),
        ratios,
        p_values,
    )
    made = {name: Embedding(words, each) for name, each in embeddings.items()}
    return CorpusComparison(made, (first, last), listed, permutations)


def distances(one: NDArray[np.floating], other: NDArray[np.floating]) -> Array:
    """Return 1 − the cosine of each row of one matrix with that row of the other."""
    return 1 - np.einsum("ij,ij->i", unit_rows(one), unit_rows(other))


def debiased_changes(
    first: Sequence[NDArray[np.floating]], second: Sequence[NDArray[np.floating]]
) -> Array:
    """Return 1 − cosine without the bias of noise, from the vectors of two halves of each corpus.

    Noise of different documents is independent. So the inner product of two halves of one corpus
    estimates a squared length without bias, and that of two corpora needs no correction. Where a
    squared length is not positive there is too little text, and the change is NaN.
    """
    across = sum(np.einsum("ij,ij->i", one, other) for one in first for other in second) / 4
    squares = [np.einsum("ij,ij->i", *map(_wide, halves)) for halves in (first, second)]
    scale = np.where((squares[0] > 0) & (squares[1] > 0), squares[0] * squares[1], np.nan)
    changes: Array = 1 - across / np.sqrt(scale)
    return changes


def _embedder(
    compass: Model, settled: ResolvedSettings, alignment: Alignment, threads: int | None
) -> Callable[[Cooccurrence], NDArray[Any]]:
    """Return the function from the counts of a corpus to its vectors."""
    if alignment == "procrustes":
        whole = compass.embedding().vectors
        return lambda counts: (
            aligned(fit(counts, settled, threads=threads).embedding(), whole).vectors
        )
    solution = compass.solution
    if isinstance(solution, Polished):
        return lambda counts: solution.solve_words(counts, threads=threads).vectors
    return lambda counts: solution.solve_words(counts, settled, threads=threads).vectors


def _listed(
    words: tuple[str, ...], changes: Array, distances: Array, ratios: Array, p_values: Array | None
) -> tuple[WordChange, ...]:
    """Return the changes of all words, the surest first."""
    from scipy.stats import false_discovery_control

    nothing = np.full(len(words), np.nan)
    tested = nothing if p_values is None else p_values
    q_values = nothing if p_values is None else false_discovery_control(p_values)
    return tuple(
        WordChange(
            words[i],
            _number(changes[i]),
            float(distances[i]),
            float(ratios[i]),
            _number(tested[i]),
            _number(q_values[i]),
        )
        for i in np.lexsort((-ratios, tested))
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _wide(vectors: NDArray[np.floating]) -> Array:
    return vectors.astype(np.float64)
