"""Updating a model: counts of more text added, or of some taken away, and a warm start."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import Stopwatch
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.usage import Usage
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError, SettingError
from qwem.model.settings import ResolvedSettings
from qwem.model.solution import learn
from qwem.model.subsampling import original_vocabulary
from qwem.model.update_state import REMOVED, UpdateState, digests_of, no_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.model.model import Model
    from qwem.model.settings import Settings


def update(model: Model, more: Any, remove: Any, reading: Settings) -> Model:
    """Return the model of more or less text, read in this way; see `Model.update`."""
    from qwem.model.fitting import read

    state = model.update_state
    if state is None:
        raise SettingError(
            "This model can't be updated, because it does not have its counts; fit it with "
            "`keep_counts=True`."
        )
    if more is None and remove is None:
        raise SettingError("There is nothing to update with; give text to add or to remove.")
    watch = Stopwatch()
    for source, change in ((more, _with), (remove, _without)):
        if source is None:
            continue
        if not isinstance(source, Corpus | Cooccurrence):
            with watch.stage("read"):
                source = read(source, reading)
        with watch.stage("count"):
            state = change(state, source)
    solution = learn(state.counts, _settings_of(model), watch, earlier=model.solution)
    words = len(state.counts.vocabulary)
    return replace(
        model,
        solution=solution,
        settings={**model.settings, "vocab_size": words},
        corpus={**model.corpus, "counts": list(state.counts.sources)},
        update_state=state,
        usage=Usage.of(state.counts, original_vocabulary(state.counts).counts),
        chosen=f"{words:,} words; dimension {solution.spectrum.dim}; updated.",
        seconds=watch.seconds,
    )


def _with(state: UpdateState, source: Corpus | Cooccurrence) -> UpdateState:
    """Add the counts of more text. New words come last."""
    own = state.counts.vocabulary
    if isinstance(source, Cooccurrence):
        return replace(state, counts=_sum(state.counts, source))
    waiting = Counter(_occurrences(state.waiting))
    waiting.update(_occurrences(source.vocabulary))
    known = {*state.words, *own}
    entering = [
        word for word, often in waiting.items() if often >= state.enters_at and word not in known
    ]
    of_added_counts = [word for word in own if word not in state.words]
    entering += of_added_counts
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
        waiting=_vocabulary(rest),
        documents=np.append(state.documents, digests_of(source)),
        batches=np.vstack([state.batches, [number, len(counted)]]),
    )


def _without(state: UpdateState, source: Corpus | Cooccurrence) -> UpdateState:
    """Subtract the counts of some text."""
    if isinstance(source, Cooccurrence):
        return replace(state, counts=_occurring(state.counts - source))
    places = _places(state, source)
    counts, documents = state.counts, state.documents.copy()
    waiting = Counter(_occurrences(state.waiting))
    documents[places] = REMOVED
    numbers = places + state.batches[0, 0]
    batch_of = np.searchsorted(state.batches[:, 0], numbers, side="right") - 1
    for batch in np.unique(batch_of):
        chosen = np.flatnonzero(batch_of == batch)
        part = _spread(source, chosen, numbers[chosen])
        if batch > 0:
            waiting -= Counter(_occurring_words(part))
        part = part.recode(state.words_of_batch(batch), oov=state.oov)
        counts -= _count(state, part, int(numbers[chosen].min()))
    return replace(
        state, counts=_occurring(counts), documents=documents, waiting=_vocabulary(waiting)
    )


def _count(state: UpdateState, corpus: Corpus, first_document: int) -> Cooccurrence:
    """Count a text as the first was: the same window, and frequent words thinned out alike."""
    if state.counts.weights is None:
        raise SettingError(
            "The window of this model's counts is not known, so text can't be counted as it was; "
            "count it yourself, and give the counts."
        )
    source = state.counts.sources[0]
    thinning = {name: source[name] for name in ("subsample", "seed", "draws") if name in source}
    return Cooccurrence.count(
        replace(corpus, first_document=first_document),
        slots=state.counts.slots,
        **thinning,
    )


def _occurrences(vocabulary: Vocabulary) -> dict[str, int]:
    return dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))


def _occurring_words(corpus: Corpus) -> dict[str, int]:
    """Return how often each word occurs in a part of a corpus."""
    numbers = np.bincount(corpus.tokens, minlength=len(corpus.vocabulary)).tolist()
    return dict(zip(corpus.vocabulary.words, numbers, strict=False))


def _vocabulary(occurrences: dict[str, int]) -> Vocabulary:
    return Vocabulary.from_counts(occurrences) if occurrences else no_words()


def _places(state: UpdateState, corpus: Corpus) -> NDArray[np.int64]:
    """Return which of the documents that were counted those of a corpus are.

    Documents of later texts are looked for first, because all their words are known.
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
                "the model; give documents as they were when they were counted."
            )
        found.append(places.pop())
    return np.array(found, dtype=np.int64)


def _spread(corpus: Corpus, chosen: NDArray[np.int64], numbers: NDArray[np.int64]) -> Corpus:
    """Return some documents of a corpus as a run, each at its number, with empty ones between."""
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
    return counts.reindex([word for word, often in occurrences if often])


def _settings_of(model: Model) -> ResolvedSettings:
    """Return the settings of the target and of all after it, as the model records them."""
    names = ("target", "negatives", "shrinkage", "coupling", "dim", "signed", "tol", "seed")
    made = {
        name: model.settings[name]
        for name in (*names, "polish", "ngrams")
        if name in model.settings
    }
    return ResolvedSettings(**{"subsample": None, "shrinkage": 0.0, "coupling": 0.0, **made})
