"""Folds: documents dealt at random into parts, and the counts of all parts but some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.resources import require_memory
from qwem._internal.settings import require_whole
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.corpus import Vocabulary
from qwem.errors import CountError, SettingError
from qwem.model.fitting import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Corpus
    from qwem.model import Settings


@dataclass(frozen=True, eq=False)
class FoldedCorpus:
    """A corpus whose documents are in the order of folds."""

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
) -> FoldedCorpus:
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
        Of the random assignment.

    >>> from qwem import Corpus
    >>> folded = deal(Corpus.from_documents(["a b", "b c", "c d", "d a"]), 2)
    >>> [len(folded.fold(k)) for k in range(2)]
    [2, 2]
    """
    require_whole("folds", folds, least=2)
    require_whole("seed", seed, least=0)
    labels = group_numbers(groups, len(corpus))
    units = int(labels.max(initial=-1)) + 1
    if units < folds:
        kind = "documents" if groups is None else "groups"
        raise SettingError(f"{units:,} {kind} can't be dealt into {folds} folds; use fewer folds.")
    return arrange(corpus, random_folds(units, folds, np.random.default_rng(seed))[labels], folds)


def group_numbers(groups: Sequence[Any] | None, documents: int) -> NDArray[np.int64]:
    """Return the group of each document as a number from 0; without groups each is its own."""
    if groups is None:
        return np.arange(documents)
    if len(groups) != documents:
        raise SettingError(
            f"groups needs one label for each of the {documents:,} documents, and has "
            f"{len(groups):,}."
        )
    places: dict[Any, int] = {}
    return np.array([places.setdefault(group, len(places)) for group in groups], dtype=np.int64)


def random_folds(units: int, folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a random fold for each unit, folds being as equal in number as can be."""
    return rng.permutation(np.arange(units) % folds)


def arrange(corpus: Corpus, fold_of: NDArray[np.int64], folds: int) -> FoldedCorpus:
    """Return a corpus in the order of folds, given the fold of each document."""
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
    arranged = replace(corpus, tokens=tokens, offsets=offsets, first_document=0)
    return FoldedCorpus(arranged, starts)


@dataclass(frozen=True, eq=False)
class FoldCounts:
    """The counts of every fold and of all together, which add up exactly."""

    source: FoldedCorpus | Sequence[Cooccurrence]
    settings: Settings
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
        if isinstance(self.source, FoldedCorpus):
            return count(self.source.corpus, self.settings)
        return Cooccurrence.merge(self.source)

    def fold(self, number: int) -> Cooccurrence:
        """Return the counts of one fold; those of a corpus are counted each time."""
        if isinstance(self.source, FoldedCorpus):
            return count(self.source.fold(number), self.settings)
        return self.source[number]

    def without(self, number: int) -> Cooccurrence:
        """Return the counts of all folds but one."""
        return with_every_word(self.total - self.fold(number))

    def weighted(self, weights: Sequence[int]) -> Cooccurrence:
        """Return the sum of the folds' counts, each as many times as its weight says."""
        chosen = [number for number, weight in enumerate(weights) if weight]
        if not chosen:
            raise CountError("No fold has a weight.")
        total = self.fold(chosen[0]) * weights[chosen[0]]
        for number in chosen[1:]:
            total += self.fold(number) * weights[number]
        return with_every_word(total)


def with_every_word(counts: Cooccurrence) -> Cooccurrence:
    """Return the counts with one self-pair for each word without pairs.

    A part of a text can lack a word of the whole. It then has next to no evidence, and its vector
    is next to zero where evidence shrinks vectors.
    """
    lacking = np.flatnonzero(counts.pair_sums == 0)
    words = np.maximum(counts.word_counts, 1)
    counts = replace(counts, vocabulary=Vocabulary(counts.vocabulary.words, words))
    if not len(lacking):
        return counts
    first, *others = counts.matrices
    once = sparse.coo_array((np.ones(len(lacking), int), (lacking, lacking)), shape=first.shape)
    return replace(counts, matrices=(first + PairCounts.from_matrix(once), *others))
