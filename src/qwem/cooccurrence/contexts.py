"""Contexts of words: slots of distances, subsampling, matrices of contexts, and collocates."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import cut_to_size, ends_of
from qwem._internal.settings import require_whole
from qwem.cooccurrence._rows import Rows, lengths_of, transpose
from qwem.corpus import Vocabulary
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence.cooccurrence import Cooccurrence

    Array = NDArray[Any]

Side = TypeVar("Side")

MAX_WINDOW = 10_000
MAX_WEIGHT = 2**63 - 1

LAYOUTS = ("adjacent", "bigrams", "sides", "near-far", "symmetric")


@dataclass(frozen=True)
class Slot:
    """A set of distances at which pairs are counted together.

    A directed slot gives each word two contexts, one on the left and one on the right. A symmetric
    slot gives it one.

    >>> Slot((2, 1)).contexts, Slot((2, 1), directed=False).contexts
    (2, 1)
    """

    weights: tuple[int, ...] | None
    """The weight of a pair at distance 1, 2, …; 0 for distances outside the slot, None if the
    distances are unknown."""
    directed: bool = True
    whole_text: bool = field(default=False, repr=False)
    """Whether to count every word, without subsampling. Such pairs are contexts of `polish` in
    addition to those of the window, and are not part of `Cooccurrence.symmetric`."""

    def __post_init__(self) -> None:
        if self.weights is not None:
            require_whole("the number of weights", len(self.weights), least=1, most=MAX_WINDOW)
            object.__setattr__(self, "weights", checked_weights(self.weights))

    def __str__(self) -> str:
        kind = "ordered" if self.directed else "unordered"
        return f"{kind} pairs{' of the whole text' * self.whole_text} with weights {self.weights}"

    @property
    def contexts(self) -> int:
        """The number of contexts per word in this slot."""
        return 2 if self.directed else 1


def window_weights(window: int, weights: str | Sequence[int] = "dynamic") -> tuple[int, ...]:
    """Return the weight of a pair at each distance from 1 to `window`.

    >>> window_weights(3), window_weights(3, "flat"), window_weights(2, [5, 1])
    ((3, 2, 1), (1, 1, 1), (5, 1))
    """
    require_whole("window", window, least=1, most=MAX_WINDOW)
    if isinstance(weights, str):
        if weights == "dynamic":
            return tuple(range(window, 0, -1))
        if weights == "flat":
            return (1,) * window
        raise SettingError(
            f"`weights` must be 'dynamic', 'flat' or a weight for each distance, not {weights!r}."
        )
    if len(weights) != window:
        raise SettingError(f"A window of {window} needs {window} weights, not {len(weights)}.")
    return checked_weights(weights)


def checked_weights(weights: Sequence[int]) -> tuple[int, ...]:
    """Return the weights of pairs by distance, after checking that they are whole numbers."""
    if not all(0 <= weight <= MAX_WEIGHT and weight == int(weight) for weight in weights):
        raise SettingError(
            f"`weights` must be whole numbers from 0 to {MAX_WEIGHT:,}, not {list(weights)}."
        )
    return tuple(map(int, weights))


def window_slots(
    window: int,
    weights: str | Sequence[int] = "dynamic",
    layout: str | Sequence[Slot | Sequence[int]] = "sides",
) -> tuple[Slot, ...]:
    """Return the slots that a window is divided into.

    Parameters
    ----------
    window, weights
        The window, as `window_weights` takes it.
    layout
        ``"symmetric"``, one symmetric slot; ``"sides"``, one directed slot; ``"near-far"``, a
        directed slot of adjacent words and another of all others; ``"adjacent"``, a directed slot
        of adjacent words and a symmetric slot of all others; ``"bigrams"``, a directed slot of
        adjacent words in the text before subsampling and a symmetric slot of the whole window; or
        slots of your own (then `window` and `weights` are not used), each a `Slot`, or the weights
        by distance of a directed slot.

    >>> window_slots(3, layout="near-far")
    (Slot(weights=(3,), directed=True), Slot(weights=(0, 2, 1), directed=True))
    """
    if not isinstance(layout, str):
        slots = tuple(each if isinstance(each, Slot) else Slot(tuple(each)) for each in layout)
        if all(slot.whole_text for slot in slots) or any(slot.weights is None for slot in slots):
            raise SettingError(
                "`slots` needs at least one slot of the window, each with a weight by distance."
            )
        return slots
    by_distance = window_weights(window, weights)
    if layout == "bigrams":
        return Slot(by_distance[:1], whole_text=True), Slot(by_distance, directed=False)
    if layout in ("near-far", "adjacent") and window > 1:
        return Slot(by_distance[:1]), Slot((0, *by_distance[1:]), directed=layout == "near-far")
    if layout not in LAYOUTS:
        raise SettingError(
            f"`slots` must be one of {', '.join(map(repr, LAYOUTS))} or a list of slots, not "
            f"{layout!r}."
        )
    return (Slot(by_distance, directed=layout != "symmetric"),)


def sum_of_weights(slots: Sequence[Slot]) -> tuple[int, ...] | None:
    """Return the weight of a pair in the slots of the window, by distance; None if unknown."""
    slots = [slot for slot in slots if not slot.whole_text]
    known: list[tuple[int, ...]] = [slot.weights for slot in slots if slot.weights is not None]
    if len(known) < len(slots):
        return None
    longest = max(map(len, known), default=0)
    padded = [weights + (0,) * (longest - len(weights)) for weights in known]
    return tuple(map(sum, zip(*padded, strict=True)))


def slots_as_json(slots: Sequence[Slot]) -> list[dict[str, Any]]:
    """Return slots in the form that is written to a file."""
    return [asdict(slot) for slot in slots]


def slots_from_json(found: Sequence[dict[str, Any]]) -> tuple[Slot, ...]:
    """Return slots that were written by `slots_as_json`."""
    return tuple(Slot(**each) for each in found)


def context_sides(counts: Cooccurrence) -> tuple[sparse.csr_array, ...]:
    """Return one matrix of words × words for each kind of context.

    A directed slot has two kinds, in this order: words after the word (R), and words before it
    (Rᵀ). A symmetric slot has one.
    """
    sides: list[sparse.csr_array] = []
    for slot, pairs in zip(counts.slots, counts.matrices, strict=True):
        sides.append(matrix := pairs.tocsr())
        if slot.directed:
            sides.append(transpose(matrix))
    return tuple(sides)


def mirrored(sides: Sequence[Side], slots: Sequence[Slot]) -> tuple[Side, ...]:
    """Return the sides as seen from the contexts: before and after are swapped."""
    found: list[Side] = []
    for slot in slots:
        found += reversed(sides[len(found) : len(found) + slot.contexts])
    return tuple(found)


def context_matrix(counts: Cooccurrence) -> sparse.csr_array:
    """Return how often each word occurs in each context: words × contexts.

    With K contexts per word, column K·j + k is context k of word j, so that the contexts of
    frequent words come first. A directed slot gives two contexts, in this order: j comes after the
    word (R), and j comes before it (Rᵀ); a symmetric slot gives one.

    >>> from qwem import Cooccurrence, Corpus
    >>> counts = Cooccurrence.count(Corpus.from_documents(["a b"]), window=1)
    >>> context_matrix(counts).toarray().tolist()  # a has b on its right, b has a on its left
    [[0, 0, 1, 0], [0, 1, 0, 0]]
    """
    sides = context_sides(counts)
    size, width = len(counts.vocabulary), len(sides)
    spread = (
        sparse.csr_array(
            (side.data, side.indices * width + kind, side.indptr), shape=(size, width * size)
        )
        for kind, side in enumerate(sides)
    )
    return reduce(add, spread)


def window_kinds(slots: Sequence[Slot]) -> list[int]:
    """Return the numbers of those kinds of context that are part of the window."""
    kinds = [slot for slot in slots for _ in range(slot.contexts)]
    return [number for number, slot in enumerate(kinds) if not slot.whole_text]


def acceptance(word_counts: NDArray[Any], subsample: float) -> NDArray[np.float64]:
    """Return the probability min(1, √(t/f) + t/f) with which word2vec keeps each word.

    Here t is `subsample` and f a word's share of all `word_counts`. For a word that never occurs
    the probability is 1.

    >>> acceptance(np.array([96, 4]), 0.01).round(3).tolist()
    [0.112, 0.75]
    """
    if not (np.isfinite(subsample) and subsample > 0):
        raise SettingError(f"subsample must be a positive number, such as 1e-3, not {subsample}.")
    unlimited = np.full(len(word_counts), np.inf)
    scaled = subsample * word_counts.sum()
    ratio = np.divide(scaled, word_counts, out=unlimited, where=word_counts > 0)
    return np.minimum(1.0, np.sqrt(ratio) + ratio)


@dataclass(frozen=True)
class Subsampling:
    """Random choice of the tokens to keep, repeated `draws` times.

    Whether a token is kept depends only on its word, the seed, the draw, the number of its document
    and its position in that document.
    """

    subsample: float
    seed: int
    draws: int

    def keep_limits(self, word_counts: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return how many of 2⁵³ equally likely outcomes keep each word."""
        return (acceptance(word_counts, self.subsample) * 2.0**53).astype(np.uint64)

    def key(self, draw: int) -> np.uint64:
        """Return the key from which one draw's choices are derived."""
        from qwem._internal.kernels import mix

        with np.errstate(over="ignore"):
            return np.uint64(mix(np.uint64(self.seed) + mix(np.uint64(draw))))


