"""Updating a model: adding or subtracting counts of text, then a fit with a warm start."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from qwem._internal import artefact
from qwem._internal.resources import Stopwatch
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.contexts import Usage, original_vocabulary, recorded_subsampling
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError, SettingError
from qwem.model.fitting import learn, read
from qwem.model.settings import ResolvedSettings, Settings

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    Digests: TypeAlias = NDArray[np.uint64]
    from qwem.model.model import Model


KIND = "update state"
_ARRAYS, _WORDS, _WAITING, _COUNTS = "state.safetensors", "words.txt", "waiting.txt", "counts"

REMOVED = np.uint64(0)
"""Replaces the digest of a document that was removed."""


@dataclass(frozen=True, eq=False)
class UpdateState:
    """The counts of a model's text, and what is needed to count more text in the same way."""

    counts: Cooccurrence
    words: Vocabulary = field(repr=False)
    """All words that were counted: those of the first text, then new words in the order in which
    they entered. Their counts, by which words are subsampled, are those in the first text."""
    waiting: Vocabulary = field(repr=False)
    """Words of later texts that are still too rare to enter."""
    documents: Digests = field(repr=False)
    """A digest of each document, in the order in which they were counted. It covers the counted
    words of documents of the first text, and all words of later documents."""
    batches: NDArray[np.int64] = field(repr=False)
    """One row for each text that was counted: the number of its first document, which determines
    its subsampling, and the number of `words` at that time."""
    enters_at: int = 1
    """How often a new word must occur in later texts before it is counted."""
    oov: Literal["drop", "mask"] = "drop"
    """What happens to other words: see `qwem.corpus.reading.Reading`."""
    first_is_whole: bool = False
    """Whether every word of the first text is known to have been counted."""

    @classmethod
    def of(cls, counts: Cooccurrence, corpus: Corpus | None, least: int | None) -> UpdateState:
        """Return the state after the first text, whose corpus may be unknown.

        A new word enters when it has occurred `least` times, by default as often as the rarest
        word.
        """
        if corpus is None:
            _, frequencies = recorded_subsampling(counts.vocabulary, counts.sources)
            words = Vocabulary(counts.vocabulary.words, frequencies)
        else:
            words = corpus.vocabulary
        least = least or max(1, int(words.counts.min()))
        first = 0 if corpus is None else corpus.first_document
        state = cls(
            counts,
            words,
            waiting=Vocabulary.from_counts({}),
            documents=np.empty(0, np.uint64) if corpus is None else digests_of(corpus),
            batches=np.array([[first, len(words)]]),
            enters_at=least,
        )
        if corpus is None:
            return state
        if corpus.mask_id is not None:
            return replace(state, oov="mask")
        all_counted = corpus.settings.get("words_read") == corpus.tokens.size
        return replace(state, first_is_whole=all_counted)

    def words_of_batch(self, batch: int) -> Vocabulary:
        """Return the vocabulary with which a batch was counted."""
        return self.words.restrict(int(self.batches[batch, 1]))

    def first_digests_of(self, corpus: Corpus) -> Digests:
        """Return a digest of each document's words that were counted in the first text.

        The words that the first fit dropped are not known, so they can't be compared.
        """
        if self.first_is_whole:
            return digests_of(corpus)
        return digests_of(corpus.recode(self.words_of_batch(0), oov=self.oov))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a directory."""
        with artefact.writing(path, KIND) as directory:
            self.counts.save(directory / _COUNTS)
            arrays = {
                "words": self.words.counts,
                "waiting": self.waiting.counts,
                "documents": self.documents,
                "batches": self.batches,
            }
            artefact.write_arrays(directory / _ARRAYS, arrays)
            artefact.write_words(directory / _WORDS, self.words.words)
            artefact.write_words(directory / _WAITING, self.waiting.words)
            facts = {
                "enters_at": self.enters_at,
                "oov": self.oov,
                "first_is_whole": self.first_is_whole,
            }
            artefact.write_metadata(directory, KIND, facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> UpdateState:
        """Read what `save` wrote."""

        def build(saved: artefact.Saved) -> UpdateState:
            arrays = saved.arrays(_ARRAYS)
            artefact.require_shapes(arrays, documents="d", batches="b2")
            return cls(
                Cooccurrence.load(saved.child(_COUNTS)),
                Vocabulary(saved.words(_WORDS), arrays["words"]),
                Vocabulary(saved.words(_WAITING), arrays["waiting"]),
                arrays["documents"],
                arrays["batches"],
                saved.metadata["enters_at"],
                saved.metadata["oov"],
                saved.metadata["first_is_whole"],
            )

        return artefact.load(path, KIND, build)


def digests_of(corpus: Corpus) -> Digests:
    """Return a digest of each document's words; it does not depend on their ids."""
    by_id = np.append(corpus.vocabulary.digests, np.uint64(0))  # the mask is no word
    digests = b"".join(
        _digest(by_id[corpus.tokens[begin:end]].tobytes())
        for begin, end in pairwise(corpus.offsets.tolist())
    )
    return np.maximum(np.frombuffer(digests, np.uint64), 1)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


