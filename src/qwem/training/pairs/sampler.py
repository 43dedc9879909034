"""Minibatches of word pairs, drawn from the text in the background.

Positive pairs are drawn from the text: a place, and a neighbour with the weight of its distance.
An ordered pair is thus drawn with probability P_ij. With `flatten` β > 0, words are accepted with
probability a_i = (P_min/P_i)^β, and negatives are drawn from P^(1 − β) instead of P. Importance
weights correct for this: the loss of a batch is an unbiased estimate of the population loss for
every β, and only its variance changes. At the paper's β = 0, the weights of Setting 3.1 span many
orders of magnitude. At β = 1 all words are about equally likely, and the weights are of similar
size.

The text is laid out in parts of some tens of millions of words, which are visited in random order.
Each part is read from disk at once and weighted by the pairs that it contains. The part of a batch
and the pairs drawn from it depend only on the key and the number of the batch, not on the number of
threads or on interruptions.
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
    from qwem.training.weighting import PairWeights

_AHEAD = 4


class Sorting(NamedTuple):
    """Order of pairs by word: word w has the pairs order[starts[w]:starts[w + 1]]."""

    order: NDArray[np.int32]
    starts: NDArray[np.int32]

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of pairs in this order."""
        from qwem.training.pairs.kernels import take

        out = np.empty_like(values)
        take(values, self.order, 0, len(out), out)
        return out


class PairBatch(NamedTuple):
    """Equally many positive and negative pairs with importance weights, sorted by centre."""

    centres: NDArray[np.int32]
    contexts: NDArray[np.int32]
    is_positive: NDArray[np.bool_]
    weights: NDArray[Any]
    """Weights divided by the number of pairs of each kind, so that Σ weight · f(x) estimates the
    loss."""
    centre_starts: NDArray[np.int32]
    """Centre i has the pairs from centre_starts[i] up to centre_starts[i + 1]."""
    by_context: Sorting
    centres_by_context: NDArray[np.int32]