def recorded_subsampling(
    vocabulary: Vocabulary, sources: Sequence[dict[str, Any]]
) -> tuple[float | None, NDArray[np.int64]]:
    """Return the threshold of subsampling, or None, and the frequencies of words before it.

    Both are derived from the counts of the words and the recorded `sources`.
    """
    subsampled = [source for source in sources if "subsample" in source]
    if not subsampled:
        return None, vocabulary.counts
    before, words = _before_subsampling(vocabulary.counts, subsampled), subsampled[0]["words"]
    # Words are subsampled by their probabilities in the whole text, including uncounted words.
    frequencies = np.rint(before * words / before.sum()).astype(np.int64)
    return subsampled[0]["subsample"], frequencies


def original_vocabulary(counts: Cooccurrence) -> Vocabulary:
    """Return the words of counts, with their frequencies before subsampling.

    Each frequency is an estimate. Their sum is exact if the counts record the length of the texts.
    """
    subsampled = [source for source in counts.sources if "subsample" in source]
    if not subsampled:
        return counts.vocabulary
    before = _before_subsampling(counts.word_counts, subsampled)
    if all("length" in source for source in counts.sources):
        length = sum(source.get("sign", 1) * source["length"] for source in counts.sources)
        before *= length / before.sum()
        before = np.rint(before)
        before[0] += length - before.sum()
    return Vocabulary(counts.vocabulary.words, np.rint(before).astype(np.int64))


