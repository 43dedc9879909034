"""Slices: corpora in one vocabulary, dealt into folds, and their counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem.comparison.folds import arrange, group_numbers, random_folds, with_every_word
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError, SettingError
from qwem.model.fitting import count, read
from qwem.model.settings import resolve_auto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Settings
    from qwem.model.settings import ResolvedSettings

FEWEST_FOLDS = 2
"""Folds of a slice in a test, at least."""

LARGEST_TEST = 40
"""Folds of all slices in a test, at most, unless there are more than twenty slices."""

MIN_COUNT = 5
"""How often a word must occur in every slice of one corpus, unless `min_count` says otherwise."""


@dataclass(frozen=True, eq=False)
class Slice:
    """The counts of one slice by fold."""

    folds: list[Cooccurrence]
    strata: NDArray[np.int64]
    """The stratum of each fold."""
    documents: int
    groups: int
    """How many documents or groups of documents were dealt into folds."""

    @property
    def tokens(self) -> int:
        """How many tokens the slice has, of the words that all slices have."""
        return sum(int(fold.word_counts.sum()) for fold in self.folds)

    @cached_property
    def counts(self) -> Cooccurrence:
        """The counts of all folds together."""
        return with_every_word(sum(self.folds[1:], start=self.folds[0]))


class FoldPlan(NamedTuple):
    """The folds of a test, each a part of a slice."""

    fold_of: NDArray[np.int64]
    """The test's fold that each counted fold is a part of, −1 for none."""
    slices: NDArray[np.int64]
    """The slice of each fold of the test, as a number."""
    strata: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Slices:
    """The counts of several corpora by fold, all with the same words."""

    slices: Mapping[str, Slice]
    settled: ResolvedSettings
    sizes: Mapping[tuple[str, int], int]
    """The tokens of each stratum of each slice."""
    others: Mapping[str, Mapping[str, int]]
    """For each slice the words that some other slice lacks, with their counts."""
    strata: tuple[Any, ...]
    """The names of strata."""

    def __getitem__(self, name: str) -> Slice:
        return self.slices[name]

    @property
    def all(self) -> Cooccurrence:
        """The counts of all slices together."""
        first, *others = (each.counts for each in self.slices.values())
        return with_every_word(sum(others, start=first))

    def folds_of(self, names: Sequence[str], total: int) -> FoldPlan:
        """Return the folds of a test of some slices, about `total` in proportion to their size."""
        wanted = _proportional(
            {cell: self.sizes[cell] for cell in self.sizes if cell[0] in names}, total
        )
        fold_of: list[NDArray[np.int64]] = []
        slice_of: list[int] = []
        stratum_of: list[int] = []
        for name, each in self.slices.items():
            own = np.full(len(each.folds), -1)
            for stratum in np.unique(each.strata).tolist() if name in names else ():
                counted = np.flatnonzero(each.strata == stratum)
                for part in np.array_split(counted, min(wanted[name, stratum], len(counted))):
                    own[part] = len(slice_of)
                    slice_of.append(names.index(name))
                    stratum_of.append(stratum)
            fold_of.append(own)
        return FoldPlan(np.concatenate(fold_of), np.array(slice_of), np.array(stratum_of))


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
    limit = settings.vocab_size
    reading = settings.changed(vocab_size=None)
    found = {
        name: source if isinstance(source, Corpus) else read(source, reading)
        for name, source in corpora.items()
    }
    least = settings.min_count if isinstance(settings.min_count, int) else MIN_COUNT
    vocabulary, others = _shared(found, least, limit)
    settled = resolve_auto(settings.changed(vocab_size=None), vocabulary)
    names: dict[Any, int] = {}
    numbered, units = {}, {}
    sizes: dict[tuple[str, int], int] = {}
    for name, corpus in found.items():
        units[name] = group_numbers(None if groups is None else groups[name], len(corpus))
        numbered[name] = np.zeros(len(corpus), dtype=np.int64)
        if strata is not None:
            if len(strata[name]) != len(corpus):
                raise SettingError(
                    f"strata needs one label for each of the {len(corpus):,} documents of {name}, "
                    f"and has {len(strata[name]):,}."
                )
            numbered[name] = np.array([names.setdefault(x, len(names)) for x in strata[name]])
        lengths = np.bincount(numbered[name], np.diff(corpus.offsets))
        sizes |= {(name, stratum): int(lengths[stratum]) for stratum in np.unique(numbered[name])}
    pair = {cell: size for cell, size in sizes.items() if cell[0] in (between or found)}
    wanted = _proportional(sizes, min(LARGEST_TEST, folds * len(found)))
    wanted |= _proportional(pair, 2 * folds)
    slices = {}
    for name, corpus in found.items():
        total = sum(size for cell, size in sizes.items() if cell[0] == name)
        # Multiples of the folds of a test, so that those are of equal size.
        own = {
            stratum: number * -(-round(folds * sizes[name, stratum] / max(1, total)) // number)
            for (each, stratum), number in wanted.items()
            if each == name
        }
        recoded = corpus.recode(vocabulary)
        fold_of, fold_strata = _random_folds(units[name], numbered[name], own, settled.seed)
        arranged = arrange(recoded, fold_of, len(fold_strata))
        slices[name] = Slice(
            [count(arranged.fold(k), settled) for k in range(len(arranged))],
            np.array(fold_strata),
            len(corpus),
            int(units[name].max(initial=-1)) + 1,
        )
    return Slices(slices, settled, sizes, others, tuple(names))


def _proportional(sizes: Mapping[tuple[str, int], int], total: int) -> dict[tuple[str, int], int]:
    """Return how many of about `total` folds each stratum of each slice has, by its size.

    Folds of similar size are exchangeable under the null hypothesis; those of a small slice would
    otherwise be noisier than those of a large one. A slice has at least two, so that for a very
    small one there are more in all.
    """
    whole: dict[str, int] = {}
    for (name, _), size in sizes.items():
        whole[name] = whole.get(name, 0) + size
    least = FEWEST_FOLDS * sum(whole.values()) / max(1, min(whole.values()))
    total = max(total, min(round(least), max(LARGEST_TEST, FEWEST_FOLDS * len(whole))))
    alone = len(sizes) == len(whole)
    return {
        cell: max(FEWEST_FOLDS if alone else 1, round(total * size / max(1, sum(whole.values()))))
        for cell, size in sizes.items()
    }


def _random_folds(
    units: NDArray[np.int64], strata: NDArray[np.int64], wanted: Mapping[int, int], seed: int
) -> tuple[NDArray[np.int64], list[int]]:
    """Return the fold of each document, with so many folds in each stratum, and their strata."""
    rng = np.random.default_rng(seed)
    fold_of = np.empty(len(units), dtype=np.int64)
    fold_strata: list[int] = []
    for stratum, number in wanted.items():
        inside = strata == stratum
        own, places = np.unique(units[inside], return_inverse=True)
        folds = max(1, min(number, len(own)))
        fold_of[inside] = len(fold_strata) + random_folds(len(own), folds, rng)[places]
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
    """Return the words that all corpora have, with their counts in all together, and the others."""
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
    """Return how often words occur in a corpus, which may be a part of that of its vocabulary."""
    size = len(corpus.vocabulary)
    counts = np.bincount(corpus.tokens, minlength=size)[:size]
    kept = counts >= (least if counts.sum() < corpus.vocabulary.counts.sum() else 1)
    words = corpus.vocabulary.words
    return {words[i]: int(counts[i]) for i in np.flatnonzero(kept)}