def update(model: Model, more: Any, remove: Any, reading: Settings) -> Model:
    """Return the model with text added or removed, read as `reading` says; see `Model.update`."""
    state = model.update_state
    if state is None:
        raise SettingError(
            "This model can't be updated, because it does not have its counts; fit it with "
            "`keep_counts=True`."
        )
    if more is None and remove is None:
        raise SettingError("There is nothing to update with; give text to add or to remove.")
    watch = Stopwatch()
    changes: list[tuple[Corpus | Cooccurrence, int]] = []
    for source, change in ((more, _with), (remove, _without)):
        if source is None:
            continue
        if not isinstance(source, Corpus | Cooccurrence):
            with watch.stage("read"):
                source = read(source, reading)
        with watch.stage("count"):
            state = change(state, source)
        changes.append((source, 1 if change is _with else -1))
    solution = learn(state.counts, _settings_of(model), watch, earlier=model.solution)
    words = len(state.counts.vocabulary)
    return replace(
        model,
        solution=solution,
        settings={**model.settings, "vocab_size": words},
        corpus={**model.corpus, "counts": list(state.counts.sources)},
        update_state=state,
        usage=Usage.of(state.counts, _frequencies(model, state.counts, changes)),
        chosen=f"{words:,} words; dimension {solution.spectrum.dim}; updated.",
        seconds=watch.seconds,
    )


def _frequencies(
    model: Model, counts: Cooccurrence, changes: list[tuple[Corpus | Cooccurrence, int]]
) -> NDArray[np.int64]:
    """Return how often words occur in all text, estimated if only counts were given."""
    assert model.update_state is not None
    if model.usage is None or any(isinstance(source, Cooccurrence) for source, _ in changes):
        return original_vocabulary(counts).counts
    often = Counter(model.update_state.waiting.frequencies)
    often.update(dict(zip(model.vocabulary, model.usage.frequencies.tolist(), strict=True)))
    for source, sign in changes:
        for word, count in source.vocabulary.frequencies.items():
            often[word] += sign * count
    return np.array([often[word] for word in counts.vocabulary], dtype=np.int64)


def _with(state: UpdateState, source: Corpus | Cooccurrence) -> UpdateState:
    """Add the counts of more text. New words come last."""
    own = state.counts.vocabulary
    if isinstance(source, Cooccurrence):
        return replace(state, counts=_sum(state.counts, source))
    waiting = Counter(state.waiting.frequencies)
    waiting.update(source.vocabulary.frequencies)
    known = {*state.words, *own}
    entering = [
        word for word, often in waiting.items() if often >= state.enters_at and word not in known
    ]
    entering += [word for word in own if word not in state.words]  # of counts that were added
    known.update(entering)
    counted = Vocabulary(
        (*state.words.words, *entering),
        np.append(state.words.counts, np.zeros(len(entering), np.int64)),
    )
    number = int(state.batches[0, 0]) + len(state.documents)
    more = _count(state, source.recode(counted, oov=state.oov), number)
    rest = {word: count for word, count in waiting.items() if word not in known}
    return replace(
        state,
        counts=_sum(state.counts, more),
        words=counted,
        waiting=Vocabulary.from_counts(rest),
        documents=np.append(state.documents, digests_of(source)),
        batches=np.vstack([state.batches, [number, len(counted)]]),
    )


