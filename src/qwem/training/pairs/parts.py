"""Parts of the text, laid out for drawing pairs of neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import even_cuts
from qwem.errors import CorpusError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.corpus import Corpus

PART_TOKENS = 1 << 25
"""Words per part: 64 or 128 MB, and three times that where rare words are preferred."""


@dataclass(frozen=True, eq=False)
class Part:
    """Part of the text, from which pairs are drawn in proportion to C_ij a_i a_j."""

    number: int
    stream: NDArray[Any]
    """Token ids, with gaps between documents and at both ends."""
    begin: int
    end: int
    reach: NDArray[np.int64]
    """Signed distances, each as often as its weight."""
    accept: NDArray[np.float64]
    """The probability a_i of accepting a word; 0 for a gap."""
    kept: float
    """Σ C_ij a_i a_j over the pairs whose centres are in this part."""
    index: tuple[NDArray[Any], ...] | None
    """The places of each word, and an alias table of accepted centres; None if all are accepted."""

    def draw(self, key: Any, centres: NDArray[np.int32], contexts: NDArray[np.int32]) -> None:
        """Fill both arrays with pairs."""
        from qwem.training.pairs.kernels import draw_accepted, draw_positives

        gap = len(self.accept) - 1
        if self.index is None:
            place = self.begin, self.end, gap
            draw_positives(key, self.stream, *place, self.reach, centres, contexts)
        else:
            how = *self.index, gap, self.reach, self.accept
            draw_accepted(key, self.stream, *how, centres, contexts)


class Parts:
    """Sequence of the parts of a text; the last part read is kept in memory."""

    def __init__(
        self,
        corpus: Corpus,
        distances: NDArray[np.int64],
        accept: NDArray[np.float64],
        part_tokens: int = PART_TOKENS,
    ) -> None:
        self._corpus = corpus
        self._distances = distances
        self._accept = np.append(accept, 0.0)
        one_side = np.repeat(np.arange(1, len(distances) + 1), distances)
        self._reach = np.concatenate([-one_side, one_side])
        tokens = len(corpus.tokens)
        count = max(1, -(-tokens // part_tokens))
        self.cuts = even_cuts(0, tokens, count)
        """Part k has the tokens from cuts[k] up to cuts[k + 1]."""
        self._last: Part | None = None

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def __getitem__(self, number: int) -> Part:
        """Return a part, with gaps between documents, and with the words before and after it."""
        if self._last is None or self._last.number != number:
            self._last = None  # memory may not suffice for two
            self._last = self._read(number)
        return self._last

    def _read(self, number: int) -> Part:
        from qwem.training.pairs.kernels import lay_out, sum_accepted

        corpus, window, gap = self._corpus, len(self._distances), len(self._accept) - 1
        start, stop = int(self.cuts[number]), int(self.cuts[number + 1])
        first, last = max(0, start - window), min(len(corpus.tokens), stop + window)
        a, b = np.searchsorted(corpus.offsets, [first, last])
        dtype = np.uint16 if gap < 1 << 16 else np.uint32
        stream = np.empty(last - first + window * (b - a + 3), dtype)
        tokens = np.ascontiguousarray(corpus.tokens[first:last])
        begin, end = lay_out(tokens, corpus.offsets, first, start, stop, gap, window, stream)
        kept = sum_accepted(stream, begin, end, self._accept, self._distances)
        if not kept:
            raise CorpusError(
                f"The tokens from {start:,} to {stop:,} of the corpus contain no pair of words; "
                "leave out documents of a single word."
            )
        index = None if self._accept[:-1].min() == 1 else self._index(stream, begin, end)
        return Part(number, stream, begin, end, self._reach, self._accept, kept, index)

    def _index(self, stream: NDArray[Any], begin: int, end: int) -> tuple[NDArray[Any], ...]:
        from qwem.training.pairs.kernels import fill_alias, sort_pairs

        places = np.empty(end - begin, np.int32)
        starts = np.empty(len(self._accept) + 1, np.int32)
        sort_pairs(stream[begin:end], places, starts)
        places += np.int32(begin)
        weight = np.diff(starts)[:-1] * self._accept[:-1]
        limit, alias = np.empty(len(weight)), np.empty(len(weight), np.int32)
        fill_alias(weight / weight.sum(), limit, alias)
        return places, starts, limit, alias
