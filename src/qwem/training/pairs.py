"""Minibatches of word pairs, drawn from the text in the background.

A positive pair is a random place of the text and one of its neighbours, drawn in proportion to the
weight of its distance. So an ordered pair is drawn with probability P_ij. With `flatten` β > 0,
words are accepted with probability a_i = (P_min/P_i)^β, and negatives are drawn from P^(1 − β)
instead of P. Importance weights correct for this: the loss of a batch is an unbiased estimate of
the population loss for every β, and only its variance changes. At the paper's β = 0, the weights of
Setting 3.1 span many orders of magnitude. At β = 1 all words are about equally likely, and the
weights are of similar size.

The text is laid out in chunks of some tens of millions of words, which are visited in random order.
Each chunk is read from disk at once and weighted by the pairs that it contains. The chunk of a
batch and the pairs drawn from it depend only on the key and the number of the batch, not on the
number of threads or on interruptions.
"""

from __future__ import annotations

import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import even_cuts
from qwem.errors import CorpusError, CountError, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.training.weighting import PairWeights

CHUNK_TOKENS = 1 << 25
"""Words per chunk: 64 or 128 MB, and three times that where rare words are preferred."""


class Chunk(NamedTuple):
    """Chunk of the text, from which pairs are drawn in proportion to C_ij a_i a_j."""

    number: int
    stream: NDArray[Any]
    """Token ids, with gaps between documents and at both ends."""
    begin: int
    end: int
    kept: float
    """Σ C_ij a_i a_j over the pairs whose centres are in this chunk."""
    by_word: tuple[NDArray[Any], ...]
    """The places of each word, where they start, and an alias table of accepted centres; all empty
    if every word is accepted."""


_AHEAD = 4
"""Batches that are drawn in the background."""