def _without(state: UpdateState, source: Corpus | Cooccurrence) -> UpdateState:
    """Subtract the counts of text that was counted before."""
    if isinstance(source, Cooccurrence):
        return replace(state, counts=_occurring(state.counts - source))
    places = _places(state, source)
    counts, documents = state.counts, state.documents.copy()
    waiting = Counter(state.waiting.frequencies)
    documents[places] = REMOVED
    numbers = places + state.batches[0, 0]
    batch_of = np.searchsorted(state.batches[:, 0], numbers, side="right") - 1
    for batch in np.unique(batch_of):
        chosen = np.flatnonzero(batch_of == batch)
        documents_left = _spread(source, chosen, numbers[chosen])
        if batch > 0:
            waiting -= Counter(_occurring_words(documents_left))
        recoded = documents_left.recode(state.words_of_batch(batch), oov=state.oov)
        counts -= _count(state, recoded, int(numbers[chosen].min()))
    return replace(
        state,
        counts=_occurring(counts),
        documents=documents,
        waiting=Vocabulary.from_counts(waiting),
    )


def _count(state: UpdateState, corpus: Corpus, first_document: int) -> Cooccurrence:
    """Count a text with the window and the subsampling of the first."""
    if state.counts.weights is None:
        raise SettingError(
            "The window of this model's counts is not known, so text can't be counted in the same "
            "way; count it yourself, and give the counts."
        )
    source = state.counts.sources[0]
    subsampling = {name: source[name] for name in ("subsample", "seed", "draws") if name in source}
    return Cooccurrence.count(
        replace(corpus, first_document=first_document),
        slots=state.counts.slots,
        passages=None if state.counts.passages is None else state.counts.passages.length,
        **subsampling,
    )


def _occurring_words(corpus: Corpus) -> dict[str, int]:
    """Return how often each word occurs in a corpus that is part of another."""
    return dict(zip(corpus.vocabulary.words, corpus.token_counts().tolist(), strict=False))


def _places(state: UpdateState, corpus: Corpus) -> NDArray[np.int64]:
    """Return the place of each document of a corpus among the documents that were counted.

    Documents of later texts are searched first, because all their words are known.
    """
    end_of_first = (
        int(state.batches[1, 0] - state.batches[0, 0]) if len(state.batches) > 1 else None
    )
    first: dict[int, list[int]] = defaultdict(list)
    later: dict[int, list[int]] = defaultdict(list)
    for place, digest in enumerate(state.documents.tolist()):
        (first if end_of_first is None or place < end_of_first else later)[digest].append(place)
    found = []
    digests = zip(digests_of(corpus).tolist(), state.first_digests_of(corpus).tolist(), strict=True)
    for number, (whole, counted) in enumerate(digests):
        places = later[whole] or first[counted]
        if not places:
            tokens = corpus.tokens[corpus.offsets[number] : corpus.offsets[number + 1]][:8]
            text = " ".join(corpus.vocabulary.words[token] for token in tokens)
            raise CorpusError(
                f"Document {number + 1:,} of the text to remove ({text} …) is not in the text of "
                "the model; give documents exactly as they were when they were counted."
            )
        found.append(places.pop())
    return np.array(found, dtype=np.int64)


def _spread(corpus: Corpus, chosen: NDArray[np.int64], numbers: NDArray[np.int64]) -> Corpus:
    """Return the chosen documents, each at its number, with empty documents in the gaps."""
    order = np.argsort(numbers)
    chosen, places = chosen[order], numbers[order] - numbers.min()
    begins, ends = corpus.offsets[:-1][chosen], corpus.offsets[1:][chosen]
    tokens: list[Any] = [
        corpus.tokens[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)
    ]
    lengths = np.zeros(int(places[-1]) + 1, np.int64)
    lengths[places] = ends - begins
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return replace(corpus, tokens=np.concatenate(tokens), offsets=offsets)


def _sum(counts: Cooccurrence, more: Cooccurrence) -> Cooccurrence:
    """Add the counts of more text. New words come last."""
    own = counts.vocabulary
    words = (*own, *(word for word in more.vocabulary if word not in own))
    return _occurring(counts.reindex(words) + more.reindex(words))


def _occurring(counts: Cooccurrence) -> Cooccurrence:
    """Return counts without the words that no longer occur."""
    occurrences = zip(counts.vocabulary, counts.word_counts, strict=True)
    words = [word for word, often in occurrences if often]
    if not words:
        raise CorpusError("No text of the model would be left; remove less, or fit a new model.")
    return counts.reindex(words)


def _settings_of(model: Model) -> ResolvedSettings:
    """Return the model's recorded settings of the target and all later stages."""
    later = Settings.options("target", "factorize", "polish", "")
    made = {name: model.settings[name] for name in later if name in model.settings}
    return ResolvedSettings(
        **{"subsample": None, "passages": None, "shrinkage": 0.0, "coupling": 0.0, **made}
    )
