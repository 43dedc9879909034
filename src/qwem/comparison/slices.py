"""Slices: corpora in one vocabulary, dealt into folds, and their counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qwem.comparison.folds import deal, with_every_word
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError
from qwem.model import count, read, resolve_auto

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import ResolvedSettings, Settings


@dataclass(frozen=True, eq=False)
class Slices:
    """The counts of several corpora by fold, all with the same words."""

    folds: Mapping[str, list[Cooccurrence]]
    settled: ResolvedSettings

    @cached_property
    def _halves(self) -> dict[str, list[Cooccurrence]]:
        return {
            name: [sum(folds[half + 2 :: 2], start=folds[half]) for half in (0, 1)]
            for name, folds in self.folds.items()
        }

    @cached_property
    def _wholes(self) -> dict[str, Cooccurrence]:
        return {name: halves[0] + halves[1] for name, halves in self._halves.items()}

    def halves(self, name: str) -> list[Cooccurrence]:
        """Return the counts of the even folds of a slice, and of the odd ones."""
        return [with_every_word(half) for half in self._halves[name]]

    def counts(self, name: str) -> Cooccurrence:
        """Return the counts of a slice."""
        return with_every_word(self._wholes[name])

    @property
    def all(self) -> Cooccurrence:
        """The counts of all slices together."""
        first, *others = self._wholes.values()
        return with_every_word(sum(others, start=first))


def slices_of(
    corpora: Mapping[str, Any],
    settings: Settings,
    folds: int,
    threads: int | None,
    groups: Mapping[str, Sequence[Any]] | None = None,
) -> Slices:
    """Return the counts of corpora by fold, of the words that all of them have.

    The most frequent `vocab_size` words of all corpora together are kept. How much a frequent word
    is subsampled depends on its frequency in all of them, so that it is the same in each.
    """
    limit = settings.vocab_size
    reading = settings.changed(vocab_size=None)
    read_ones = {
        name: source if isinstance(source, Corpus) else read(source, reading, threads)
        for name, source in corpora.items()
    }
    vocabulary = _shared(read_ones.values(), limit)
    settled = resolve_auto(settings.changed(vocab_size=None), vocabulary)
    counted = {}
    for name, corpus in read_ones.items():
        labels = None if groups is None else groups[name]
        dealt = deal(corpus.recode(vocabulary), folds, labels, seed=settled.seed)
        counted[name] = [count(dealt.fold(k), settled, threads) for k in range(folds)]
    return Slices(counted, settled)


def _shared(corpora: Iterable[Corpus], limit: int | None) -> Vocabulary:
    """Return the words that all corpora have, with their counts in all together."""
    occurrences: dict[str, int] = {}
    first, *others = (
        dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))
        for corpus in corpora
    )
    for word, number in first.items():
        if all(word in other for other in others):
            occurrences[word] = number + sum(other[word] for other in others)
    if len(occurrences) < 2:
        raise CorpusError("The corpora have no words in common; give texts of one language.")
    vocabulary = Vocabulary.from_counts(occurrences)
    return vocabulary if limit is None else vocabulary.restrict(min(limit, len(vocabulary)))