class Sorting(NamedTuple):
    """Order of pairs by word: word w has the pairs order[starts[w]:starts[w + 1]]."""

    order: NDArray[np.int32]
    starts: NDArray[np.int32]


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
    """Sampler of batches of pairs, each determined by a key and a number; see the module.

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
        chunk_tokens: int = CHUNK_TOKENS,
    ) -> None:
        self._distances = _checked_distances(corpus, counts)
        if batch_size < 2 or batch_size % 2:
            raise SettingError(f"batch_size must be a positive even number, not {batch_size}.")
        if not 0 <= flatten <= 1:
            raise SettingError(f"flatten must be between 0 and 1, not {flatten}.")
        self.batch_size = batch_size
        self.dtype = np.dtype(dtype)
        self._pair_weights = pair_weights
        accept, drawn = flattened(counts.word_counts, flatten)
        self._accept = np.append(accept, 0.0)  # the probability a_i of accepting a word; 0 for gaps
        one_side = np.repeat(np.arange(1, len(self._distances) + 1), self._distances)
        self._reach = np.concatenate([-one_side, one_side])
        self._corpus = corpus
        tokens = len(corpus.tokens)
        self._cuts = even_cuts(0, tokens, max(1, -(-tokens // chunk_tokens)))
        self._chunks = len(self._cuts) - 1
        self._last: Chunk | None = None
        self._table = _alias_table(drawn)
        pairs = batch_size // 2
        self._positive_factor = pair_weights.shared / accept / np.sqrt(pairs)
        self._negative_factor = pair_weights.shared / drawn / np.sqrt(pairs)
        self._right = np.ascontiguousarray(pair_weights.right.T)
        self._drawing: dict[tuple[int, int], Future[PairBatch]] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="qwem-pairs")
        weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)
        # A chunk is used until as many positive pairs were drawn from it as it has tokens.
        self._visit = max(1, tokens // self._chunks // pairs)

    def batch(self, key: int, number: int) -> PairBatch:
        """Return batch `number` of the stream `key`, and draw the next ones in the background."""
        wanted = [(key, number + k) for k in range(_AHEAD)]
        for stale in self._drawing.keys() - set(wanted):
            self._drawing.pop(stale).cancel()
        for name in wanted:
            if name not in self._drawing:
                self._drawing[name] = self._pool.submit(self.draw, *name)
        return self._drawing[key, number].result()

    def draw(self, key: int, number: int) -> PairBatch:
        """Draw batch `number` of the stream `key`."""
        from qwem.training.kernels import derive_key, draw_positives, draw_words

        chunk = self._chunk(self.chunk_of(key, number))
        pairs = self.batch_size // 2
        centres = np.empty(2 * pairs, np.int32)
        contexts = np.empty(2 * pairs, np.int32)
        streams = [np.uint64(derive_key(key, 3 * number + k)) for k in range(3)]
        place = chunk.stream, chunk.begin, chunk.end, chunk.by_word
        both = centres[:pairs], contexts[:pairs]
        draw_positives(streams[0], *place, self._reach, self._accept, *both)
        draw_words(streams[1], *self._table, centres[pairs:])
        draw_words(streams[2], *self._table, contexts[pairs:])
        by_centre = _sorted(centres, self._gap)
        centres, contexts = centres[by_centre.order], contexts[by_centre.order]
        is_positive = by_centre.order < pairs
        # Chunks are used equally often, so each is scaled by the number of chunks.
        share = self._chunks * chunk.kept / self._pair_weights.total
        weights = self._weights(centres, contexts, is_positive, share)
        by_context = _sorted(contexts, self._gap)
        return PairBatch(
            centres,
            contexts,
            is_positive,
            weights,
            by_centre.starts,
            by_context,
            centres[by_context.order],
        )

    @property
    def _gap(self) -> int:
        """The token of a gap, which is also the number of words."""
        return len(self._accept) - 1

    def _chunk(self, number: int) -> Chunk:
        """Return a chunk of the text; the last one is kept in memory."""
        if self._last is None or self._last.number != number:
            self._last = None  # memory may not suffice for two
            self._last = self._read(number)
        return self._last

    def _read(self, number: int) -> Chunk:
        """Read a chunk, with gaps between documents, and with the words before and after it."""
        from qwem.training.kernels import lay_out, sum_accepted

        corpus, window, gap = self._corpus, len(self._distances), self._gap
        start, stop = int(self._cuts[number]), int(self._cuts[number + 1])
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
        if self._accept[:-1].min() == 1:
            no_numbers = np.empty(0, np.int32)
            index = no_numbers, no_numbers, np.empty(0), no_numbers
            return Chunk(number, stream, begin, end, kept, index)
        places, starts = _sorted(stream[begin:end], gap + 1)
        places += np.int32(begin)
        weight = np.diff(starts)[:-1] * self._accept[:-1]
        index = places, starts, *_alias_table(weight / weight.sum())
        return Chunk(number, stream, begin, end, kept, index)

    def _weights(
        self,
        centres: NDArray[np.int32],
        contexts: NDArray[np.int32],
        is_positive: NDArray[np.bool_],
        share: float,
    ) -> NDArray[Any]:
        """Return Ψ⁺ P_ij/Q⁺_ij and Ψ⁻ P_i P_j/Q⁻_ij, where Q± are the probabilities of a draw."""
        from qwem.training.kernels import weigh_pairs

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
        """Return the counts of pairs."""
        from qwem.training.kernels import look_up_sparse

        counts = self._pair_weights.counts
        if isinstance(counts, np.ndarray):
            return counts[centres, contexts].astype(np.float64)
        found = np.empty(len(centres))
        look_up_sparse(counts.indptr, counts.indices, counts.data, centres, contexts, found)
        return found

    def chunk_of(self, key: int, number: int) -> int:
        """Return the chunk of a batch; each round visits all chunks once, in random order."""
        round_, place = divmod(number // self._visit, self._chunks)
        return int(np.random.default_rng([key, round_]).permutation(self._chunks)[place])


def flattened(
    word_counts: NDArray[np.integer[Any]], flatten: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the chance a_i of accepting each word, and that of drawing it as a negative."""
    words = word_counts.astype(np.float64)
    drawn = words ** (1 - flatten)
    return (words.min() / words) ** flatten, drawn / drawn.sum()


def _sorted(words: NDArray[Any], size: int) -> Sorting:
    """Sort pairs, or places of the text, by their words, which are numbers below `size`."""
    from qwem.training.kernels import sort_pairs

    order, starts = np.empty(len(words), np.int32), np.empty(size + 1, np.int32)
    sort_pairs(words, order, starts)
    return Sorting(order, starts)


def _alias_table(probability: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Walker's alias table of a distribution."""
    from qwem.training.kernels import fill_alias

    limit, alias = np.empty(len(probability)), np.empty(len(probability), np.int32)
    fill_alias(probability, limit, alias)
    return limit, alias


def _checked_distances(corpus: Corpus, counts: Cooccurrence) -> NDArray[np.int64]:
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
    return np.array(counts.weights, dtype=np.int64)
