"""Text to a model: the five stages in a row."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from qwem._internal.inputs import is_url
from qwem._internal.progress import Stopwatch
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus, Vocabulary
from qwem.errors import CorpusError, SettingError
from qwem.model.choices import cut_to_memory, describe, require_enough, settle
from qwem.model.model import Model
from qwem.model.provenance import refuse_settled, settings_of
from qwem.model.settings import Settings
from qwem.model.solution import learn
from qwem.model.thinning import thinning_of, words_before
from qwem.model.update_state import UpdateState

if TYPE_CHECKING:
    from qwem.model.settings import Preset, SettingChanges

# No space, and an ending that files of text have.
_FILE_NAME = re.compile(r"\S+\.(txt|text|json|jsonl|ndjson|parquet|csv|tsv|md)(\.\w+)?")


def fit(
    source: Any,
    settings: Settings | None = None,
    *,
    preset: Preset | None = None,
    keep_counts: bool = False,
    threads: int | None = None,
    **changes: Unpack[SettingChanges],
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
    threads
        How many to use; all cores by default.
    changes
        Any field of `qwem.Settings`, such as ``dim=100`` or ``window=5``. A setting of a stage that
        is handed in ready-made is refused, and is passed over in `settings` and presets.

    >>> documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    >>> words = fit(documents, dim=1).embedding()
    >>> words.similarity("king", "queen") > words.similarity("king", "cat")
    True
    """
    if settings is not None and preset is not None:
        raise SettingError("Both settings and a preset were given; pass one of the two.")
    settings = Settings.of(preset, **changes) if settings is None else settings.changed(**changes)
    refuse_settled(source, changes)
    watch = Stopwatch()
    corpus = found = None
    if isinstance(source, Cooccurrence):
        counts = source
    else:
        with watch.stage("read"):
            corpus = source if isinstance(source, Corpus) else read(source, settings, threads)
            found = len(corpus.vocabulary)
            if corpus is not source and settings.vocab_size is None:
                corpus = cut_to_memory(corpus, settings)
        require_enough(settings, corpus.vocabulary)
        with watch.stage("count"):
            counts = count(corpus, settings, threads)
    model = fit_counts(counts, corpus, settings, watch, found=found, threads=threads)
    if corpus is not None:
        model = replace(model, corpus={"fingerprint": corpus.fingerprint, **model.corpus})
    if not keep_counts:
        return model
    chosen_here = corpus is not source and settings.vocab_size is None
    least = None
    if corpus is not None and chosen_here and len(corpus.vocabulary) == found:
        least = corpus.settings.get("min_count")
    return replace(model, update_state=_update_state(counts, corpus, least))


def fit_counts(
    counts: Cooccurrence,
    corpus: Corpus | None,
    settings: Settings,
    watch: Stopwatch,
    *,
    found: int | None = None,
    threads: int | None = None,
    **solvers: Any,
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
    found
        How many words there were before memory limited them.
    threads
        How many to use; all cores by default.
    solvers
        What does the work in place of `qwem.factorize` and `qwem.polish.polish`: functions
        `factorize` and `polish` that take the same arguments.
    """
    # Subsampled counts have fewer words than the text that settings are chosen for.
    vocabulary = words_before(counts) if corpus is None else corpus.vocabulary
    require_enough(settings, vocabulary)
    settled = settle(settings, vocabulary)
    solution = learn(counts, settled, threads, watch, **solvers)
    known = {} if corpus is None else corpus.settings
    return Model(
        solution,
        settings_of(corpus, counts, solution.spectrum, settled),
        {"counts": list(counts.sources), **known},
        None if corpus is None else corpus.phrases,
        None,
        describe(settled, settings, vocabulary, corpus, found or len(vocabulary)),
        watch.seconds,
    )


def read(source: Any, settings: Settings, threads: int | None = None) -> Corpus:
    """Encode text: paths to files, or documents."""
    if _are_paths(source):
        return Corpus.from_files(
            source, documents=settings.documents, threads=threads, **settings.reading
        )
    return Corpus.from_documents(source, threads=threads, **settings.reading)


def count(corpus: Corpus, settings: Settings, threads: int | None = None) -> Cooccurrence:
    """Count the pairs of a corpus."""
    settled = settle(settings, corpus.vocabulary)
    return Cooccurrence.count(
        corpus,
        settled.window,
        settled.weights,
        subsample=settled.subsample,
        draws=settled.draws,
        seed=settled.seed,
        threads=threads,
    )


def _update_state(counts: Cooccurrence, corpus: Corpus | None, least: int | None) -> UpdateState:
    """Return what an update of the model will need.

    A new word enters when it has occurred `least` times, or else as often as the rarest word.
    """
    if corpus is None:
        frequencies = thinning_of(counts.vocabulary, counts.sources).frequencies
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