def _before_subsampling(
    counts: NDArray[np.int64], subsampled: Sequence[dict[str, Any]]
) -> NDArray[np.float64]:
    """Estimate how often words occurred before subsampling.

    Of n occurrences of a frequent word among N, √(tNn) + tN are kept on average.
    """
    draws = sum(source["draws"] for source in subsampled) / len(subsampled)
    scaled = subsampled[0]["subsample"] * subsampled[0]["words"]
    left = counts / draws
    full = np.where(left > scaled, (left - scaled) ** 2 / scaled, left)
    return np.maximum(full, left)


KIND = "usage"
KEPT = 10
"""The number of words kept on each side of a word."""

_ARRAYS = "usage.safetensors"
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class Usage:
    """How often each word occurs, and its collocates: words it occurs with more than by chance.

    >>> from qwem import Cooccurrence, Corpus
    >>> corpus = Corpus.from_documents(["new york", "in new york"] * 9)
    >>> counts = Cooccurrence.count(corpus, window=1)
    >>> usage = Usage.of(counts, counts.word_counts)
    >>> usage.beside(counts.vocabulary.index("york"), "before")
    [(0, 1.5)]
    """

    frequencies: NDArray[np.int64]
    """How often each word occurs in the text."""
    words: NDArray[np.int32] = field(repr=False)
    """For each word, the indices of `KEPT` words before it and as many after it; −1 for none."""
    ratios: NDArray[np.float32] = field(repr=False)
    """The count of each of these pairs, divided by the count expected by chance."""
    directed: bool = True
    """Whether the counts distinguish left from right; otherwise both sides are the same."""

    @classmethod
    def of(cls, counts: Cooccurrence, frequencies: Array, *, collocates: bool = True) -> Usage:
        """Return the usage of words in a text, from its counts.

        Pairs are ordered by O ln(O/E), the main term of the log-likelihood ratio (Dunning 1993),
        where O is the count and E the count expected by chance. The counts are those of the
        directed slots, such as adjacent words, or of the whole window if no slot is directed,
        weighted by distance. Without `collocates` only frequencies are kept.
        """
        from qwem.cooccurrence.kernels import keep_best

        size = len(counts.vocabulary)
        if not collocates:
            none = np.empty((size, 2, 0), dtype=np.int32)
            return cls(np.asarray(frequencies, np.int64), none, none.astype(np.float32))
        directed = any(slot.directed for slot in counts.slots)
        ordered = zip(counts.slots, counts.matrices, strict=True)
        matrices = tuple(matrix for slot, matrix in ordered if slot.directed)
        matrices = matrices if directed else (counts.symmetric,)
        left, right = (
            np.sum([getattr(matrix, f"{side}_sums") for matrix in matrices], axis=0, dtype=float)
            for side in ("row", "column" if directed else "row")
        )
        scores = np.zeros((size, 2, KEPT), dtype=np.float32)
        words = np.full((size, 2, KEPT), -1, dtype=np.int32)
        ratios = np.zeros((size, 2, KEPT), dtype=np.float32)
        stored = np.sum([lengths_of(matrix.matrix) for matrix in matrices], axis=0)
        for first, last in cut_to_size(ends_of(stored), _BLOCK_ENTRIES):
            rows = reduce(add, (Rows.of(each.matrix, first, last) for each in matrices)).tocsr(size)
            keep_best(
                first, rows.indptr, rows.indices, rows.data.astype(np.float64),
                left, right, max(float(left.sum()), 1.0), scores, words, ratios,
            )  # fmt: skip
        return cls(np.asarray(frequencies, np.int64), words, ratios, directed)

    def beside(self, word: int, side: Literal["before", "after"]) -> list[tuple[int, float]]:
        """Return the words before or after a word, the strongest first, each with its ratio."""
        place = 0 if side == "before" else 1
        pairs = zip(self.words[word, place], self.ratios[word, place], strict=True)
        return [(int(other), float(ratio)) for other, ratio in pairs if other >= 0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the usage to a directory."""
        with artefact.writing(path, KIND) as directory:
            arrays = {name: getattr(self, name) for name in ("frequencies", "words", "ratios")}
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_metadata(directory, KIND, {"directed": self.directed})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Usage:
        """Read a usage written by `save`."""

        def build(saved: artefact.Saved) -> Usage:
            arrays = saved.arrays(_ARRAYS)
            artefact.require_shapes(arrays, frequencies="w", words="w2k", ratios="w2k")
            return cls(**arrays, directed=saved.metadata["directed"])

        return artefact.load(path, KIND, build)
