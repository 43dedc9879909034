"""Minibatches of word pairs, drawn from the text in the background.

Positive pairs are drawn from the text itself: a place, and a neighbour by the weight of its
distance, so that an ordered pair comes with probability P_ij. With `flatten` β > 0, words are
accepted with probability a_i = (P_min/P_i)^β, and negatives come from P^(1 − β) instead of P. The
importance weights undo that: the loss of a batch is an unbiased estimate of the population loss for
every β, and only its variance changes. At β = 0, the paper's, Setting 3.1 gives rare words weights
of many orders of magnitude; at 1 all words are about equally likely, and weights of one size.

The text is laid out in parts of some tens of millions of words, visited in random order, each read
from disk in one go. Which part a batch comes from and what is drawn there depend on the key and on
the number of the batch alone, so neither threads nor an interruption can change it.
"""

from __future__ import annotations

import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem.dynamics.training.weighting import weighted_sum
from qwem.errors import CountError, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.dynamics.training.weighting import Weighting

PART_TOKENS = 1 << 25
"""Words laid out together: 64 or 128 MB."""

_AHEAD = 4


class Sorting(NamedTuple):
    """The pairs of each word w: order[starts[w]:starts[w + 1]]."""

    order: NDArray[np.int32]
    starts: NDArray[np.int32]


class Batch(NamedTuple):
    """Pairs and their importance weights: the positive ones, then as many negative ones."""

    centers: NDArray[np.int32]
    contexts: NDArray[np.int32]
    weights: NDArray[Any]
    """Weight over the number of pairs of its kind: Σ weight · f(x) estimates the loss."""
    by_center: Sorting
    by_context: Sorting


class _Part(NamedTuple):
    number: int
    stream: NDArray[Any]
    """Token ids, with gaps between documents and at both ends."""
    begin: int
    end: int


