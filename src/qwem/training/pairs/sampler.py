"""Minibatches of word pairs, drawn from the text in the background.

Positive pairs are drawn from the text itself: a place, and a neighbour by the weight of its
distance, so that an ordered pair comes with probability P_ij. With `flatten` β > 0, words are
accepted with probability a_i = (P_min/P_i)^β, and negatives come from P^(1 − β) instead of P. The
importance weights undo that: the loss of a batch is an unbiased estimate of the population loss for
every β, and only its variance changes. At β = 0, the paper's, Setting 3.1 gives rare words weights
of many orders of magnitude; at 1 all words are about equally likely, and weights of one size.

The text is laid out in parts of some tens of millions of words, visited in random order, each read
from disk in one go and weighed by what it has. Which part a batch comes from and what is drawn
there depend on the key and on the number of the batch alone, so neither threads nor an interruption
can change it.
"""

from __future__ import annotations

import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem.errors import CountError, SettingError
from qwem.training.pairs.parts import PART_TOKENS, Parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.training.weighting import Weighting

_AHEAD = 4


class Sorting(NamedTuple):
    """The pairs of each word w: order[starts[w]:starts[w + 1]]."""

    order: NDArray[np.int32]
    starts: NDArray[np.int32]

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of pairs in this order."""
        from qwem.training.pairs.kernels import take

        out = np.empty_like(values)
        take(values, self.order, 0, len(out), out)
        return out


class Batch(NamedTuple):
    """As many positive as negative pairs and their importance weights, sorted by center."""

    centers: NDArray[np.int32]
    contexts: NDArray[np.int32]
    is_positive: NDArray[np.bool_]
    weights: NDArray[Any]
    """Weight over the number of pairs of its kind: Σ weight · f(x) estimates the loss."""
    center_starts: NDArray[np.int32]
    """The pairs of center i are those from center_starts[i] up to center_starts[i + 1]."""
    by_context: Sorting
    centers_by_context: NDArray[np.int32]


class PairSampler:
    """Draws any batch of pairs by its key and number; see the module.

    >>> from qwem import Cooccurrence, Corpus
    >>> from qwem.training.losses import QUARTIC
    >>> from qwem.training.weighting import weigh
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
        from qwem.training.pairs.kernels import fill_alias

        self.batch_size = batch_size
        self.dtype = np.dtype(dtype)
        self._weighting = weighting
        words = counts.word_counts.astype(np.float64)
        accept = (words.min() / words) ** flatten
        self._parts = Parts(corpus, distances, accept, part_tokens)
        drawn = words ** (1 - flatten)
        drawn /= drawn.sum()
        self._limit, self._alias = np.empty(len(words)), np.empty(len(words), np.int32)
        fill_alias(drawn, self._limit, self._alias)
        pairs = batch_size // 2
        self._positive_factor = weighting.shared / accept / np.sqrt(pairs)
        self._negative_factor = weighting.shared / drawn / np.sqrt(pairs)
        self._right = np.ascontiguousarray(weighting.right.T)
        # A part serves as many batches as make up its length in positive pairs.
        self._visit = max(1, len(corpus.tokens) // len(self._parts) // pairs)

    def draw(self, key: int, number: int) -> Batch:
        """Return batch `number` of the stream `key`."""
        from qwem.training.pairs.kernels import derive_key, draw_words

        part = self._parts[self.part_of(key, number)]
        pairs = self.batch_size // 2
        centers = np.empty(2 * pairs, np.int32)
        contexts = np.empty(2 * pairs, np.int32)
        streams = [np.uint64(derive_key(key, 3 * number + k)) for k in range(3)]
        part.draw(streams[0], centers[:pairs], contexts[:pairs])
        draw_words(streams[1], self._limit, self._alias, centers[pairs:])
        draw_words(streams[2], self._limit, self._alias, contexts[pairs:])
        by_center = self._sorted(centers)
        centers, contexts = by_center.of(centers), by_center.of(contexts)
        is_positive = by_center.order < pairs
        # Parts come equally often: what one has counts as often as there are parts.
        share = len(self._parts) * part.kept / self._weighting.total
        weights = self._weights(centers, contexts, is_positive, share)
        by_context = self._sorted(contexts)
        return Batch(
            centers,
            contexts,
            is_positive,
            weights,
            by_center.starts,
            by_context,
            by_context.of(centers),
        )

    def _sorted(self, words: NDArray[np.int32]) -> Sorting:
        from qwem.training.pairs.kernels import sort_pairs

        order, starts = np.empty(len(words), np.int32), np.empty(len(self._limit) + 1, np.int32)
        sort_pairs(words, order, starts)
        return Sorting(order, starts)

    def _weights(
        self,
        centers: NDArray[np.int32],
        contexts: NDArray[np.int32],
        is_positive: NDArray[np.bool_],
        share: float,
    ) -> NDArray[Any]:
        """Return Ψ⁺ P_ij/Q⁺_ij and Ψ⁻ P_i P_j/Q⁻_ij, with Q± what pairs are drawn from."""
        from qwem.training.pairs.kernels import weigh_pairs

        weighting = self._weighting
        seen = np.empty(0)
        if weighting.curvature is not None:
            seen = self._look_up(centers, contexts) / weighting.total
        weights = np.empty(len(centers), self.dtype)
        weigh_pairs(
            centers,
            contexts,
            is_positive,
            self._positive_factor * np.sqrt(share),
            self._negative_factor,
            weighting.left,
            self._right,
            seen,
            weighting.curvature or (1.0, 1.0),
            weights,
        )
        return weights

    def _look_up(
        self, centers: NDArray[np.int32], contexts: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        from qwem.training.pairs.kernels import look_up_dense, look_up_sparse

        counts = self._weighting.counts
        found = np.empty(len(centers))
        if isinstance(counts, np.ndarray):
            look_up_dense(counts, centers, contexts, found)
        else:
            look_up_sparse(counts.indptr, counts.indices, counts.data, centers, contexts, found)
        return found

    def part_of(self, key: int, number: int) -> int:
        """Return which part a batch comes from: each once, in random order, then all again."""
        round_, place = divmod(number // self._visit, len(self._parts))
        return int(np.random.default_rng([key, round_]).permutation(len(self._parts))[place])


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
