"""Folds: documents divided at random into parts, and the counts of these parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem._internal.resources import require_memory
from qwem._internal.settings import require_whole
from qwem.comparison.contexts import FoldTest
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.corpus import Corpus, Vocabulary, read_columns
from qwem.errors import CorpusError, CountError, SettingError
from qwem.model.fitting import count, read
from qwem.model.settings import resolve_auto

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.model import Settings
    from qwem.model.settings import ResolvedSettings

    Labels = NDArray[np.int64]

FEWEST_FOLDS = 2
"""Minimum number of folds of a slice in a test."""

LARGEST_TEST = 40
"""Maximum number of folds of all slices in a test, unless there are more than twenty slices."""

MIN_COUNT = 5
"""How often a word must occur in every slice of one corpus, unless `min_count` says otherwise."""


@dataclass(frozen=True, eq=False)
class FoldedCorpus:
    """A corpus whose documents are in the order of folds."""

    corpus: Corpus
    starts: Labels
    """Fold k has the documents from ``starts[k]`` up to ``starts[k + 1]``."""

    def __len__(self) -> int:
        return len(self.starts) - 1

    def fold(self, number: int) -> Corpus:
        """Return the documents of one fold."""
        return self.corpus.documents(int(self.starts[number]), int(self.starts[number + 1]))


def deal(
    corpus: Corpus, folds: int, groups: Sequence[Any] | None = None, seed: int = 0
) -> FoldedCorpus:
    """Deal documents into folds at random, with as equal numbers as possible.

    Parameters
    ----------
    corpus
        The documents.
    folds
        Number of folds.
    groups
        A label for each document, such as its author: documents of one group stay together.
    seed
        Seed of the random assignment.

    >>> from qwem import Corpus
    >>> folded = deal(Corpus.from_documents(["a b", "b c", "c d", "d a"]), 2)
    >>> [len(folded.fold(k)) for k in range(2)]
    [2, 2]
    """
    require_whole("folds", folds, least=2)
    require_whole("seed", seed, least=0)
    units = group_numbers("groups", groups, len(corpus))
    number = int(units.max(initial=-1)) + 1
    if number < folds:
        kind = "documents" if groups is None else "groups"
        raise SettingError(f"{number:,} {kind} can't be dealt into {folds} folds; use fewer folds.")
    return arrange(corpus, _random_folds(number, folds, np.random.default_rng(seed))[units], folds)


def group_numbers(name: str, labels: Sequence[Any] | None, documents: int) -> Labels:
    """Return the label of each document as a number from 0; one without a label has its own."""
    if labels is None:
        return np.arange(documents)
    require_labels(name, labels, documents)
    return numbered([(None, i) if label is None else label for i, label in enumerate(labels)])


def require_labels(name: str, labels: Sequence[Any], documents: int) -> None:
    """Raise unless there is a label for each document."""
    if len(labels) != documents:
        raise SettingError(
            f"{name} needs one label for each of the {documents:,} documents, and has "
            f"{len(labels):,}."
        )


def labels_of(source: Any, labels: Any, settings: Settings) -> Any:
    """Return labels of documents: as given, or the values in the column of `source` so named."""
    return columns_in(source, labels, settings)[labels] if isinstance(labels, str) else labels


def columns_in(source: Any, names: Any, settings: Settings) -> dict[str, list[Any]]:
    """Return columns of the table that a text is read from."""
    if isinstance(source, Corpus):
        raise SettingError(
            "An encoded corpus has no columns; give the table that it was made from, or a value "
            "for each document."
        )
    return read_columns(source, names, encoding=settings.encoding, query=settings.query)


def numbered(labels: Sequence[Any]) -> Labels:
    """Return labels as numbers from 0, in the order in which they first occur.

    >>> numbered(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    places: dict[Any, int] = {}
    return np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)


def arrange(corpus: Corpus, fold_of: Labels, folds: int) -> FoldedCorpus:
    """Return a corpus with its documents in the order of folds, given the fold of each."""
    order = np.argsort(fold_of, kind="stable")
    starts = np.searchsorted(fold_of[order], np.arange(folds + 1))
    require_memory(corpus.tokens.nbytes, "A copy of the corpus in folds", "use less text")
    begins, ends = corpus.offsets[:-1][order], corpus.offsets[1:][order]
    spans = zip(begins.tolist(), ends.tolist(), strict=True)
    tokens = np.concatenate([corpus.tokens[begin:end] for begin, end in spans])
    offsets = np.concatenate([[0], np.cumsum(ends - begins)])
    return FoldedCorpus(replace(corpus, tokens=tokens, offsets=offsets, first_document=0), starts)


