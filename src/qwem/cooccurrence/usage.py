"""Usage of words: how often each occurs, and what it occurs with before and after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from qwem._internal import artefact
from qwem._internal.arrays import cut_evenly
from qwem._internal.kernels import njit
from qwem.cooccurrence._rows import lengths_of

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem.cooccurrence.cooccurrence import Cooccurrence
    from qwem.cooccurrence.pair_counts import PairCounts

    Array = NDArray[Any]

KIND = "usage"
KEPT = 10
"""How many words are kept on each side of a word."""

_ARRAYS = "usage.safetensors"
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class Usage:
    """How often words occur, and the words that each occurs with more often than by chance.

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
    """For each word the indices of `KEPT` words before it and as many after it; −1 for none."""
    ratios: NDArray[np.float32] = field(repr=False)
    """How many times more often than by chance each of these pairs was counted."""
    directed: bool = True
    """Whether the counts tell left from right; otherwise both sides are the same."""

    @classmethod
    def of(cls, counts: Cooccurrence, frequencies: Array, *, collocates: bool = True) -> Usage:
        """Return the usage of words in a text, from its counts.

        Pairs are ordered by O ln(O/E), the main term of the log-likelihood ratio (Dunning 1993),
        where O is the count and E what chance would give. Counts are those of the slots that tell
        left from right, such as adjacent words, and of the whole window if none does, weighted by
        distance. Without `collocates` only frequencies are kept, as from pairs on a cluster.
        """
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
        return artefact.load(
            path,
            KIND,
            lambda saved: cls(**saved.arrays(_ARRAYS), directed=saved.metadata["directed"]),
        )


def _sum_of_rows(matrices: tuple[PairCounts, ...], rows: slice) -> Any:
    total: Any = None
    for each in matrices:
        part = sparse.csr_array(each.matrix[rows]).astype(np.uint64)
        total = part if total is None else total + part
    return total


@njit(nogil=True, cache=True)
def keep_best(
    first: int, starts: Array, columns: Array, counts: Array,
    left: Array, right: Array, total: float, scores: Array, words: Array, ratios: Array,
) -> None:  # fmt: skip
    """Put pairs that were counted more often than by chance among the best of both their words.

    Row i counts what comes after word ``first + i``.
    """
    for row in range(starts.size - 1):
        word = first + row
        for place in range(starts[row], starts[row + 1]):
            other = columns[place]
            expected = left[word] * right[other] / total
            if counts[place] <= expected:
                continue
            ratio = counts[place] / expected
            score = counts[place] * np.log(ratio)
            for side in range(2):
                here, there = (other, word) if side == 0 else (word, other)
                last = scores.shape[2] - 1
                if score <= scores[here, side, last]:
                    continue
                while last > 0 and scores[here, side, last - 1] < score:
                    scores[here, side, last] = scores[here, side, last - 1]
                    words[here, side, last] = words[here, side, last - 1]
                    ratios[here, side, last] = ratios[here, side, last - 1]
                    last -= 1
                scores[here, side, last] = score
                words[here, side, last] = there
                ratios[here, side, last] = ratio
