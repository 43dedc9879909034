"""Cooccurrence: how often words meet, the result of the co-occurrence room."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import check_csr
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.slots import (
    Slot,
    slots_as_json,
    slots_from_json,
    sum_of_weights,
    window_slots,
    window_weights,
)
from qwem.corpus.vocabulary import Vocabulary, frequency_order
from qwem.errors import CountError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from qwem.corpus import Corpus

KIND = "cooccurrence"
ARRAYS = "counts.safetensors"
WORDS = "words.txt"


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Weighted counts of pairs of words in slots of distances, and word counts: integers, exact.

    The same corpus gives the same bits whatever the number of threads, chunks or parts, and sums
    and differences are exact. Words stand in the order of their vocabulary.

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
    """One matrix per slot. Row i of a directed one counts what comes after word i; a symmetric one
    counts what stands around it."""
    slots: tuple[Slot, ...] = (Slot(None, directed=False),)
    """Which distances each matrix counts, and what a pair counts for."""
    sources: tuple[dict[str, Any], ...] = field(default=())
    """What was counted and how: one entry for each part added (or, with sign −1, subtracted)."""

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
        subsample: float | None = None,
        seed: int = 0,
        draws: int = 1,
        threads: int | None = None,
    ) -> Cooccurrence:
        """Count the pairs of words at most `window` apart.

        Windows never cross a document's end.

        Parameters
        ----------
        corpus
            What to count.
        window
            How far a window reaches to either side (the paper's L is twice that).
        weights
            What a pair at distance j counts for: ``"dynamic"``, window + 1 − j (in proportion to
            how often word2vec's windows of random size contain it); ``"flat"``, 1; or a weight for
            each distance.
        slots
            Which pairs are counted apart: ``"sides"``, those to the left of a word and those to its
            right; ``"near-far"``, adjacent words apart from the others too; ``"symmetric"``, none;
            or slots of your own, each a `Slot`, or its weights by distance, such as ``[(1,), (0,
            1)]`` for the words next to a word and those after them (`window` and `weights` are not
            used then).
        subsample
            word2vec's threshold t for frequent words, such as 1e-3: a word of relative frequency f
            is kept with probability min(1, √(t/f) + t/f), and windows close over what is dropped.
        seed, draws
            Subsampling is random, but whether a token is kept depends only on the seed, its
            document and its position; `draws` such subsamples are added up.
        threads
            How many to use; all cores by default.

        >>> from qwem import Corpus
        >>> Cooccurrence.count(Corpus.from_documents(["to be or not to be"]), window=5)["to", "be"]
        14
        """
        from qwem.cooccurrence.counting import count_pairs
        from qwem.cooccurrence.subsampling import Subsampling

        counted = window_slots(window, weights, slots)
        subsampling = None
        if subsample is not None:
            if not 0 < subsample < 1:
                raise SettingError(f"subsample must lie between 0 and 1, not be {subsample}.")
            subsampling = Subsampling(subsample, seed, draws)
        if draws < 1 or (draws > 1 and subsampling is None):
            raise SettingError(
                f"`draws` counts subsamples: {draws} of them need `subsample`, and at least one."
            )
        if not 0 <= seed < 2**63:
            raise SettingError(f"seed must be a non-negative 63-bit integer, not {seed}.")
        pairs, words, length = count_pairs(corpus, counted, subsampling, threads)
        source: dict[str, Any] = {
            "corpus": corpus.fingerprint,
            "documents": [corpus.first_document, corpus.first_document + len(corpus)],
            "length": length,
        }
        if subsampling:
            words_read = int(corpus.vocabulary.counts.sum())
            source |= {"subsample": subsample, "seed": seed, "draws": draws, "words": words_read}
        return cls(Vocabulary(corpus.vocabulary.words, words), pairs, counted, (source,))

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
        """Take your own counts: a matrix of integers, dense or SciPy sparse.

        It is symmetric or, if `directed`, has in row i how often each word comes after word i.
        Words are put in order of frequency, their rows and columns with them. Without
        `word_counts`, a word's count is the sum of its row (and column, if directed).

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
        order = frequency_order(words, occurrences)
        if not np.array_equal(order, np.arange(len(words))):
            matrix = pairs.matrix
            ordered = (
                matrix[np.ix_(order, order)]
                if isinstance(matrix, np.ndarray)
                else matrix[order][:, order]
            )
            pairs = PairCounts.from_exact(ordered)
        vocabulary = Vocabulary(tuple(words[i] for i in order), occurrences[order])
        by_distance = None if weights is None else window_weights(len(weights), weights)
        return cls(vocabulary, (pairs,), (Slot(by_distance, directed),), ({"matrix": True},))

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """How often each word was counted."""
        return self.vocabulary.counts

    @property
    def weights(self) -> tuple[int, ...] | None:
        """The weight of a pair by its distance, in all slots together; None where unknown."""
        return sum_of_weights(self.slots)

    @property
    def window(self) -> int | None:
        """How far a window reaches to either side; None where unknown."""
        return None if self.weights is None else len(self.weights)

    @cached_property
    def symmetric(self) -> PairCounts:
        """How often each two words meet, in either order: the sum of all slots and transposes."""
        total: dict[bool, PairCounts] = {}
        for slot, matrix in zip(self.slots, self.matrices, strict=True):
            known = total.get(slot.directed)
            total[slot.directed] = matrix if known is None else known + matrix
        if True not in total:
            return total[False]
        both = total.pop(True).symmetrized()
        return both + total[False] if total else both

    @property
    def pair_sums(self) -> NDArray[np.uint64]:
        """How many pairs each word is in: the row sums of `symmetric`, without making it."""
        sums = np.zeros(len(self.vocabulary), np.uint64)
        for slot, matrix in zip(self.slots, self.matrices, strict=True):
            sums += _around(matrix, slot.directed)
        return sums

    def after(self, word: str) -> NDArray[np.uint64]:
        """Return how often each word of the vocabulary comes after `word`, in all slots."""
        return self._beside(word, 0)

    def before(self, word: str) -> NDArray[np.uint64]:
        """Return how often each word of the vocabulary comes before `word`, in all slots."""
        return self._beside(word, 1)

    def _beside(self, word: str, axis: int) -> NDArray[np.uint64]:
        place = self.vocabulary.index(word)
        if not all(slot.directed for slot in self.slots):
            raise CountError(
                "These counts don't tell what comes before a word from what comes after it; count "
                'with slots="sides".'
            )
        found = np.zeros(len(self.vocabulary), np.uint64)
        for pairs in self.matrices:
            found += pairs.row(place) if axis == 0 else pairs.column(place)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the words and all counts: equal for equal counts, however they came about."""
        digest = hashlib.sha256("\n".join(self.vocabulary.words).encode("utf-8", "surrogatepass"))
        digest.update(repr(self.slots).encode())
        for name, array in self._arrays().items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __getitem__(self, pair: tuple[str, str]) -> int:
        i, j = map(self.vocabulary.index, pair)
        return sum(
            matrix[i, j] + (matrix[j, i] if slot.directed else 0)
            for slot, matrix in zip(self.slots, self.matrices, strict=True)
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cooccurrence):
            return NotImplemented
        return (
            self.vocabulary == other.vocabulary
            and self.slots == other.slots
            and self.matrices == other.matrices
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        window = "unknown" if self.window is None else self.window
        matrices = ", ".join(map(repr, self.matrices))
        return f"Cooccurrence({self.vocabulary!r}, {matrices}, window {window})"

    def __add__(self, other: Cooccurrence) -> Cooccurrence:
        """Return the counts of both together; they need the same words in the same order."""
        self._require_alike(other, "added")
        return replace(
            self,
            vocabulary=Vocabulary(self.vocabulary.words, self.word_counts + other.word_counts),
            matrices=tuple(a + b for a, b in zip(self.matrices, other.matrices, strict=True)),
            sources=self.sources + other.sources,
        )

    def __sub__(self, other: Cooccurrence) -> Cooccurrence:
        """Return the counts without a part of them."""
        self._require_alike(other, "subtracted")
        if np.any(other.word_counts > self.word_counts):
            raise CountError("The counts to subtract are not a part of these: some are larger.")
        return replace(
            self,
            vocabulary=Vocabulary(self.vocabulary.words, self.word_counts - other.word_counts),
            matrices=tuple(a - b for a, b in zip(self.matrices, other.matrices, strict=True)),
            sources=self.sources
            + tuple({**source, "sign": -source.get("sign", 1)} for source in other.sources),
        )

    def restrict(self, vocab_size: int) -> Cooccurrence:
        """Return the counts among the `vocab_size` most frequent words, without a recount.

        Windows are those of the larger vocabulary: a word left out still takes up its place.
        """
        return replace(
            self,
            vocabulary=self.vocabulary.restrict(vocab_size),
            matrices=tuple(matrix.restrict(vocab_size) for matrix in self.matrices),
        )

    @classmethod
    def merge(cls, parts: Iterable[Cooccurrence]) -> Cooccurrence:
        """Add counts of different vocabularies: the union of their words, in order of frequency.

        >>> a = Cooccurrence.from_matrix(["x", "y"], [[0, 1], [1, 0]])
        >>> b = Cooccurrence.from_matrix(["z", "y"], [[0, 5], [5, 0]])
        >>> Cooccurrence.merge([a, b]).vocabulary.words
        ('y', 'z', 'x')
        """
        parts = list(parts)
        if not parts:
            raise CountError("There is nothing to merge.")
        if all(part.vocabulary.words == parts[0].vocabulary.words for part in parts):
            total = parts[0]
            for part in parts[1:]:
                total += part
            return total
        occurrences: dict[str, int] = {}
        for part in parts:
            parts[0].require_same_slots(part, "merged")
            for word, count in zip(part.vocabulary.words, part.word_counts.tolist(), strict=True):
                occurrences[word] = occurrences.get(word, 0) + count
        vocabulary = Vocabulary.from_counts(occurrences)
        size = len(vocabulary)
        sums: list[PairCounts] = []
        for part in parts:
            place = vocabulary.indices(part.vocabulary.words)
            moved = [matrix.moved(place, size) for matrix in part.matrices]
            sums = [a + b for a, b in zip(sums, moved, strict=True)] if sums else moved
        sources = tuple(source for part in parts for source in part.sources)
        return cls(vocabulary, tuple(sums), parts[0].slots, sources)

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
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cooccurrence:
        """Read counts written by `save`."""

        def build(saved: artefact.Saved) -> Cooccurrence:
            arrays, words = saved.arrays(ARRAYS), saved.words(WORDS)
            slots = slots_from_json(saved.metadata["slots"])
            return cls(
                Vocabulary(words, arrays["word_counts"]),
                tuple(_read_matrix(arrays, k, len(words)) for k in range(len(slots))),
                slots,
                tuple(saved.metadata["sources"]),
            )

        return artefact.load(path, KIND, build)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = {"word_counts": self.word_counts}
        for number, pairs in enumerate(self.matrices):
            matrix = pairs.matrix
            if isinstance(matrix, np.ndarray):
                arrays[f"pairs.{number}"] = matrix
            else:
                for name in ("indptr", "indices", "data"):
                    arrays[f"pairs.{number}.{name}"] = getattr(matrix, name)
        return arrays

    def _require_alike(self, other: Cooccurrence, verb: str) -> None:
        self.require_same_slots(other, verb)
        if self.vocabulary.words != other.vocabulary.words:
            raise CountError(
                f"Counts of different vocabularies ({len(self.vocabulary):,} and "
                f"{len(other.vocabulary):,} words) can't be {verb}; Cooccurrence.merge aligns them."
            )

    def require_same_slots(self, other: Cooccurrence, verb: str) -> None:
        """Refuse counts of other slots, which can't be `verb` (added, say) to these."""
        if self.slots != other.slots:
            raise CountError(
                f"Counts of different windows can't be {verb}: they are of {_told(self.slots)} and "
                f"of {_told(other.slots)}; count both with the same window and slots."
            )


def _told(slots: Sequence[Slot]) -> str:
    return ", ".join(
        f"{'ordered' if slot.directed else 'unordered'} pairs with weights {slot.weights}"
        for slot in slots
    )


def _read_matrix(arrays: dict[str, NDArray[Any]], number: int, size: int) -> PairCounts:
    """Return the counts of one slot from a file, after checking what compiled code relies on."""
    matrix: Any = arrays.get(f"pairs.{number}")
    if matrix is None:
        data, indices, indptr = (
            arrays[f"pairs.{number}.{name}"] for name in ("data", "indices", "indptr")
        )
        check_csr(data, indices, indptr, size)
        matrix = sparse.csr_array((data, indices, indptr), shape=(size, size))
    elif matrix.shape != (size, size):
        raise ValueError(f"{size:,} words don't fit pairs of {matrix.shape}")
    if matrix.dtype not in (np.uint32, np.uint64):
        raise ValueError(f"pairs of {matrix.dtype}")
    return PairCounts.from_exact(matrix)


def _around(pairs: PairCounts, directed: bool) -> NDArray[np.uint64]:
    """Return how many pairs each word is in."""
    return pairs.row_sums + pairs.column_sums if directed else pairs.row_sums


def _whole_numbers(values: NDArray[Any]) -> NDArray[np.int64]:
    numbers = values.astype(np.int64)
    if np.any(numbers != values) or np.any(numbers < 0):
        raise CountError("Word counts must be non-negative whole numbers.")
    return numbers