def _random_folds(units: int, folds: int, rng: np.random.Generator) -> Labels:
    """Return a random fold for each unit, with folds of as equal size as possible."""
    return rng.permutation(np.arange(units) % folds)


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

    def __iter__(self) -> Iterator[Cooccurrence]:
        return (self.fold(number) for number in range(len(self)))

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
        """Return the sum of the folds' counts, each multiplied by its weight."""
        chosen = [number for number, weight in enumerate(weights) if weight]
        if not chosen:
            raise CountError("All folds have weight zero; give at least one a weight.")
        total = self.fold(chosen[0]) * weights[chosen[0]]
        for number in chosen[1:]:
            total += self.fold(number) * weights[number]
        return with_every_word(total)


def with_every_word(counts: Cooccurrence) -> Cooccurrence:
    """Return the counts with one self-pair for each word without pairs.

    A part of a text can lack a word of the whole. The word then has next to no evidence, and
    shrinkage brings its vector close to zero.
    """
    lacking = np.flatnonzero(counts.pair_sums == 0)
    words = np.maximum(counts.word_counts, 1)
    counts = replace(counts, vocabulary=Vocabulary(counts.vocabulary.words, words))
    if not len(lacking):
        return counts
    first, *others = counts.matrices
    self_pairs = sparse.coo_array(
        (np.ones(len(lacking), int), (lacking, lacking)), shape=first.shape
    )
    return replace(counts, matrices=(first + PairCounts.from_matrix(self_pairs), *others))


@dataclass(frozen=True, eq=False, kw_only=True)
class Slice(FoldCounts):
    """The counts of one slice by fold."""

    strata: Labels
    """The stratum of each fold."""
    documents: int
    groups: int
    """How many documents or groups of documents were dealt into folds."""

    @cached_property
    def counts(self) -> Cooccurrence:
        """The counts of all folds together, with every word."""
        return with_every_word(self.total)


@dataclass(frozen=True, eq=False)
class Slices:
    """The counts of several corpora by fold, all with the same words."""

    slices: Mapping[str, Slice]
    settings: ResolvedSettings
    sizes: NDArray[np.int64]
    """The number of tokens of each stratum of each slice, one row per slice."""
    others: Mapping[str, Mapping[str, int]]
    """For each slice, its words that some other slice lacks, with their counts."""
    strata: tuple[str, ...]
    """The names of strata."""

    def __getitem__(self, name: str) -> Slice:
        return self.slices[name]

    @property
    def all(self) -> Cooccurrence:
        """The counts of all slices together."""
        first, *others = (each.counts for each in self.slices.values())
        return with_every_word(sum(others, start=first))

    def folds_of(self, names: Sequence[str], total: int) -> FoldTest:
        """Return a test of some slices with about `total` folds, in proportion to their size."""
        rows = [list(self.slices).index(name) for name in names]
        wanted = np.zeros_like(self.sizes)
        wanted[rows] = _proportional(self.sizes[rows], total)
        fold_of: list[Labels] = []
        slice_of: list[int] = []
        stratum_of: list[int] = []
        for numbers, (name, each) in zip(wanted, self.slices.items(), strict=True):
            own = np.full(len(each), -1)
            for stratum in np.unique(each.strata).tolist() if name in names else ():
                counted = np.flatnonzero(each.strata == stratum)
                for part in np.array_split(counted, max(1, min(numbers[stratum], len(counted)))):
                    own[part] = len(slice_of)
                    slice_of.append(names.index(name))
                    stratum_of.append(stratum)
            fold_of.append(own)
        return FoldTest(np.concatenate(fold_of), np.array(stratum_of), np.array([slice_of]))

    def fold_weights(self, first: str, last: str) -> list[NDArray[np.float64]]:
        """Return weights of the folds of two slices that make strata equally large in both."""
        shares = dict(zip(self.slices, self.sizes / self.sizes.sum(axis=1)[:, None], strict=True))
        both = (shares[first] > 0) & (shares[last] > 0)
        common = (shares[first] + shares[last]) / 2
        found = []
        for name in (first, last):
            weights = np.divide(common, shares[name], out=np.zeros_like(common), where=both)
            own = [(each == name) * weights[part.strata] for each, part in self.slices.items()]
            found.append(np.concatenate(own))
        return found


