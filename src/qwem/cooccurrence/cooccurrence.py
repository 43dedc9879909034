"""`Cooccurrence`: exact counts of words and of pairs of words."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.results import listed
from qwem.cooccurrence._rows import too_large
from qwem.cooccurrence.contexts import (
    Slot,
    slots_as_json,
    slots_from_json,
    sum_of_weights,
    window_slots,
    window_weights,
)
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.passages import Passages, passage_weight
from qwem.corpus.vocabulary import Vocabulary, frequency_order
from qwem.errors import CountError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy import sparse

    from qwem.corpus import Corpus

KIND = "cooccurrence"
ARRAYS = "counts.safetensors"
WORDS = "words.txt"


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Exact integer counts of words, and of pairs of words weighted by distance, in slots.

    The same corpus gives the same bits for any number of threads, chunks or parts, and sums and
    differences are exact. Rows and columns are in the order of the vocabulary.

    >>> from qwem import Corpus
    >>> counts = Cooccurrence.count(Corpus.from_documents(["a b a c"]), window=2)
    >>> counts["a", "b"], counts["a", "c"], counts["b", "c"]
    (4, 2, 1)
    >>> dict(zip(counts.vocabulary, counts.after("b").tolist()))
    {'a': 2, 'b': 0, 'c': 1}
    """

    vocabulary: Vocabulary
    """The words, in the order of the corpus, and how often each was counted here. In a part of a
    corpus, or after subsampling, that is less often than in the corpus."""
    matrices: tuple[PairCounts, ...]
    """One matrix per slot. Row i counts the words after word i if the slot is directed, and the
    words on both sides of it if the slot is symmetric."""
    slots: tuple[Slot, ...] = (Slot(None, directed=False),)
    """The distances that each matrix counts, and the weight of a pair at each."""
    sources: tuple[dict[str, Any], ...] = field(default=())
    """What was counted and how: one entry for each part added (or, with sign −1, subtracted)."""
    passages: Passages | None = None
    """How often words occur in each passage, if that was counted: contexts of `polish` in addition
    to those of the window."""

    def __post_init__(self) -> None:
        size = len(self.vocabulary)
        if not self.slots or len(self.slots) != len(self.matrices):
            raise CountError(f"{len(self.slots)} slots don't fit {len(self.matrices)} matrices.")
        for matrix in self.matrices:
            if matrix.shape != (size, size):
                raise CountError(f"{size:,} words don't fit a matrix of {matrix.shape}.")

    @classmethod
    def count(
        cls,
        corpus: Corpus,
        window: int = 16,
        weights: str | Sequence[int] = "dynamic",
        *,
        slots: str | Sequence[Slot | Sequence[int]] = "sides",
        passages: int | None = None,
        subsample: float | None = None,
        seed: int = 0,
        draws: int = 1,
    ) -> Cooccurrence:
        """Count the pairs of words at most `window` apart.

        Windows never cross a document's end.

        Parameters
        ----------
        corpus
            The text to count.
        window
            The number of words on each side of a word (the paper's L is twice that).
        weights
            The weight of a pair at distance j: ``"dynamic"``, window + 1 − j (in proportion to how
            often word2vec's windows of random size contain it); ``"flat"``, 1; or a weight for each
            distance.
        slots
            Which pairs are counted separately. ``"sides"``: words to the left and words to the
            right. ``"near-far"``: the same, with adjacent words separate from the others.
            ``"adjacent"``: the word to the left, the word to the right, and all others.
            ``"bigrams"``: the word to the left and the word to the right before subsampling, and
            all words of the window.
            ``"symmetric"``: all pairs together. Or slots of your own, each a `Slot`, or its weights
            by distance, such as ``[(1,), (0, 1)]`` for words at distance 1 and words at distance 2
            (then `window` and `weights` are not used).
        passages
            The number of words in a passage, such as 100: count words by passage too, with a tenth
            of the weight of their windows. See `qwem.cooccurrence.passages`.
        subsample
            word2vec's threshold t for frequent words, such as 1e-3: a word of relative frequency f
            is kept with probability min(1, √(t/f) + t/f). The neighbours of a dropped word move
            together.
        seed, draws
            Subsampling is random, but whether a token is kept depends only on the seed, its
            document and its position. The counts of `draws` such subsamples are added.

        >>> from qwem import Corpus
        >>> Cooccurrence.count(Corpus.from_documents(["to be or not to be"]), window=5)["to", "be"]
        14
        """
        from qwem.cooccurrence._counting import count_pairs
        from qwem.cooccurrence.contexts import Subsampling

        counted = window_slots(window, weights, slots)
        subsampling = None
        if subsample is not None:
            if not 0 < subsample < 1:
                raise SettingError(f"subsample must lie between 0 and 1, not be {subsample}.")
            subsampling = Subsampling(subsample, seed, draws)
        if draws < 1 or (draws > 1 and subsampling is None):
            raise SettingError(
                "`draws`, the number of subsamples, must be at least 1, and 1 without `subsample`, "
                f"not {draws}."
            )
        if not 0 <= seed < 2**63:
            raise SettingError(f"seed must be a non-negative 63-bit integer, not {seed}.")
        pairs, words, length = count_pairs(corpus, counted, subsampling)
        source: dict[str, Any] = {
            "corpus": corpus.fingerprint,
            "documents": [corpus.first_document, corpus.first_document + len(corpus)],
            "length": length,
        }
        if subsampling:
            words_read = int(corpus.vocabulary.counts.sum())
            source |= {"subsample": subsample, "seed": seed, "draws": draws, "words": words_read}
        by_passage = None
        if passages is not None:
            source["passages"] = passages
            by_passage = Passages.count(corpus, passages, passage_weight(counted), subsampling)
        vocabulary = Vocabulary(corpus.vocabulary.words, words)
        return cls(vocabulary, pairs, counted, (source,), by_passage)

    @classmethod
    def from_matrix(
        cls,
        words: Sequence[str],
        counts: ArrayLike | sparse.sparray | sparse.spmatrix,
        word_counts: ArrayLike | None = None,
        *,
        weights: Sequence[int] | None = None,
        directed: bool = False,
    ) -> Cooccurrence:
        """Return your own counts, given as a matrix of integers, dense or SciPy sparse.

        The matrix is symmetric or, if `directed`, row i says how often each word comes after word
        i. Words, rows and columns are sorted by frequency. Without `word_counts`, a word's count is
        the sum of its row (and column, if directed).

        >>> Cooccurrence.from_matrix(["cat", "dog"], [[0, 3], [3, 2]]).vocabulary.words
        ('dog', 'cat')
        >>> Cooccurrence.from_matrix(["a", "cat"], [[0, 3], [0, 0]], directed=True).before("cat")
        array([3, 0], dtype=uint64)
        """
        pairs = PairCounts.from_matrix(counts, symmetric=not directed)
        if pairs.shape[0] != len(words):
            raise CountError(f"{len(words):,} words don't fit a matrix of {pairs.shape}.")
        occurrences = _whole_numbers(
            _around(pairs, directed) if word_counts is None else np.asarray(word_counts)
        )
        if occurrences.shape != (len(words),):
            raise CountError(f"{len(words):,} words need as many word counts.")
        by_distance = None if weights is None else window_weights(len(weights), weights)
        slots = (Slot(by_distance, directed),)
        given = cls(Vocabulary(tuple(words), occurrences), (pairs,), slots, ({"matrix": True},))
        return given.reindex([words[i] for i in frequency_order(words, occurrences)])

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """How often each word was counted."""
        return self.vocabulary.counts

    @property
    def weights(self) -> tuple[int, ...] | None:
        """The weight of a pair by its distance in the window; None if unknown."""
        return sum_of_weights(self.slots)

    @property
    def window(self) -> int | None:
        """The number of words on each side of a word; None if unknown."""
        return None if self.weights is None else len(self.weights)

    @cached_property
    def symmetric(self) -> PairCounts:
        """How often two words occur together in the window: its slots and transposes added."""
        total: dict[bool, PairCounts] = {}
        for slot, matrix in self._window():
            known = total.get(slot.directed)
            total[slot.directed] = matrix if known is None else known + matrix
        if True not in total:
            return total[False]
        both = total.pop(True).symmetrized()
        return both + total[False] if total else both

    @property
    def contexts_per_word(self) -> int:
        """The number of contexts per word: two per directed slot, one per symmetric slot."""
        return sum(slot.contexts for slot in self.slots)

    @cached_property
    def pair_sums(self) -> NDArray[np.uint64]:
        """The number of pairs with each word, in all slots."""
        sums = np.zeros(len(self.vocabulary), np.uint64)
        for slot, matrix in zip(self.slots, self.matrices, strict=True):
            sums += _around(matrix, slot.directed)
        return sums

    def after(self, word: str) -> NDArray[np.uint64]:
        """Return how often each word comes after `word`, in the directed slots."""
        return self._beside(word, 0)

    def before(self, word: str) -> NDArray[np.uint64]:
        """Return how often each word comes before `word`, in the directed slots."""
        return self._beside(word, 1)

    def _beside(self, word: str, axis: int) -> NDArray[np.uint64]:
        place = self.vocabulary.index(word)
        if not any(slot.directed for slot in self.slots):
            raise CountError(
                "These counts don't tell what comes before a word from what comes after it; count "
                'with slots="sides".'
            )
        found = np.zeros(len(self.vocabulary), np.uint64)
        for slot, pairs in zip(self.slots, self.matrices, strict=True):
            if slot.directed:
                found += pairs.row(place) if axis == 0 else pairs.column(place)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the words and all counts: equal counts have equal fingerprints."""
        digest = hashlib.sha256("\n".join(self.vocabulary.words).encode("utf-8", "surrogatepass"))
        digest.update(repr(self.slots).encode())
        if self.passages is not None:
            digest.update(repr(self.passages).encode())
        for name, array in self._arrays().items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __getitem__(self, pair: tuple[str, str]) -> int:
        i, j = map(self.vocabulary.index, pair)
        return sum(
            matrix[i, j] + (matrix[j, i] if slot.directed else 0) for slot, matrix in self._window()
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cooccurrence):
            return NotImplemented
        return (
            self.vocabulary == other.vocabulary
            and self.slots == other.slots
            and self.matrices == other.matrices
            and self.passages == other.passages
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        window = "unknown" if self.window is None else self.window
        matrices = ", ".join(map(repr, self.matrices))
        passages = "" if self.passages is None else f", {len(self.passages):,} passages"
        return f"Cooccurrence({self.vocabulary!r}, {matrices}, window {window}{passages})"

    def __add__(self, other: Cooccurrence) -> Cooccurrence:
        """Return the sum of both counts; they need the same words in the same order."""
        self._require_same_slots(other, "added")
        if self.vocabulary.words != other.vocabulary.words:
            raise CountError(
                f"Counts of different vocabularies ({len(self.vocabulary):,} and "
                f"{len(other.vocabulary):,} words) can't be added; Cooccurrence.merge aligns them."
            )
        return self.merge([self, other])

    def __sub__(self, other: Cooccurrence) -> Cooccurrence:
        """Return the counts less a part of them, whose words may be in another order."""
        self._require_same_slots(other, "subtracted")
        if other.vocabulary.words != self.vocabulary.words:
            unknown = [
                word
                for word, often in zip(other.vocabulary, other.word_counts, strict=True)
                if often and word not in self.vocabulary
            ]
            if unknown:
                raise CountError(
                    f"The counts to subtract are not a part of these, which don't have the words "
                    f"{listed(unknown, 3)}."
                )
            other = other.reindex(self.vocabulary.words)
        if np.any(other.word_counts > self.word_counts):
            raise CountError("The counts to subtract are not a part of these: some are larger.")
        return replace(
            self,
            vocabulary=Vocabulary(self.vocabulary.words, self.word_counts - other.word_counts),
            matrices=tuple(a - b for a, b in zip(self.matrices, other.matrices, strict=True)),
            passages=_changed(self.passages, lambda own: own - other.passages),
            sources=self.sources
            + tuple({**source, "sign": -source.get("sign", 1)} for source in other.sources),
        )

    def __mul__(self, times: int) -> Cooccurrence:
        """Return all counts multiplied by `times`, as if the text were repeated."""
        matrices = tuple(matrix * times for matrix in self.matrices)
        if sum(self.word_counts.tolist()) * times >= 2**63:
            raise too_large()
        return replace(
            self,
            vocabulary=Vocabulary(self.vocabulary.words, self.word_counts * times),
            matrices=matrices,
            passages=_changed(self.passages, lambda own: own * times),
        )

    def restrict(self, vocab_size: int) -> Cooccurrence:
        """Return the counts among the `vocab_size` most frequent words, without counting again.

        Windows are those of the larger vocabulary: words left out still take up their places.
        """
        return replace(
            self,
            vocabulary=self.vocabulary.restrict(vocab_size),
            matrices=tuple(matrix.restrict(vocab_size) for matrix in self.matrices),
            passages=_changed(self.passages, lambda own: own.restrict(vocab_size)),
        )

    def reindex(self, words: Sequence[str]) -> Cooccurrence:
        """Return the counts of these words, in this order.

        Words without counts here get zeros. Words left out still take up their places in windows.

        >>> counts = Cooccurrence.from_matrix(["a", "b"], [[1, 3], [3, 0]])
        >>> counts.reindex(["b", "new", "a"]).symmetric.toarray().tolist()
        [[0, 0, 3], [0, 0, 0], [3, 0, 1]]
        """
        if tuple(words) == self.vocabulary.words:
            return self
        if not words:
            raise CountError("No word is given to take the counts of; give at least one.")
        occurrences = np.zeros(len(words), np.int64)
        places = _places(self.vocabulary, Vocabulary(tuple(words), occurrences))
        occurrences[places[places >= 0]] = self.word_counts[places >= 0]
        return replace(
            self,
            vocabulary=Vocabulary(tuple(words), occurrences),
            matrices=tuple(matrix.reindex(places, len(words)) for matrix in self.matrices),
            passages=_changed(self.passages, lambda own: own.reindex(places, len(words))),
        )

    @classmethod
    def merge(
        cls,
        parts: Iterable[Cooccurrence | str | os.PathLike[str]],
    ) -> Cooccurrence:
        """Add counts. If their words differ, the result has all words, in order of frequency.

        Saved counts, given by path, are read one block of rows at a time, so that only the sum
        needs to fit in memory.

        >>> a = Cooccurrence.from_matrix(["x", "y"], [[0, 1], [1, 0]])
        >>> b = Cooccurrence.from_matrix(["z", "y"], [[0, 5], [5, 0]])
        >>> Cooccurrence.merge([a, b]).vocabulary.words
        ('y', 'z', 'x')
        """
        counts = [part if isinstance(part, Cooccurrence) else cls._mapped(part) for part in parts]
        if not counts:
            raise CountError("There is nothing to merge.")
        first, *others = counts
        for part in others:
            first._require_same_slots(part, "merged")
        places: list[NDArray[np.int64] | None] = [None] * len(counts)
        if all(part.vocabulary.words == first.vocabulary.words for part in others):
            occurrences = _sum_of_words([part.word_counts for part in counts])
            vocabulary = Vocabulary(first.vocabulary.words, occurrences)
        else:
            often: Counter[str] = Counter()
            for part in counts:
                often.update(part.vocabulary.frequencies)
            if sum(often.values()) >= 2**63:
                raise too_large()
            vocabulary = Vocabulary.from_counts(often)
            places = [_places(part.vocabulary, vocabulary) for part in counts]
        matrices = tuple(
            PairCounts.sum(slot, places, len(vocabulary))
            for slot in zip(*(part.matrices for part in counts), strict=True)
        )
        sources = tuple(source for part in counts for source in part.sources)
        own = [part.passages for part in counts if part.passages is not None]
        passages = Passages.sum(own, places, len(vocabulary)) if own else None
        return cls(vocabulary, matrices, first.slots, sources, passages)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a directory."""
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(directory / ARRAYS, self._arrays())
            artefact.write_words(directory / WORDS, self.vocabulary.words)
            metadata = {
                "vocab_size": len(self.vocabulary),
                "slots": slots_as_json(self.slots),
                "sources": list(self.sources),
            }
            if self.passages is not None:
                metadata["passages"] = self.passages.settings
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cooccurrence:
        """Read counts written by `save`."""
        return artefact.load(path, KIND, lambda saved: cls._of(saved, saved.arrays(ARRAYS)))

    @classmethod
    def _mapped(cls, path: str | os.PathLike[str]) -> Cooccurrence:
        """Return saved counts with their pairs as memory maps."""
        return artefact.load(path, KIND, lambda saved: cls._of(saved, saved.mapped_arrays(ARRAYS)))

    @classmethod
    def _of(cls, saved: artefact.Saved, arrays: Mapping[str, NDArray[Any]]) -> Cooccurrence:
        words, slots = saved.words(WORDS), slots_from_json(saved.metadata["slots"])
        passages = None
        if "passages" in saved.metadata:
            passages = Passages.read(arrays, "passages", len(words), **saved.metadata["passages"])
        return cls(
            Vocabulary(words, arrays["word_counts"]),
            tuple(PairCounts.read(arrays, f"pairs.{k}", len(words)) for k in range(len(slots))),
            slots,
            tuple(saved.metadata["sources"]),
            passages,
        )

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"word_counts": self.word_counts}
        for number, pairs in enumerate(self.matrices):
            arrays |= pairs.arrays(f"pairs.{number}")
        if self.passages is not None:
            arrays |= self.passages.arrays("passages")
        return arrays

    def _window(self) -> list[tuple[Slot, PairCounts]]:
        """Return the slots of the window, and their counts."""
        pairs = zip(self.slots, self.matrices, strict=True)
        return [(slot, matrix) for slot, matrix in pairs if not slot.whole_text]

    def _require_same_slots(self, other: Cooccurrence, verb: str) -> None:
        """Refuse counts of other slots; `verb` is for the message, such as "added"."""
        if (self.passages is None) != (other.passages is None):
            raise CountError(
                f"Counts with passages and without can't be {verb}; count both with the same "
                "`passages`."
            )
        if self.slots != other.slots:
            raise CountError(
                f"Counts of different windows can't be {verb}: they are of "
                f"{' and '.join(map(str, self.slots))}, and of "
                f"{' and '.join(map(str, other.slots))}; count both with the same window and slots."
            )


def _changed(passages: Passages | None, change: Callable[[Any], Passages]) -> Passages | None:
    """Return the passages after a change, if there are passages."""
    return None if passages is None else change(passages)


def _around(pairs: PairCounts, directed: bool) -> NDArray[np.uint64]:
    """Return the number of pairs with each word, on either side."""
    return pairs.row_sums + pairs.column_sums if directed else pairs.row_sums


def _places(words: Vocabulary, vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Return the index of each word in another vocabulary, or −1 if it is not there."""
    found = (vocabulary.get(word) for word in words)
    return np.array([-1 if place is None else place for place in found], dtype=np.int64)


def _sum_of_words(counts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of word counts, which must stay below 2⁶³."""
    if sum(float(each.sum(dtype=np.float64)) for each in counts) >= 2.0**63:
        raise too_large()
    return np.sum(counts, axis=0, dtype=np.int64)


def _whole_numbers(values: NDArray[Any]) -> NDArray[np.int64]:
    numbers = values.astype(np.int64)
    if np.any(numbers != values) or np.any(numbers < 0):
        raise CountError("Word counts must be non-negative whole numbers.")
    return numbers