class PairSampler:
    """Draws any batch of pairs by its key and number; see the module.

    >>> from qwem import Cooccurrence, Corpus
    >>> from qwem.dynamics.training.losses import QUARTIC
    >>> from qwem.dynamics.training.weighting import weigh
    >>> from qwem.target import none
    >>> corpus = Corpus.from_documents(["a b a b"])
    >>> counts = Cooccurrence.count(corpus, window=1)
    >>> sampler = PairSampler(corpus, counts, weigh(counts, none(), QUARTIC), batch_size=4)
    >>> sampler.draw(key=0, number=7).weights
    array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(
        self,
        corpus: Corpus,
        counts: Cooccurrence,
        weighting: Weighting,
        *,
        batch_size: int = 100_000,
        flatten: float = 0.0,
        dtype: Any = np.float32,
        part_tokens: int = PART_TOKENS,
    ) -> None:
        distances = _checked_distances(corpus, counts, weighting)
        if batch_size < 2 or batch_size % 2:
            raise SettingError(f"batch_size must be even and positive, not {batch_size}.")
        if not 0 <= flatten <= 1:
            raise SettingError(f"flatten must lie between 0 and 1, not be {flatten}.")
        from qwem.dynamics.training.kernels import fill_alias

        self.batch_size = batch_size
        self.dtype = np.dtype(dtype)
        self._corpus = corpus
        self._weighting = weighting
        self._window = len(distances)
        words = counts.word_counts.astype(np.float64)
        self._accept = (words.min() / words) ** flatten
        drawn = words ** (1 - flatten)
        drawn /= drawn.sum()
        self._limit, self._alias = np.empty(len(words)), np.empty(len(words), np.int32)
        fill_alias(drawn, self._limit, self._alias)
        one_side = np.repeat(np.arange(1, self._window + 1), distances)
        self._reach = np.concatenate([-one_side, one_side])
        pairs = batch_size // 2
        kept = weighted_sum(weighting.counts, self._accept) / weighting.total
        self._positive_factor = weighting.shared / self._accept, kept / pairs
        self._negative_factor = weighting.shared / drawn, 1 / pairs
        self._right = np.ascontiguousarray(weighting.right.T)

        tokens = len(corpus.tokens)
        self._parts = max(1, -(-tokens // part_tokens))
        self._cuts = np.linspace(0, tokens, self._parts + 1).astype(np.int64)
        # A part serves as many batches as make up its length in positive pairs.
        self._visit = max(1, tokens // self._parts // pairs)
        self._part: _Part | None = None

    def draw(self, key: int, number: int) -> Batch:
        """Return batch `number` of the stream `key`."""
        from qwem.dynamics.training.kernels import derive_key, draw_positives, draw_words

        part = self._lay_out(self._part_of(key, number))
        pairs, gap = self.batch_size // 2, len(self._accept)
        centers = np.empty(2 * pairs, np.int32)
        contexts = np.empty(2 * pairs, np.int32)
        streams = [np.uint64(derive_key(key, 3 * number + k)) for k in range(3)]
        draw_positives(
            streams[0],
            part.stream,
            part.begin,
            part.end,
            gap,
            self._reach,
            self._accept,
            centers[:pairs],
            contexts[:pairs],
        )
        draw_words(streams[1], self._limit, self._alias, centers[pairs:])
        draw_words(streams[2], self._limit, self._alias, contexts[pairs:])
        weights = self._weights(centers, contexts)
        return Batch(centers, contexts, weights, self._sorted(centers), self._sorted(contexts))

    def _sorted(self, words: NDArray[np.int32]) -> Sorting:
        from qwem.dynamics.training.kernels import sort_pairs

        order, starts = np.empty(len(words), np.int32), np.empty(len(self._accept) + 1, np.int32)
        sort_pairs(words, order, starts)
        return Sorting(order, starts)

    def _weights(self, centers: NDArray[np.int32], contexts: NDArray[np.int32]) -> NDArray[Any]:
        """Return Ψ⁺ P_ij/Q⁺_ij and Ψ⁻ P_i P_j/Q⁻_ij, with Q± what pairs are drawn from."""
        from qwem.dynamics.training.kernels import weigh_pairs

        weighting, half = self._weighting, self.batch_size // 2
        seen = np.empty(0)
        if weighting.curvature is not None:
            seen = self._look_up(centers, contexts) / weighting.total
        weights = np.empty(2 * half, self.dtype)
        for part, (factor, scale), negative in (
            (slice(half), self._positive_factor, False),
            (slice(half, None), self._negative_factor, True),
        ):
            weigh_pairs(
                centers[part],
                contexts[part],
                factor,
                scale,
                weighting.left,
                self._right,
                seen[part],
                weighting.curvature or (1.0, 1.0),
                negative,
                weights[part],
            )
        return weights

    def _look_up(
        self, centers: NDArray[np.int32], contexts: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        from qwem.dynamics.training.kernels import look_up_dense, look_up_sparse

        counts = self._weighting.counts
        found = np.empty(len(centers))
        if isinstance(counts, np.ndarray):
            look_up_dense(counts, centers, contexts, found)
        else:
            look_up_sparse(counts.indptr, counts.indices, counts.data, centers, contexts, found)
        return found

    def _part_of(self, key: int, number: int) -> int:
        """Return which part a batch comes from: each once, in random order, then all again."""
        round_, place = divmod(number // self._visit, self._parts)
        return int(np.random.default_rng([key, round_]).permutation(self._parts)[place])

    def _lay_out(self, number: int) -> _Part:
        """Return a part of the text with gaps between documents, and its neighbours around it."""
        if self._part is not None and self._part.number == number:
            return self._part
        from qwem.dynamics.training.kernels import lay_out

        corpus, window, gap = self._corpus, self._window, len(self._accept)
        start, stop = int(self._cuts[number]), int(self._cuts[number + 1])
        first, last = max(0, start - window), min(len(corpus.tokens), stop + window)
        a, b = np.searchsorted(corpus.offsets, [first, last])
        dtype = np.uint16 if gap < 1 << 16 else np.uint32
        stream = np.empty(last - first + window * (b - a + 3), dtype)
        tokens = np.ascontiguousarray(corpus.tokens[first:last])
        begin, end = lay_out(tokens, corpus.offsets, first, start, stop, gap, window, stream)
        self._part = _Part(number, stream, begin, end)
        return self._part


class Prefetcher:
    """Has the next few batches drawn by a thread of its own."""

    def __init__(self, sampler: PairSampler) -> None:
        self.sampler = sampler
        self._drawing: dict[tuple[int, int], Future[Batch]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="qwem-pairs")
        weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def batch(self, key: int, number: int) -> Batch:
        """Return a batch, and have those after it drawn."""
        wanted = [(key, number + k) for k in range(_AHEAD)]
        for stale in self._drawing.keys() - set(wanted):
            self._drawing.pop(stale).cancel()
        for name in wanted:
            if name not in self._drawing:
                self._drawing[name] = self._pool.submit(self.sampler.draw, *name)
        return self._drawing[key, number].result()


def _checked_distances(
    corpus: Corpus, counts: Cooccurrence, weighting: Weighting
) -> NDArray[np.int64]:
    """Return the weight of each distance, after a look that the text has what was counted."""
    if corpus.vocabulary.words != counts.vocabulary.words:
        raise CountError(
            "The counts and the corpus have different words; count this corpus, and restrict its "
            "vocabulary before that rather than the counts."
        )
    if counts.weights is None or any("subsample" in source for source in counts.sources):
        raise CountError(
            "Pairs can be drawn from the text only as it was counted: with known weights by "
            "distance and without subsampling, which is a reweighting here (subsampling())."
        )
    if weighting.counts is not counts.pair_counts.matrix:
        raise SettingError(
            "dynamic_window is part of how pairs are drawn; count with weights='dynamic' instead."
        )
    return np.array(counts.weights, dtype=np.int64)