def slices_of(
    corpora: Mapping[str, Any],
    settings: Settings,
    folds: int,
    groups: Mapping[str, Sequence[Any]] | None = None,
    strata: Mapping[str, Sequence[Any]] | None = None,
    between: tuple[str, str] | None = None,
) -> Slices:
    """Return the counts of corpora by fold, of the words that all of them have.

    The most frequent `vocab_size` words of all corpora together are kept. How much a frequent word
    is subsampled depends on its frequency in all of them, so that it is the same in each. Each
    corpus has at least about `folds` folds, and as many as a test `between` two of them needs.
    """
    reading = settings.changed(vocab_size=None)
    found = {
        name: source if isinstance(source, Corpus) else read(source, reading)
        for name, source in corpora.items()
    }
    least = settings.min_count if isinstance(settings.min_count, int) else MIN_COUNT
    vocabulary, others = _shared(found, least, settings.vocab_size)
    resolved = resolve_auto(reading, vocabulary)
    labels: dict[Any, int] = {}
    numbers, units = {}, {}
    for name, corpus in found.items():
        units[name] = group_numbers("groups", None if groups is None else groups[name], len(corpus))
        numbers[name] = np.zeros(len(corpus), dtype=np.int64)
        if strata is not None:
            require_labels(f"strata of {name}", strata[name], len(corpus))
            numbers[name] = np.array([labels.setdefault(x, len(labels)) for x in strata[name]])
    sizes = np.array(
        [
            np.bincount(numbers[name], np.diff(corpus.offsets), minlength=max(1, len(labels)))
            for name, corpus in found.items()
        ]
    ).astype(np.int64)
    pair = [name in (between or found) for name in found]
    wanted = _proportional(sizes, min(LARGEST_TEST, folds * len(found)))
    wanted[pair] = _proportional(sizes[pair], 2 * folds)
    slices = {}
    for place, (name, corpus) in enumerate(found.items()):
        shares = sizes[place] / max(1, sizes[place].sum())
        # A multiple of the test's folds, so that these are of equal size.
        own = {
            stratum: number * -(-round(folds * shares[stratum]) // number)
            for stratum in np.unique(numbers[name]).tolist()
            for number in [max(1, int(wanted[place, stratum]))]
        }
        fold_of, fold_strata = _folds_in_strata(units[name], numbers[name], own, resolved.seed)
        arranged = arrange(corpus.recode(vocabulary), fold_of, len(fold_strata))
        slices[name] = Slice(
            [count(arranged.fold(k), resolved) for k in range(len(arranged))],
            resolved,
            strata=np.array(fold_strata),
            documents=len(corpus),
            groups=int(units[name].max(initial=-1)) + 1,
        )
    return Slices(slices, resolved, sizes, others, tuple(map(str, labels)))


def _proportional(sizes: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Return the number of folds of each stratum of each slice, about `total` in all.

    Folds of similar size are exchangeable under the null hypothesis; those of a small slice would
    otherwise be noisier than those of a large one. A slice has at least two, so a very small slice
    makes the number in all larger.
    """
    whole = sizes.sum(axis=1)
    least = FEWEST_FOLDS * int(whole.sum()) / max(1, int(whole.min()))
    total = max(total, min(round(least), max(LARGEST_TEST, FEWEST_FOLDS * len(whole))))
    fewest = FEWEST_FOLDS if np.count_nonzero(sizes) == len(whole) else 1
    shares = sizes / max(1, int(whole.sum()))
    return np.where(sizes > 0, np.maximum(fewest, np.round(total * shares)), 0).astype(np.int64)


def _folds_in_strata(
    units: Labels, strata: Labels, wanted: Mapping[int, int], seed: int
) -> tuple[Labels, list[int]]:
    """Return the fold of each document and the stratum of each fold, `wanted` per stratum."""
    rng = np.random.default_rng(seed)
    fold_of = np.empty(len(units), dtype=np.int64)
    fold_strata: list[int] = []
    for stratum, number in wanted.items():
        inside = strata == stratum
        own, places = np.unique(units[inside], return_inverse=True)
        folds = max(1, min(number, len(own)))
        fold_of[inside] = len(fold_strata) + _random_folds(len(own), folds, rng)[places]
        fold_strata += [stratum] * folds
    if len(fold_strata) < FEWEST_FOLDS:
        raise SettingError(
            "A corpus with a single document, or a single group of documents, can't be dealt into "
            "folds; give more, or groups that are smaller."
        )
    return fold_of, fold_strata


def _shared(
    corpora: Mapping[str, Corpus], least: int, limit: int | None
) -> tuple[Vocabulary, dict[str, dict[str, int]]]:
    """Return the words that all corpora have, with their total counts, and the others of each."""
    occurrences = {name: _occurring(corpus, least) for name, corpus in corpora.items()}
    first, *rest = occurrences.values()
    shared = {
        word: number + sum(other[word] for other in rest)
        for word, number in first.items()
        if all(word in other for other in rest)
    }
    if len(shared) < 2:
        raise CorpusError("The corpora have no words in common; give texts of one language.")
    others = {
        name: {word: number for word, number in own.items() if word not in shared}
        for name, own in occurrences.items()
    }
    vocabulary = Vocabulary.from_counts(shared)
    kept = vocabulary if limit is None else vocabulary.restrict(min(limit, len(vocabulary)))
    return kept, others


def _occurring(corpus: Corpus, least: int) -> dict[str, int]:
    """Return the counts of words in a corpus; in a part of a larger corpus, of at least `least`."""
    size = len(corpus.vocabulary)
    counts = np.bincount(corpus.tokens, minlength=size)[:size]
    kept = counts >= (least if counts.sum() < corpus.vocabulary.counts.sum() else 1)
    words = corpus.vocabulary.words
    return {words[i]: int(counts[i]) for i in np.flatnonzero(kept)}
