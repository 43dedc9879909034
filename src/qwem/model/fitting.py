"""Text to a model: the five stages in a row."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qwem._internal.files import is_url
from qwem._internal.resources import Stopwatch
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.usage import Usage
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError
from qwem.model.choices import cut_to_memory, describe, require_enough
from qwem.model.model import Model
from qwem.model.provenance import reject_fixed_settings, settings_of
from qwem.model.settings import Settings, resolve_auto
from qwem.model.solution import learn
from qwem.model.subsampling import original_vocabulary, recorded_subsampling
from qwem.model.update_state import UpdateState

if TYPE_CHECKING:
    from qwem.model.settings import Preset, ResolvedSettings
    from qwem.model.solution import Solution

# No space, and an ending that files of text have.
_FILE_NAME = re.compile(r"\S+\.(txt|text|json|jsonl|ndjson|parquet|csv|tsv|md)(\.\w+)?")


def fit(
    source: Any,
    settings: Settings | None = None,
    *,
    preset: Preset | None = None,
    keep_counts: bool = False,
    **changes: Any,
) -> Model:
    """Learn word embeddings in closed form.

    Parameters
    ----------
    source
        What to learn from: a path or several, documents (strings or lists of words), or the result
        of an earlier stage, a `Corpus` or a `Cooccurrence`.
    settings
        All settings in one object, instead of a preset.
    preset
        ``"practical"``, the default: the best vectors that are known for the text at hand;
        ``"paper"``: the paper's model.
    keep_counts
        Whether the model has its counts, so that it can be updated: see `Model.update`.
    changes
        Any field of `qwem.Settings`, such as ``dim=100`` or ``window=5``. A setting of a stage that
        is handed in ready-made is refused, and is passed over in `settings` and presets.

    >>> documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    >>> words = fit(documents, dim=1).embedding()
    >>> words.similarity("king", "queen") > words.similarity("king", "cat")
    True
    """
    given = Settings.chosen(settings, preset, changes)
    reject_fixed_settings(source, changes)
    watch = Stopwatch()
    if isinstance(source, Cooccurrence):
        model = fit_counts(source, None, given, watch)
        return replace(model, update_state=_update_state(source, None)) if keep_counts else model
    with watch.stage("read"):
        corpus = source if isinstance(source, Corpus) else read(source, given)
        resolved = resolve_auto(given, corpus.vocabulary)
        found, least = len(corpus.vocabulary), None
        if corpus is not source and given.vocab_size is None:
            corpus = cut_to_memory(corpus, resolved)
            if len(corpus.vocabulary) < found:
                resolved = resolve_auto(given, corpus.vocabulary)
            else:
                least = corpus.settings.get("min_count")
    require_enough(resolved, corpus.vocabulary)
    with watch.stage("count"):
        counts = count(corpus, resolved)
        usage = Usage.of(counts, corpus.vocabulary.counts)
    model = fit_counts(counts, corpus, resolved, watch, usage=usage, found=found)
    model = replace(model, corpus={"fingerprint": corpus.fingerprint, **model.corpus})
    return (
        replace(model, update_state=_update_state(counts, corpus, least)) if keep_counts else model
    )


def fit_counts(
    counts: Cooccurrence,
    corpus: Corpus | None,
    settings: Settings,
    watch: Stopwatch,
    *,
    usage: Usage | None = None,
    found: int | None = None,
) -> Model:
    """Learn word embeddings from counts.

    Parameters
    ----------
    counts
        The statistics.
    corpus
        What they were counted from, as far as it is known. Of it only the words and the settings
        are used, so it need not have its tokens.
    settings
        Those of reading and counting are passed over.
    watch
        Measures the stages.
    usage
        How words are used; found from the counts if it is not given.
    found
        How many words there were before memory limited them.
    """
    # Subsampled counts have fewer words than the text that settings are chosen for.
    vocabulary = original_vocabulary(counts) if corpus is None else corpus.vocabulary
    resolved = resolve_auto(settings, vocabulary)
    require_enough(resolved, vocabulary)
    solution = learn(counts, resolved, watch)
    usage = usage or Usage.of(counts, vocabulary.counts)
    return assemble(solution, counts, corpus, resolved, watch, vocabulary, found, usage)


def assemble(
    solution: Solution,
    counts: Cooccurrence,
    corpus: Corpus | None,
    resolved: ResolvedSettings,
    watch: Stopwatch,
    vocabulary: Vocabulary,
    found: int | None = None,
    usage: Usage | None = None,
) -> Model:
    """Return the model of what was learned from counts, with its description; see `fit_counts`.

    Without `usage` the model knows how often words occur, and not what they occur with.
    """
    known = {} if corpus is None else corpus.settings
    return Model(
        solution,
        settings_of(corpus, counts, solution.spectrum, resolved),
        {"counts": list(counts.sources), **known},
        None if corpus is None else corpus.phrases,
        None,
        describe(resolved, vocabulary, corpus, found or len(vocabulary)),
        watch.seconds,
        usage or Usage.of(counts, vocabulary.counts, collocates=False),
    )


def read(source: Any, settings: Settings) -> Corpus:
    """Encode text: paths to files, or documents."""
    if _are_paths(source):
        return Corpus.from_files(source, documents=settings.documents, **settings.reading)
    return Corpus.from_documents(source, **settings.reading)


def count(corpus: Corpus, settings: Settings) -> Cooccurrence:
    """Count the pairs of a corpus."""
    resolved = resolve_auto(settings, corpus.vocabulary)
    return Cooccurrence.count(
        corpus,
        resolved.window,
        resolved.weights,
        slots=resolved.slots,
        subsample=resolved.subsample,
        draws=resolved.draws,
        seed=resolved.seed,
    )


def _update_state(
    counts: Cooccurrence, corpus: Corpus | None, least: int | None = None
) -> UpdateState:
    """Return what an update of the model will need.

    A new word enters when it has occurred `least` times, or else as often as the rarest word.
    """
    if corpus is None:
        frequencies = recorded_subsampling(counts.vocabulary, counts.sources).frequencies
        words = Vocabulary(counts.vocabulary.words, frequencies)
    else:
        words = corpus.vocabulary
    return UpdateState.of(counts, words, corpus, least or max(1, int(words.counts.min())))


def _are_paths(source: Any) -> bool:
    """Return whether `source` is a path or a list of paths; strings are paths if all exist."""
    if isinstance(source, str | os.PathLike):
        return True
    if not isinstance(source, list | tuple) or not source:
        return False
    if not all(isinstance(item, str) for item in source):
        return all(isinstance(item, os.PathLike) for item in source)
    missing = next((item for item in source if not (is_url(item) or os.path.exists(item))), None)
    if missing is not None and all(map(_FILE_NAME.fullmatch, source)):
        raise CorpusError(
            f"{missing} does not exist, and all the strings given look like names of files; give "
            "paths that exist, or documents of more than one word."
        )
    return missing is None
