"""Comparison of corpora: which words are used differently in them, and how surely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

import numpy as np

from qwem._internal.checks import require_choice, require_whole
from qwem._internal.progress import progress
from qwem._internal.results import Result
from qwem._internal.tables import text_table
from qwem._internal.vectors import unit_rows
from qwem.comparison.axes import axis
from qwem.comparison.replicates import aligned
from qwem.comparison.slices import Slices, slices_of, total
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.model import Settings, build_target, fit, refuse_settled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model, Preset, SettingChanges, Settled

    Array: TypeAlias = NDArray[np.float64]

Alignment = Literal["compass", "procrustes"]

CLASS_WORDS = 500
"""Words of similar frequency whose permutations are pooled."""

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
    p_value: float | None
    """The share of random dealings of documents with a distance at least as unusual."""
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

    corpora: tuple[str, ...]
    places: dict[str, tuple[float, ...]]
    """The cosines of each word with the axis, in the order of the corpora."""

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word, with a column for each corpus."""
        return [
            {"word": word, **dict(zip(self.corpora, places, strict=True))}
            for word, places in self.places.items()
        ]


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

    def to_text(self, topn: int = SHOWN) -> str:
        """Return the `topn` words with the surest changes, and their neighbours in both corpora."""
        table: list[tuple[str, ...]] = [("word", "change", "q", *self.between)]
        for each in self.changes[:topn]:
            near = self.neighbours(each.word, 4).neighbours
            cells = [" ".join(word for word, _ in near[name]) for name in self.between]
            change = "" if each.change is None else f"{each.change:.2f}"
            q_value = "" if each.q_value is None else f"{each.q_value:.2g}"
            table.append((each.word, change, q_value, *cells))
        return text_table(table)

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
    permutations: int = 49,
    alignment: Alignment = "compass",
    threads: int | None = None,
    preset: Preset | None = None,
    settings: Settings | None = None,
    **changes: Unpack[SettingChanges],
) -> CorpusComparison:
    """Return the vectors of words in several corpora, and which words are used differently.

    All corpora have one vocabulary and one set of context vectors, the compass, from all text
    together (Di Carlo, Bianchi and Palmonari 2019). Given the contexts Y, the word vectors of a
    corpus with the target M_t are W_t = M_t Y (YᵀY)⁻¹, in closed form, so that they are comparable
    without a rotation; the target's shrinkage keeps words with little evidence near zero.

    A word's distance between two corpora is tested by dealing the folds of both anew between them,
    which adds and subtracts counts and counts nothing again. Distances are standardized for each
    word, and compared with those of all words of similar frequency under all dealings.

    Parameters
    ----------
    corpora
        Text, documents or a `Corpus` by name, such as ``{"1990": …, "2000": …}``.
    between
        The two corpora to list differences of; by default the first and the last.
    folds
        Into how many folds the documents of each corpus are dealt; even.
    permutations
        How many random dealings; 0 leaves out p-values.
    alignment
        ``"compass"``, or ``"procrustes"``: each corpus is fitted by itself and its vectors are
        rotated to those of all together (Hamilton, Leskovec and Jurafsky 2016), the usual baseline.
    threads
        How many to use; all cores by default.
    preset, settings, changes
        As for `qwem.fit`. The vectors are those of the closed form.

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
        refuse_settled(source, [name for name in changes if name != "vocab_size"])
    chosen = Settings.of(preset, **changes) if settings is None else settings.changed(**changes)
    slices = slices_of(corpora, chosen.changed(polish=False, ngrams=False), folds, threads)
    compass = fit(slices.all, slices.settled, threads=threads)
    vectors = _embedder(compass, slices.settled, alignment, threads)

    halves = [
        [vectors(slices.counts(name, range(half, folds, 2))) for half in (0, 1)]
        for name in (first, last)
    ]
    embeddings = {name: vectors(slices.counts(name)) for name in corpora}
    observed = distances(embeddings[first], embeddings[last])
    drawn = _dealt_anew(slices, (first, last), vectors, permutations)
    words = compass.vocabulary
    rarest = np.minimum(*(slices.counts(name).word_counts for name in (first, last)))
    p_values = pooled_p_values(observed, drawn, rarest) if permutations else None
    listed = _listed(words.words, debiased_changes(*halves), observed, p_values)
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


def pooled_p_values(observed: Array, drawn: Array, counts: NDArray[np.integer]) -> Array:
    """Return p-values of distances, given those under random dealings, one row per dealing.

    Each word's distances are standardized by mean and spread of the observed and the drawn ones
    together, so that all are treated alike. They are then compared with the standardized distances
    of words of similar frequency under all dealings, because a few dealings give few different
    values for one word.
    """
    pooled = np.vstack([observed, drawn])
    spread = pooled.std(axis=0)
    centred = pooled - pooled.mean(axis=0)
    scores = np.divide(centred, spread, out=np.zeros_like(pooled), where=spread > 0)
    p_values = np.empty(len(observed))
    order = np.argsort(-counts, kind="stable")
    for words in np.array_split(order, max(1, len(order) // CLASS_WORDS)):
        chance = np.sort(scores[1:, words], axis=None)
        larger = len(chance) - np.searchsorted(chance, scores[0, words] - 1e-12)
        p_values[words] = (1 + larger) / (1 + len(chance))
    return p_values


def _embedder(
    compass: Model, settled: Settled, alignment: Alignment, threads: int | None
) -> Callable[[Cooccurrence], NDArray[Any]]:
    """Return the function from the counts of a corpus to its vectors."""
    spectrum = compass.spectrum
    if alignment == "procrustes":
        whole = spectrum.embedding().vectors
        return lambda counts: (
            aligned(fit(counts, settled, threads=threads).embedding(), whole).vectors
        )
    basis = (
        spectrum.eigenvectors * np.sign(spectrum.eigenvalues) / np.sqrt(abs(spectrum.eigenvalues))
    )
    if spectrum.row_scale is not None:
        basis = basis / spectrum.row_scale[:, None]
    narrow = basis.astype(np.float32)
    return lambda counts: build_target(counts, settled, threads) @ narrow


def _dealt_anew(
    slices: Slices,
    between: tuple[str, str],
    vectors: Callable[[Cooccurrence], NDArray[Any]],
    permutations: int,
) -> Array:
    """Return the distances of all words for random dealings of the folds of two corpora."""
    pooled = [fold for name in between for fold in slices.folds[name]]
    rng = np.random.default_rng([slices.settled.seed, 2])
    drawn = []
    with progress("permutations", permutations, "dealing") as bar:
        for _ in range(permutations):
            order = rng.permutation(len(pooled))
            middle = len(slices.folds[between[0]])
            parts = [total([pooled[i] for i in half]) for half in (order[:middle], order[middle:])]
            drawn.append(distances(*(vectors(part) for part in parts)))
            bar.update(1)
    return np.array(drawn)


def _listed(
    words: tuple[str, ...], changes: Array, observed: Array, p_values: Array | None
) -> tuple[WordChange, ...]:
    from scipy.stats import false_discovery_control

    size = np.nan_to_num(changes, nan=-np.inf)
    if p_values is None:
        return tuple(
            WordChange(words[i], _number(changes[i]), float(observed[i]), None, None)
            for i in np.argsort(-size, kind="stable")
        )
    q_values = false_discovery_control(p_values)
    return tuple(
        WordChange(
            words[i],
            _number(changes[i]),
            float(observed[i]),
            float(p_values[i]),
            float(q_values[i]),
        )
        for i in np.lexsort((-size, p_values))
    )


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _wide(vectors: NDArray[np.floating]) -> Array:
    return vectors.astype(np.float64)
