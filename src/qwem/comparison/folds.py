"""Folds: documents dealt at random into parts, and the counts of all parts but some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.blocks import cut_evenly, for_each
from qwem._internal.checks import require_whole
from qwem._internal.resources import require_memory, thread_count
from qwem.cooccurrence import Cooccurrence, PairCounts
from qwem.corpus import Vocabulary
from qwem.errors import CountError, SettingError
from qwem.model import Settings, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Corpus


@dataclass(frozen=True, eq=False)
class DealtCorpus:
    """A corpus in a new order, in which every fold is a run of documents."""

    corpus: Corpus
    starts: NDArray[np.int64]
    """Fold k has the documents from ``starts[k]`` up to ``starts[k + 1]``."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def fold(self, number: int) -> Corpus:
        """Return the documents of one fold."""
        return self.corpus.documents(int(self.starts[number]), int(self.starts[number + 1]))


def deal(
    corpus: Corpus, folds: int, groups: Sequence[Any] | None = None, seed: int = 0
) -> DealtCorpus:
    """Deal documents into folds at random, as equal in number as can be.

    Parameters
    ----------
    corpus
        The documents.
    folds
        How many folds.
    groups
        A label for each document, such as its author: documents of one group stay together.
    seed
        Of the dealing.

    >>> from qwem import Corpus
    >>> dealt = deal(Corpus.from_documents(["a b", "b c", "c d", "d a"]), 2)
    >>> [len(dealt.fold(k)) for k in range(2)]
    [2, 2]
    """
    require_whole("folds", folds, least=2)
    require_whole("seed", seed, least=0)
    labels = np.arange(len(corpus))
    if groups is not None:
        if len(groups) != len(corpus):
            raise SettingError(
                f"groups needs one label for each of the {len(corpus):,} documents, and has "
                f"{len(groups):,}."
            )
        places: dict[Any, int] = {}
        labels = np.array([places.setdefault(group, len(places)) for group in groups])
    units = int(labels.max(initial=-1)) + 1
    if units < folds:
        kind = "documents" if groups is None else "groups"
        raise SettingError(f"{units:,} {kind} can't be dealt into {folds} folds; use fewer folds.")
    fold_of_unit = np.random.default_rng(seed).permutation(np.arange(units) % folds)
    fold_of = fold_of_unit[labels]
    order = np.argsort(fold_of, kind="stable")
    starts = np.searchsorted(fold_of[order], np.arange(folds + 1))
    require_memory(corpus.tokens.nbytes, "A copy of the corpus in folds", "use less text")
    begins, ends = corpus.offsets[:-1][order], corpus.offsets[1:][order]
    tokens = np.concatenate(
        [
            corpus.tokens[begin:end]
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        ]
    )
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    dealt = replace(corpus, tokens=tokens, offsets=offsets, first_document=0)
    return DealtCorpus(dealt, starts)


@dataclass(frozen=True, eq=False)
class FoldCounts:
    """The counts of every fold and of all together, which add up exactly."""

    source: DealtCorpus | Sequence[Cooccurrence]
    settings: Settings
    threads: int | None = None
    ready: Cooccurrence | None = None
    """The counts of all folds together, if they are known."""

    def __post_init__(self) -> None:
        if len(self.source) < 2:
            raise SettingError("Counts by fold need at least 2 folds.")

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def total(self) -> Cooccurrence:
        """The counts of all folds together."""
        if self.ready is not None:
            return self.ready
        if isinstance(self.source, DealtCorpus):
            return count(self.source.corpus, self.settings, self.threads)
        first, *others = self.source
        return sum(others, start=first)

    def fold(self, number: int) -> Cooccurrence:
        """Return the counts of one fold; those of a corpus are counted each time."""
        if isinstance(self.source, DealtCorpus):
            return count(self.source.fold(number), self.settings, self.threads)
        return self.source[number]

    @cached_property
    def _pairs(self) -> sparse.csr_array:
        return self.total.pair_counts.tocsr()

    def without(self, number: int) -> Cooccurrence:
        """Return the counts of all folds but one.

        The pairs are a sparse matrix however many there are, because polishing takes it so.
        """
        fold = self.fold(number)
        pairs = subtract(self._pairs, fold.pair_counts.tocsr(), self.threads)
        words = self.total.word_counts - fold.word_counts
        return every_word(
            replace(
                self.total,
                vocabulary=Vocabulary(self.total.vocabulary.words, words),
                pair_counts=PairCounts(pairs),
            )
        )

    def weighted(self, weights: Sequence[int]) -> Cooccurrence:
        """Return the sum of the folds' counts, each as many times as its weight says."""
        chosen = [number for number, weight in enumerate(weights) if weight]
        if not chosen:
            raise CountError("No fold has a weight.")
        total = _times(self.fold(chosen[0]), weights[chosen[0]])
        for number in chosen[1:]:
            total += _times(self.fold(number), weights[number])
        return every_word(total)


def subtract(
    whole: sparse.csr_array, part: sparse.csr_array, threads: int | None = None
) -> sparse.csr_array:
    """Return a sparse matrix of counts less a part of it, without zeros.

    >>> whole = sparse.csr_array([[0, 3], [3, 2]], dtype=np.uint32)
    >>> subtract(whole, sparse.csr_array([[0, 1], [1, 2]], dtype=np.uint32)).toarray().tolist()
    [[0, 2], [2, 0]]
    """
    from qwem.comparison.kernels import close_gaps, subtract_rows

    size = len(whole.indptr) - 1
    runs = cut_evenly(whole.indptr, 8 * thread_count(threads))
    lengths = np.empty(size, np.int64)
    rows = np.empty_like(whole.indices), np.empty_like(whole.data)
    of_whole = whole.indptr, whole.indices, whole.data
    of_part = part.indptr, part.indices, part.data
    for_each(lambda run: subtract_rows(*run, *of_whole, *of_part, lengths, *rows), runs, threads)
    if lengths.min(initial=0) < 0:
        raise CountError("The counts to subtract are not a part of these: some are larger.")
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(whole.indptr.dtype)
    result = np.empty(indptr[-1], whole.indices.dtype), np.empty(indptr[-1], whole.data.dtype)
    for_each(lambda run: close_gaps(*run, whole.indptr, *rows, indptr, *result), runs, threads)
    return sparse.csr_array((result[1], result[0], indptr), shape=whole.shape)


def every_word(counts: Cooccurrence) -> Cooccurrence:
    """Return counts in which every word occurs: a word without pairs is once beside itself.

    A part of a text can lack a word of the whole. It then has next to no evidence, and its vector
    is next to zero where evidence shrinks vectors.
    """
    lacking = np.flatnonzero(counts.pair_counts.row_sums == 0)
    words = np.maximum(counts.word_counts, 1)
    if not len(lacking):
        return replace(counts, vocabulary=Vocabulary(counts.vocabulary.words, words))
    once = sparse.csr_array(
        (np.ones(len(lacking), dtype=np.uint32), (lacking, lacking)), shape=counts.pair_counts.shape
    )
    return replace(
        counts,
        vocabulary=Vocabulary(counts.vocabulary.words, words),
        pair_counts=counts.pair_counts + PairCounts.from_exact(once),
    )


def _times(counts: Cooccurrence, weight: int) -> Cooccurrence:
    if weight == 1:
        return counts
    matrix = counts.pair_counts.matrix.astype(np.uint64) * np.uint64(weight)
    return replace(
        counts,
        vocabulary=Vocabulary(counts.vocabulary.words, counts.word_counts * weight),
        pair_counts=PairCounts.from_exact(matrix),
    )
