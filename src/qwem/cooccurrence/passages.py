"""Passages: stretches of text as contexts of their words, with an algebra of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.arrays import (
    check_csr,
    csr_arrays,
    cut_to_size,
    ends_of,
    in_order,
    sorted_csr,
)
from qwem._internal.files import release
from qwem._internal.resources import progress, thread_count
from qwem._internal.settings import require_whole
from qwem.cooccurrence._rows import (
    column_sums,
    gather_rows,
    lengths_of,
    not_a_part,
    row_ends,
    row_sums,
    too_large,
    transpose,
)
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence.contexts import Slot, Subsampling
    from qwem.corpus import Corpus

SHARE = 0.1
"""The weight of a word in its passage, relative to all pairs of the word in windows."""

FEWEST = 20
"""A document has passages if it has at least the length of a passage divided by this number."""

TASK_TOKENS = 1 << 20
"""The number of tokens that a thread counts at a time."""


@dataclass(frozen=True, eq=False)
class Passages:
    """How often each word occurs in each passage of a text.

    A document is divided into passages of equal size, of about `length` words. A shorter document
    is one passage, or none if it has less than a twentieth of that: windows reach most of it
    anyway. A passage is identified by a digest of its words. So passages of two texts are joined,
    the same passage in both is added, and a part of a text can be subtracted. They are in the order
    of digests, and every one has words: equal counts have the same form, however they were added
    up.

    >>> from qwem import Corpus
    >>> found = Passages.count(Corpus.from_documents(["to be or not to be " * 10]), 30)
    >>> found.matrix.toarray().tolist()  # two passages with the same words are one
    [[20, 20, 10, 10]]
    """

    length: int
    """The number of words in a passage, on average."""
    weight: int
    """The weight of one occurrence, in units of the weights of a window."""
    digests: NDArray[np.uint64] = field(repr=False)
    matrix: sparse.csr_array = field(repr=False)
    """Passages × words: how often each word occurs, without `weight`."""

    @classmethod
    def count(
        cls, corpus: Corpus, length: int, weight: int = 1, subsampling: Subsampling | None = None
    ) -> Passages:
        """Count the words of a corpus by passage; words that subsampling drops are left out."""
        from qwem.cooccurrence.kernels import count_passages

        require_whole("passages", length, least=2)
        limits, keys = np.empty(0, np.uint64), np.zeros(1, np.uint64)
        if subsampling is not None:
            limits = np.append(subsampling.keep_limits(corpus.vocabulary.counts), 0)
            keys = np.array([subsampling.key(draw) for draw in range(subsampling.draws)])
        digests = np.append(corpus.vocabulary.digests, np.uint64(0)).astype(np.uint64)

        passages_of = numbers_of_passages(corpus, length)

        def work(documents: tuple[int, int]) -> tuple[NDArray[Any], ...]:
            text = corpus.tokens[slice(*corpus.offsets[list(documents)])]
            passages = int(passages_of[slice(*documents)].sum())
            found = np.empty(passages, np.uint64), np.empty(passages, np.int64)
            room = len(text) * len(keys) + 1
            columns, values = np.empty(room, np.int32), np.empty(room, np.uint32)
            stored = count_passages(
                corpus.tokens, corpus.offsets, passages_of, *documents, len(digests) - 1, limits,
                keys, corpus.first_document, digests, *found, columns, values,
            )  # fmt: skip
            release(text)
            bar.update(len(text))
            return *found, columns[:stored].copy(), values[:stored].copy()

        tasks = cut_to_size(corpus.offsets, TASK_TOKENS) or [(0, 0)]
        with progress("counting passages", len(corpus.tokens), "word") as bar:
            parts = list(in_order(work, tasks, thread_count()))
        size = len(corpus.vocabulary)
        names: list[NDArray[np.uint64]] = []
        matrices: list[sparse.csr_array] = []
        while parts:
            found, lengths, columns, values = parts.pop()
            names.append(found)
            matrices.append(sorted_csr(values, columns, row_ends(lengths), size))
        return cls._canonical(length, weight, names, matrices)

    @classmethod
    def sum(
        cls,
        parts: Sequence[Passages],
        places: Sequence[NDArray[np.int64] | None] | None = None,
        size: int | None = None,
    ) -> Passages:
        """Join passages, and add those that several parts have.

        `places` and `size` are those of `qwem.cooccurrence.pair_counts.PairCounts.sum`.
        """
        first = parts[0]
        for part in parts:
            first._require_same_settings(part, "added")
        size = first.matrix.shape[1] if size is None else size
        places = [None] * len(parts) if places is None else places
        moved = [part._moved(place, size) for part, place in zip(parts, places, strict=True)]
        return cls._canonical(first.length, first.weight, [part.digests for part in parts], moved)

    @property
    def settings(self) -> dict[str, int]:
        """The length of a passage, and the weight of an occurrence."""
        return {"length": self.length, "weight": self.weight}

    def select(self, digests: NDArray[np.uint64]) -> Passages:
        """Return those of the passages that have these digests."""
        kept = np.isin(self.digests, digests, assume_unique=True)
        matrix = _taken(self.matrix, kept.nonzero()[0])
        return self._canonical(self.length, self.weight, [self.digests[kept]], [matrix])

    def reindex(self, places: NDArray[np.int64], size: int) -> Passages:
        """Return the counts with word i at index ``places[i]`` of `size`; −1 leaves it out."""
        return self.sum([self], [places], size)

    def restrict(self, size: int) -> Passages:
        """Return the counts of the first `size` words."""
        places = np.arange(self.matrix.shape[1])
        return self.reindex(np.where(places < size, places, -1), size)

    def __sub__(self, part: Passages) -> Passages:
        self._require_same_settings(part, "subtracted")
        places = np.searchsorted(self.digests, part.digests)
        known = np.append(self.digests, np.uint64(0))[places] == part.digests
        if not known.all():
            raise not_a_part()
        # Nearly all passages are in the part as a whole, or not at all.
        whole = lengths_of(self.matrix)[places] == lengths_of(part.matrix)
        if whole.any():
            mine, theirs = (
                _taken(self.matrix, places[whole]),
                _taken(part.matrix, whole.nonzero()[0]),
            )
            equal = (mine.indices == theirs.indices) & (mine.data == theirs.data)
            whole[whole] = np.logical_and.reduceat(equal, mine.indptr[:-1])
        rest = self.matrix[places[~whole]].astype(np.int64) - part.matrix[~whole].astype(np.int64)
        if rest.nnz and rest.data.min() < 0:
            raise not_a_part()
        others = np.delete(np.arange(len(self)), places)
        return self._canonical(
            self.length,
            self.weight,
            [self.digests[others], part.digests[~whole]],
            [_taken(self.matrix, others), sparse.csr_array(rest)],
        )

    def __mul__(self, times: int) -> Passages:
        if float(self.matrix.data.sum(dtype=np.float64)) * self.weight * times >= 2.0**63:
            raise too_large()
        matrix = self.matrix.astype(np.uint64) * np.uint64(times)
        return self._canonical(self.length, self.weight, [self.digests], [matrix])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Passages):
            return NotImplemented
        mine, yours = (each.arrays("") for each in (self, other))
        return (self.length, self.weight) == (other.length, other.weight) and all(
            np.array_equal(mine[name], yours[name]) for name in mine
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.digests)

    @property
    def nnz(self) -> int:
        """The number of different pairs of a word and a passage."""
        return int(self.matrix.nnz)

    @property
    def pairs(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Words × passages and passages × words, with weights."""
        weighted = self.matrix.data * self.matrix.dtype.type(self.weight)
        by_passage = sorted_csr(
            weighted, self.matrix.indices, self.matrix.indptr, self.matrix.shape[1]
        )
        return transpose(by_passage), by_passage

    @property
    def word_sums(self) -> NDArray[np.float64]:
        """The weight of each word in all passages."""
        return self.weight * column_sums(self.matrix).astype(np.float64)

    @property
    def sums(self) -> NDArray[np.float64]:
        """The weight of each passage."""
        return self.weight * row_sums(self.matrix).astype(np.float64)

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays that `read` takes, whose names begin with `name`."""
        return {f"{name}.digests": self.digests, **csr_arrays(self.matrix, name)}

    @classmethod
    def read(
        cls, arrays: Mapping[str, NDArray[Any]], name: str, size: int, length: int, weight: int
    ) -> Passages:
        """Return the passages of `size` words that `arrays` wrote, checked."""
        digests = arrays[f"{name}.digests"]
        indptr, indices, data = (arrays[f"{name}.{part}"] for part in ("indptr", "indices", "data"))
        check_csr(data, indices, indptr, len(digests), size)
        if digests.dtype != np.uint64 or np.any(digests[1:] <= digests[:-1]):
            raise ValueError("the digests of passages are out of order")
        return cls(length, weight, digests, sorted_csr(data, indices, indptr, size))

    def _require_same_settings(self, other: Passages, verb: str) -> None:
        """Refuse passages of another length or weight; `verb` is for the message."""
        if other.settings != self.settings:
            raise CountError(
                f"Counts of passages of different lengths or weights can't be {verb}; count both "
                "with the same `passages`, window and slots."
            )

    def _moved(self, places: NDArray[np.int64] | None, size: int) -> sparse.csr_array:
        if places is None:
            return self.matrix
        columns = places[self.matrix.indices]
        kept = columns >= 0
        rows = np.repeat(np.arange(len(self)), np.diff(self.matrix.indptr))[kept]
        stored = self.matrix.data[kept], (rows, columns[kept])
        return sparse.csr_array(sparse.coo_array(stored, shape=(len(self), size)))

    @classmethod
    def _canonical(
        cls,
        length: int,
        weight: int,
        digests: Sequence[NDArray[np.uint64]],
        matrices: list[sparse.csr_array],
    ) -> Passages:
        """Return passages by their digests; equal ones are added, empty ones left out.

        `matrices` is emptied: see `qwem.cooccurrence._rows.gather_rows`.
        """
        for matrix in matrices:
            matrix.eliminate_zeros()
            matrix.sort_indices()
        if sum(float(each.data.sum(dtype=np.float64)) for each in matrices) * weight >= 2.0**63:
            raise too_large()
        filled = np.concatenate([lengths_of(matrix) for matrix in matrices]) > 0
        names, found, times = np.unique(
            np.concatenate(digests)[filled], return_inverse=True, return_counts=True
        )
        places, alone = np.zeros(len(filled), np.int64), filled.copy()
        places[filled], alone[filled] = found, times[found] == 1
        again, equal = np.flatnonzero(times > 1), filled & ~alone

        inner = ends_of([matrix.shape[0] for matrix in matrices])[1:-1]

        def parts_of(chosen: NDArray[np.bool_], at: NDArray[np.int64]) -> list[Any]:
            return [
                (matrix, np.flatnonzero(rows), to[rows])
                for matrix, rows, to in zip(
                    matrices, np.split(chosen, inner), np.split(at, inner), strict=True
                )
            ]

        parts = parts_of(alone, places)
        if again.size:
            terms = gather_rows(parts_of(equal, np.cumsum(equal) - 1), equal.sum(), np.uint64)
            sums = _sums_of_rows(terms, np.searchsorted(again, places[equal]), len(again))
            parts.append((sums, np.arange(len(again)), again))
            del terms, sums
        matrices.clear()
        largest = max(int(part.data.max(initial=0)) for part, _, _ in parts) * weight
        dtype = np.uint32 if largest < 2**32 else np.uint64
        return cls(length, weight, names, gather_rows(parts, len(names), dtype))


def _taken(matrix: sparse.csr_array, rows: NDArray[np.int64]) -> sparse.csr_array:
    """Return some rows of a matrix; SciPy's own indexing takes several times as long."""
    return gather_rows([(matrix, rows, np.arange(len(rows)))], len(rows), matrix.dtype)