class PairSampler:
    """Sampler of batches of pairs by key and number; see the module.

    >>> from qwem import Cooccurrence, Corpus
    >>> from qwem.training.losses import QUARTIC
    >>> from qwem.training.weighting import pair_weights
    >>> from qwem.target.reweighting import unweighted
    >>> corpus = Corpus.from_documents(["a b a b"])
    >>> counts = Cooccurrence.count(corpus, window=1)
    >>> weights = pair_weights(counts, unweighted(), QUARTIC)
    >>> sampler = PairSampler(corpus, counts, weights, batch_size=4)
    >>> sampler.draw(key=0, number=7).weights
    array([0.5, 0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(
        self,
        corpus: Corpus,
        counts: Cooccurrence,
        pair_weights: PairWeights,
        *,
        batch_size: int = 100_000,
        flatten: float = 0.0,
        dtype: Any = np.float32,
        part_tokens: int = PART_TOKENS,
    ) -> None:
        distances = _checked_distances(corpus, counts, pair_weights)
        if batch_size < 2 or batch_size % 2:
            raise SettingError(f"batch_size must be a positive even number, not {batch_size}.")
        if not 0 <= flatten <= 1:
            raise SettingError(f"flatten must be between 0 and 1, not {flatten}.")
        from qwem.training.pairs.kernels import fill_alias

        self.batch_size = batch_size
        self.dtype = np.dtype(dtype)
        self._pair_weights = pair_weights
        words = counts.word_counts.astype(np.float64)
        accept = (words.min() / words) ** flatten
        self._parts = Parts(corpus, distances, accept, part_tokens)
        drawn = words ** (1 - flatten)
        drawn /= drawn.sum()
        self._limit, self._alias = np.empty(len(words)), np.empty(len(words), np.int32)
        fill_alias(drawn, self._limit, self._alias)
        pairs = batch_size // 2
        self._positive_factor = pair_weights.shared / accept / np.sqrt(pairs)
        self._negative_factor = pair_weights.shared / drawn / np.sqrt(pairs)
        self._right = np.ascontiguousarray(pair_weights.right.T)
        # A part is used until as many positive pairs were drawn from it as it has tokens.
        self._visit = max(1, len(corpus.tokens) // len(self._parts) // pairs)

    def draw(self, key: int, number: int) -> PairBatch:
        """Return batch `number` of the stream `key`."""
        from qwem.training.pairs.kernels import derive_key, draw_words

        part = self._parts[self.part_of(key, number)]
        pairs = self.batch_size // 2
        centres = np.empty(2 * pairs, np.int32)
        contexts = np.empty(2 * pairs, np.int32)
        streams = [np.uint64(derive_key(key, 3 * number + k)) for k in range(3)]
        part.draw(streams[0], centres[:pairs], contexts[:pairs])
        draw_words(streams[1], self._limit, self._alias, centres[pairs:])
        draw_words(streams[2], self._limit, self._alias, contexts[pairs:])
        by_centre = self._sorted(centres)
        centres, contexts = by_centre.of(centres), by_centre.of(contexts)
        is_positive = by_centre.order < pairs
        # Parts are used equally often, so each is scaled by the number of parts.
        share = len(self._parts) * part.kept / self._pair_weights.total
        weights = self._weights(centres, contexts, is_positive, share)
        by_context = self._sorted(contexts)
        return PairBatch(
            centres,
            contexts,
            is_positive,
            weights,
            by_centre.starts,
            by_context,
            by_context.of(centres),
        )

    def _sorted(self, words: NDArray[np.int32]) -> Sorting:
        from qwem.training.pairs.kernels import sort_pairs

        order, starts = np.empty(len(words), np.int32), np.empty(len(self._limit) + 1, np.int32)
        sort_pairs(words, order, starts)
        return Sorting(order, starts)

    def _weights(
        self,
        centres: NDArray[np.int32],
        contexts: NDArray[np.int32],
        is_positive: NDArray[np.bool_],
        share: float,
    ) -> NDArray[Any]:
        """Return Ψ⁺ P_ij/Q⁺_ij and Ψ⁻ P_i P_j/Q⁻_ij, where Q± are the probabilities of a draw."""
        from qwem.training.pairs.kernels import weigh_pairs

        pair_weights = self._pair_weights
        seen = np.empty(0)
        if pair_weights.curvature is not None:
            seen = self._look_up(centres, contexts) / pair_weights.total
        weights = np.empty(len(centres), self.dtype)
        weigh_pairs(
            centres,
            contexts,
            is_positive,
            self._positive_factor * np.sqrt(share),
            self._negative_factor,
            pair_weights.left,
            self._right,
            seen,
            pair_weights.curvature or (1.0, 1.0),
            weights,
        )
        return weights

    def _look_up(
        self, centres: NDArray[np.int32], contexts: NDArray[np.int32]
    ) -> NDArray[np.float64]:
        from qwem.training.pairs.kernels import look_up_dense, look_up_sparse

        counts = self._pair_weights.counts
        found = np.empty(len(centres))
        if isinstance(counts, np.ndarray):
            look_up_dense(counts, centres, contexts, found)
        else:
            look_up_sparse(counts.indptr, counts.indices, counts.data, centres, contexts, found)
        return found

    def part_of(self, key: int, number: int) -> int:
        """Return the part of a batch: each part once in random order, then all of them again."""
        round_, place = divmod(number // self._visit, len(self._parts))
        return int(np.random.default_rng([key, round_]).permutation(len(self._parts))[place])


class Prefetcher:
    """Thread that draws the next few batches in advance."""

    def __init__(self, sampler: PairSampler) -> None:
        self.sampler = sampler
        self._drawing: dict[tuple[int, int], Future[PairBatch]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="qwem-pairs")
        weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def batch(self, key: int, number: int) -> PairBatch:
        """Return a batch, and start drawing the ones after it."""
        wanted = [(key, number + k) for k in range(_AHEAD)]
        for stale in self._drawing.keys() - set(wanted):
            self._drawing.pop(stale).cancel()
        for name in wanted:
            if name not in self._drawing:
                self._drawing[name] = self._pool.submit(self.sampler.draw, *name)
        return self._drawing[key, number].result()


def _checked_distances(
    corpus: Corpus, counts: Cooccurrence, pair_weights: PairWeights
) -> NDArray[np.int64]:
    """Return the weight of each distance, after checking that the counts are of this text."""
    if corpus.vocabulary.words != counts.vocabulary.words:
        raise CountError(
            "The counts and the corpus have different vocabularies; restrict the vocabulary of "
            "the corpus, not of the counts, and count it again."
        )
    if counts.weights is None or any("subsample" in source for source in counts.sources):
        raise CountError(
            "Minibatches need counts with known weights by distance and without subsampling; "
            "count with `subsample=None`, and use the reweighting subsampling() instead."
        )
    if pair_weights.counts is not counts.symmetric.matrix:
        raise SettingError(
            "Minibatches cannot use the reweighting dynamic_window; count with weights='dynamic' "
            "instead."
        )
    return np.array(counts.weights, dtype=np.int64)
