"""Slots of distances, subsampling of tokens, and estimates of the number of pairs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from qwem._internal.arrays import blocks, stored_blocks
from qwem._internal.resources import available_memory
from qwem._internal.settings import require_whole
from qwem.corpus import Corpus
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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


def window_kinds(slots: Sequence[Slot]) -> list[int]:
    """Return the numbers of those kinds of context that are part of the window."""
    kinds = [slot for slot in slots for _ in range(slot.contexts)]
    return [number for number, slot in enumerate(kinds) if not slot.whole_text]


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


SAMPLE_SHARE, SAMPLE_TOKENS = 1 / 32, 1 << 22
"""The share of a text that is counted for an estimate, and the least number of tokens."""
# The least number of blocks in a sample, and the least and largest size of a block in tokens.
_BLOCKS, _LEAST_BLOCK, _MOST_BLOCK = 64, 1 << 8, 1 << 14
_BYTES_PER_MEETING = 24  # memory for a sample, per token and position in the window

_estimates: WeakKeyDictionary[Corpus, dict[Any, NDArray[np.float64]]] = WeakKeyDictionary()


def expected_pairs(occurrences: NDArray[Any], reach: int) -> NDArray[np.float64]:
    """Estimate how many different words each word occurs with if words are in random order.

    In real text words cluster by topic and fewer pairs occur, so this is an upper estimate. Words
    are grouped by frequency, in eight classes per octave.
    """
    expected = np.zeros(len(occurrences))
    present = occurrences > 0
    if not present.any():
        return expected
    often = occurrences[present]
    _, classes = np.unique(np.round(8 * np.log2(often)), return_inverse=True)
    sizes = np.bincount(classes)
    means = np.bincount(classes, weights=often) / sizes
    meetings = reach * np.outer(means, means) / often.sum()
    expected[present] = (-np.expm1(-meetings) @ sizes)[classes]
    return expected


def sampled_pairs(
    corpus: Corpus,
    slots: Sequence[Slot],
    subsampling: Subsampling | None = None,
) -> NDArray[np.float64]:
    """Estimate the number of different ordered pairs among the first n words, for n = 0, 1, ….

    A random sample of the text is counted, and half of it. The number of pairs grows as a power of
    the length of the text (Heaps' law), with an exponent that falls as the text grows. The exponent
    from the half to the sample is used for the rest too, so the estimate tends to be too large.
    """
    known = _estimates.setdefault(corpus, {})
    key = tuple(slots), subsampling
    if key not in known:
        known[key] = _sampled_pairs(corpus, slots, subsampling)
    return known[key]


def _sampled_pairs(
    corpus: Corpus,
    slots: Sequence[Slot],
    subsampling: Subsampling | None,
) -> NDArray[np.float64]:
    from qwem.cooccurrence._counting import count_pairs

    reach = sum(2 * len(slot.weights or ()) for slot in slots)
    most = available_memory() // (reach * _BYTES_PER_MEETING)
    size = min(max(SAMPLE_TOKENS, int(SAMPLE_SHARE * corpus.tokens.size)), most)
    each = min(max(size // _BLOCKS, _LEAST_BLOCK), _MOST_BLOCK)
    parts = blocks(corpus.tokens.size, most=each)
    order = np.random.default_rng(0).permutation(len(parts))
    found, tokens = [], []
    for share in (size // 2, size):
        chosen = np.sort(order[: max(1, share // each)])
        sample = _sample(corpus, [parts[number] for number in chosen])
        counts = count_pairs(sample, slots, subsampling, rough=True)
        found.append(np.sum([_pairs_by_words(pairs.tocsr()) for pairs in counts.pairs], axis=0))
        tokens.append(sample.tokens.size)
    half, whole = found
    if tokens[1] <= tokens[0]:
        return whole
    growth = np.log(np.maximum(whole, 1) / np.maximum(half, 1)) / np.log(tokens[1] / tokens[0])
    estimate = whole * (corpus.tokens.size / tokens[1]) ** growth.clip(0, 1)
    return np.minimum(estimate, len(slots) * np.arange(len(whole), dtype=np.float64) ** 2)


def _sample(corpus: Corpus, parts: Sequence[slice]) -> Corpus:
    """Return parts of a corpus, each beginning with a new document."""
    offsets, total = [], 0
    for part in parts:
        first, last = np.searchsorted(corpus.offsets, (part.start + 1, part.stop))
        begun = corpus.offsets[first:last] - part.start
        offsets.append(total + np.concatenate(([0], begun)))
        total += part.stop - part.start
    tokens = np.concatenate([np.asarray(corpus.tokens[part]) for part in parts])
    return Corpus(tokens, np.concatenate([*offsets, [total]]), corpus.vocabulary, corpus.settings)


def _pairs_by_words(counts: Any) -> NDArray[np.float64]:
    """Return the number of ordered pairs among the first n words, for n = 0, 1, …."""
    indptr, found = counts.indptr, np.zeros(counts.shape[0] + 1)
    for rows in stored_blocks(indptr):
        sizes = np.diff(indptr[rows.start : rows.stop + 1])
        own = np.repeat(np.arange(rows.start, rows.stop), sizes)
        columns = counts.indices[indptr[rows.start] : indptr[rows.stop]]
        found[1:] += np.bincount(np.maximum(own, columns), minlength=counts.shape[0])
    return found.cumsum()
