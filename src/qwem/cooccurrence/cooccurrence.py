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
from qwem.cooccurrence.windows import window_weights
from qwem.corpus import Vocabulary, frequency_order
from qwem.errors import CountError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from qwem.corpus import Corpus, RecodedPieces

KIND = "cooccurrence"
ARRAYS = "counts.safetensors"
WORDS = "words.txt"


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Symmetric weighted pair counts and word counts: integers, exact.

    The same corpus gives the same bits whatever the number of threads, chunks or parts, and sums
    and differences are exact. Words stand in the order of their vocabulary.

    >>> from qwem import Corpus
    >>> counts = Cooccurrence.count(Corpus.from_documents(["a b a c"]), window=2)
    >>> counts["a", "b"], counts["a", "c"], counts["b", "c"]
    (4, 2, 1)
    """

    vocabulary: Vocabulary
    """The words, in the order of the corpus, and how often each was counted here. In a part of a
    corpus, or after subsampling, that is less often than in the corpus."""
    pair_counts: PairCounts
    weights: tuple[int, ...] | None = None
    """The weight of a pair by its distance, from 1 on; None where unknown."""
    sources: tuple[dict[str, Any], ...] = field(default=())
    """What was counted and how: one entry for each part added (or, with sign −1, subtracted)."""

    def __post_init__(self) -> None:
        size = len(self.vocabulary)
        if self.pair_counts.shape != (size, size):
            raise CountError(f"{size:,} words don't fit a matrix of {self.pair_counts.shape}.")

    @classmethod
    def count(
        cls,
        corpus: Corpus | RecodedPieces,
        window: int = 16,
        weights: str | Sequence[int] = "dynamic",
        *,
        subsample: float | None = None,
        seed: int = 0,
        draws: int = 1,
        threads: int | None = None,
    ) -> Cooccurrence:
        """Count the pairs of words at most `window` apart, in both directions.

        Windows never cross a document's end.

        Parameters
        ----------
        corpus
            What to count: a corpus, or pieces of text in the words of a vocabulary.
        window
            How far a window reaches to either side (the paper's L is twice that).
        weights
            What a pair at distance j counts for: ``"dynamic"``, window + 1 − j (in proportion to
            how often word2vec's windows of random size contain it); ``"flat"``, 1; or a weight for
            each distance.
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

        by_distance = window_weights(window, weights)
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
        pairs, words, length = count_pairs(corpus, by_distance, subsampling, threads)
        source: dict[str, Any] = {
            "corpus": corpus.fingerprint,
            "documents": [corpus.first_document, corpus.first_document + len(corpus)],
            "length": length,
        }
        if subsampling:
            words_read = int(corpus.vocabulary.counts.sum())
            source |= {"subsample": subsample, "seed": seed, "draws": draws, "words": words_read}
        return cls(Vocabulary(corpus.vocabulary.words, words), pairs, by_distance, (source,))

    @classmethod
    def from_matrix(
        cls,
        words: Sequence[str],
        counts: ArrayLike | sparse.sparray | sparse.spmatrix,
        word_counts: ArrayLike | None = None,
        *,
        weights: Sequence[int] | None = None,
    ) -> Cooccurrence:
        """Take your own counts: a symmetric matrix of integers, dense or SciPy sparse.

        Words are put in order of frequency, their rows and columns with them. Without
        `word_counts`, a word's count is the sum of its row.

        >>> Cooccurrence.from_matrix(["cat", "dog"], [[0, 3], [3, 2]]).vocabulary.words
        ('dog', 'cat')
        """
        pairs = PairCounts.from_matrix(counts)
        if pairs.shape[0] != len(words):
            raise CountError(f"{len(words):,} words don't fit a matrix of {pairs.shape}.")
        occurrences = _whole_numbers(
            pairs.row_sums if word_counts is None else np.asarray(word_counts)
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
        return cls(vocabulary, pairs, by_distance, ({"matrix": True},))

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """How often each word was counted."""
        return self.vocabulary.counts

    @property
    def window(self) -> int | None:
        """How far a window reaches to either side; None where unknown."""
        return None if self.weights is None else len(self.weights)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the words and all counts: equal for equal counts, however they came about."""
        digest = hashlib.sha256("\n".join(self.vocabulary.words).encode("utf-8", "surrogatepass"))
        digest.update(repr(self.weights).encode())
        for name, array in self._arrays().items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def __getitem__(self, pair: tuple[str, str]) -> int:
        first, second = pair
        return self.pair_counts[self.vocabulary.index(first), self.vocabulary.index(second)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cooccurrence):
            return NotImplemented
        return (
            self.vocabulary == other.vocabulary
            and self.weights == other.weights
            and self.pair_counts == other.pair_counts
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        window = "unknown" if self.window is None else self.window
        return f"Cooccurrence({self.vocabulary!r}, {self.pair_counts!r}, window {window})"

    def __add__(self, other: Cooccurrence) -> Cooccurrence:
        """Return the counts of both together; they need the same words in the same order."""
        self._require_alike(other, "added")
        return replace(
            self,
            vocabulary=Vocabulary(self.vocabulary.words, self.word_counts + other.word_counts),
            pair_counts=self.pair_counts + other.pair_counts,
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
            pair_counts=self.pair_counts - other.pair_counts,
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
            pair_counts=self.pair_counts.restrict(vocab_size),
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
            parts[0].require_same_window(part, "merged")
            for word, count in zip(part.vocabulary.words, part.word_counts.tolist(), strict=True):
                occurrences[word] = occurrences.get(word, 0) + count
        vocabulary = Vocabulary.from_counts(occurrences)
        size = len(vocabulary)
        pairs = PairCounts.from_exact(sparse.csr_array((size, size), dtype=np.uint32))
        for part in parts:
            place = vocabulary.indices(part.vocabulary.words)
            entries = part.pair_counts.tocsr().tocoo()
            moved = sparse.csr_array(
                (entries.data, (place[entries.row], place[entries.col])), shape=(size, size)
            )
            pairs = pairs + PairCounts.from_exact(moved)
        sources = tuple(source for part in parts for source in part.sources)
        return cls(vocabulary, pairs, parts[0].weights, sources)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a directory."""
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(directory / ARRAYS, self._arrays())
            artefact.write_words(directory / WORDS, self.vocabulary.words)
            metadata = {
                "vocab_size": len(self.vocabulary),
                "weights": self.weights,
                "sources": list(self.sources),
            }
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Cooccurrence:
        """Read counts written by `save`."""

        def build(saved: artefact.Saved) -> Cooccurrence:
            arrays, words = saved.arrays(ARRAYS), saved.words(WORDS)
            size = len(words)
            matrix: Any = arrays.get("pairs")
            if matrix is None:
                parts = (arrays["pairs.data"], arrays["pairs.indices"], arrays["pairs.indptr"])
                check_csr(*parts, size)
                matrix = sparse.csr_array(parts, shape=(size, size))
            weights = saved.metadata["weights"]
            return cls(
                Vocabulary(words, arrays["word_counts"]),
                PairCounts.from_exact(matrix),
                None if weights is None else tuple(weights),
                tuple(saved.metadata["sources"]),
            )

        return artefact.load(path, KIND, build)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        matrix = self.pair_counts.matrix
        if isinstance(matrix, np.ndarray):
            pairs = {"pairs": matrix}
        else:
            names = ("indptr", "indices", "data")
            pairs = {f"pairs.{name}": getattr(matrix, name) for name in names}
        return {"word_counts": self.word_counts, **pairs}

    def _require_alike(self, other: Cooccurrence, verb: str) -> None:
        self.require_same_window(other, verb)
        if self.vocabulary.words != other.vocabulary.words:
            raise CountError(
                f"Counts of different vocabularies ({len(self.vocabulary):,} and "
                f"{len(other.vocabulary):,} words) can't be {verb}; Cooccurrence.merge aligns them."
            )

    def require_same_window(self, other: Cooccurrence, verb: str) -> None:
        """Refuse counts of another window, which can't be `verb` (added, say) to these."""
        if self.weights != other.weights:
            raise CountError(
                f"Counts of different windows can't be {verb}: their weights by distance are "
                f"{self.weights} and {other.weights}; count both with the same window."
            )


def _whole_numbers(values: NDArray[Any]) -> NDArray[np.int64]:
    numbers = values.astype(np.int64)
    if np.any(numbers != values) or np.any(numbers < 0):
        raise CountError("Word counts must be non-negative whole numbers.")
    return numbers