def _sums_of_rows(
    matrix: sparse.csr_array, places: NDArray[np.int64], count: int
) -> sparse.csr_array:
    """Return a matrix of `count` rows to which each row is added at its place."""
    ones = np.ones(len(places), matrix.dtype), (places, np.arange(len(places)))
    sums = sparse.csr_array(ones, shape=(count, len(places))) @ matrix
    sums.sort_indices()
    return sums


def numbers_of_passages(corpus: Corpus, length: int) -> NDArray[np.int64]:
    """Return how many passages each document of a corpus has.

    >>> from qwem import Corpus
    >>> texts = Corpus.from_documents(["a", "a " * 5, "a " * 149, "a " * 150])
    >>> numbers_of_passages(texts, 100).tolist()
    [0, 1, 1, 2]
    """
    words = np.diff(corpus.offsets).astype(np.int64)
    numbers = np.maximum((words + length // 2) // length, 1)
    return np.where(words >= max(1, length // FEWEST), numbers, 0)


def passage_weight(slots: Sequence[Slot]) -> int:
    """Return the weight of a word in its passage, given the slots of windows.

    >>> from qwem.cooccurrence.contexts import window_slots
    >>> passage_weight(window_slots(6, layout="adjacent"))
    4
    """
    around = 2 * sum(sum(slot.weights or ()) for slot in slots)
    return max(1, round(SHARE * around))
