"""Matrices of words × contexts (word, slot and side), saved rows of them, and word usage."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import CSR, check_csr, csr_arrays, cut_evenly
from qwem.cooccurrence._rows import Rows, lengths_of, row_ends, transpose
from qwem.cooccurrence.cooccurrence import Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.cooccurrence.slots import slots_as_json, slots_from_json, window_kinds
from qwem.corpus import Vocabulary

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence.slots import Slot

    Array = NDArray[Any]


Side = TypeVar("Side")


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
        ends = np.concatenate(([0], np.cumsum(stored)))
        for first, last in cut_evenly(ends, -(-int(ends[-1]) // _BLOCK_ENTRIES) or 1):
            part = _sum_of_rows(matrices, slice(first, last))
            keep_best(
                first, part.indptr, part.indices, part.data.astype(np.float64),
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


def _sum_of_rows(matrices: tuple[PairCounts, ...], rows: slice) -> Any:
    total: Any = None
    for each in matrices:
        part = sparse.csr_array(each.matrix[rows]).astype(np.uint64)
        total = part if total is None else total + part
    return total


ROWS_KIND = "rows of counts"
_ROWS = "rows.safetensors"


class CountRows(NamedTuple):
    """A block of rows of counts, for every kind of context."""

    sides: tuple[sparse.csr_array[Any], ...]
    word_counts: NDArray[np.int64]
    slots: tuple[Slot, ...]

    @property
    def symmetric(self) -> sparse.csr_array[Any]:
        """These rows of the symmetric counts: the sum over the kinds of context of the window."""
        size, columns = self.sides[0].shape
        rows = (Rows.of(self.sides[kind], 0, size) for kind in window_kinds(self.slots))
        return reduce(add, rows).tocsr(columns)


def save_rows(counts: Cooccurrence, output: str | os.PathLike[str]) -> None:
    """Save all rows of counts."""
    rows = CountRows(context_sides(counts), counts.word_counts, counts.slots)
    _write(output, rows, 0, list(counts.sources))


def add_rows(
    paths: Sequence[str | os.PathLike[str]], first: int, last: int, output: str | os.PathLike[str]
) -> None:
    """Add saved rows, and save rows `first` to `last` of the sum."""
    _write(output, saved_rows(paths, first, last), first, saved_sources(paths)[1])


def saved_rows(paths: Sequence[str | os.PathLike[str]], first: int, last: int) -> CountRows:
    """Return rows `first` to `last` of the sum of saved rows, reading only these."""
    parts = [
        artefact.load(path, ROWS_KIND, lambda saved: _read(saved, first, last)) for path in paths
    ]
    columns = parts[0].sides[0].shape[1]
    sides = tuple(
        reduce(add, (Rows.of(side, 0, last - first) for side in each)).tocsr(columns)
        for each in zip(*(part.sides for part in parts), strict=True)
    )
    return CountRows(sides, np.sum([part.word_counts for part in parts], axis=0), parts[0].slots)


def counts_of_rows(
    parts: Sequence[CountRows],
    words: Sequence[str],
    slots: tuple[Slot, ...],
    sources: Sequence[dict[str, Any]],
) -> Cooccurrence:
    """Return counts made of consecutive blocks of rows."""
    occurrences = np.concatenate([part.word_counts for part in parts])
    own = np.cumsum([0, *(slot.contexts for slot in slots)])[:-1]  # the sides of words after
    return Cooccurrence(
        Vocabulary(tuple(words), occurrences),
        tuple(
            PairCounts.from_exact(sparse.vstack([part.sides[side] for part in parts], "csr"))
            for side in own
        ),
        slots,
        tuple(sources),
    )


def saved_sources(
    paths: Sequence[str | os.PathLike[str]],
) -> tuple[tuple[Slot, ...], list[dict[str, Any]]]:
    """Return the slots of saved rows, and all their sources."""
    saved = [artefact.opened(path).metadata for path in paths]
    return slots_from_json(saved[0]["slots"]), [
        source for each in saved for source in each["sources"]
    ]


def _write(
    output: str | os.PathLike[str], rows: CountRows, first: int, sources: list[dict[str, Any]]
) -> None:
    arrays = {"word_counts": rows.word_counts}
    for number, side in enumerate(rows.sides):
        arrays |= csr_arrays(side, str(number))
    fields = {
        "first": first,
        "columns": rows.sides[0].shape[1],
        "slots": slots_as_json(rows.slots),
        "sources": sources,
    }
    with artefact.writing(output, ROWS_KIND) as directory:
        artefact.write_arrays(directory / _ROWS, arrays)
        artefact.write_metadata(directory, ROWS_KIND, fields)


def _read(saved: artefact.Saved, first: int, last: int) -> CountRows:
    """Return some of the rows in a file."""
    arrays, metadata = saved.mapped_arrays(_ROWS), saved.metadata
    columns, skipped = int(metadata["columns"]), int(metadata["first"])
    rows, sides = slice(first - skipped, last - skipped), []
    if not 0 <= rows.start <= rows.stop <= len(arrays["word_counts"]):
        raise ValueError(f"it does not have the rows from {first} to {last}")
    slots = slots_from_json(metadata["slots"])
    for number in range(sum(slot.contexts for slot in slots)):
        indptr, indices, data = (arrays[f"{number}.{part}"] for part in CSR)
        ends = indptr[rows.start : rows.stop + 1]
        stored = slice(int(ends[0]), int(ends[-1]))
        parts = np.array(data[stored]), np.array(indices[stored]), row_ends(np.diff(ends))
        check_csr(*parts, last - first, columns)
        sides.append(sparse.csr_array(parts, shape=(last - first, columns)))
    return CountRows(tuple(sides), np.array(arrays["word_counts"][rows]), slots)
