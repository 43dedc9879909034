"""From text files to counts or a model on a cluster, with the same bits as on one machine."""

from __future__ import annotations

import logging
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import cut_evenly
from qwem._internal.files import DiskForecast
from qwem._internal.resources import Stopwatch, threads
from qwem.cluster._counts import SavedRows, even_runs, gather_counts
from qwem.cluster._saved_rows import (
    add_rows,
    counts_of_rows,
    save_rows,
    saved_rows,
    saved_sources,
)
from qwem.cluster._tasks import (
    FAN_IN,
    add_up,
    groups_of,
    key_of,
    logging_time,
    make_all,
    once,
    require_shared,
    thread_total,
)
from qwem.cluster._words import choose_from, learn_phrases, merge_words, save_words
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus, Phrases
from qwem.corpus._shards import encode_shard, split_files
from qwem.corpus.reading import Reading
from qwem.errors import EmptyCorpusError
from qwem.model import Settings
from qwem.model.fitting import assemble, learn, require_enough, target_settings
from qwem.model.settings import resolve_auto
from qwem.target.building import TargetPlan, formula_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from qwem.corpus import Vocabulary
    from qwem.model import Model
    from qwem.model.settings import ResolvedSettings
    from qwem.target import Target

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_LOGGER = logging.getLogger(__name__)

SHARD_BYTES = 1 << 28
"""Bytes of a shard. The loss of a worker costs the reading of one shard."""
TASKS = 1
"""Counting tasks per thread; there are more if a task would exceed `TASK_TOKENS`."""
TASK_TOKENS = 1 << 28
"""The most tokens that are counted in one task, unless a single shard has more."""

_ADDED = ("text_bytes", "documents_read", "documents_kept", "words_read", "words_counted")


def count_files(
    client: Any,
    paths: Paths,
    directory: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    shard_bytes: int = SHARD_BYTES,
) -> Cooccurrence:
    """Count the pairs of words of text files on a cluster.

    The counts are those of `Cooccurrence.count` of the same text on one machine, to the last bit.
    The text is split into shards, and each is encoded once with all its words. The word counts of
    all shards are added up, and the vocabulary is chosen from them. Then each shard is counted in
    this vocabulary, and the counts are added in a tree. Every result is a file, and tasks return
    names of files. So the loss of a worker costs its current task, and an interrupted run continues
    from its files.

    Parameters
    ----------
    client
        A `dask.distributed.Client`; see `connected`.
    paths
        Files, directories, patterns or URLs, by names that every worker knows.
    directory
        Where the results of tasks are kept; every worker must reach it. `remove_results` removes
        them afterwards.
    settings
        Settings of reading and counting; by default the practical ones.
    shard_bytes
        The size of a shard.
    """
    settings = Settings() if settings is None else settings
    saved, corpus = count_text(client, paths, directory, settings, shard_bytes)
    with logging_time("the last sum", len(saved)):
        rows = [saved_rows(paths, first, last) for first, last, paths in saved]
        return counts_of_rows(rows, corpus.vocabulary.words, *saved_sources(saved[0].paths))


def fit_files(
    client: Any,
    paths: Paths,
    directory: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    shard_bytes: int = SHARD_BYTES,
) -> Model:
    """Learn word embeddings from text files on a cluster, as `qwem.fit` does on one machine.

    Workers read and count, build the target, multiply by it, and take the steps of polishing; the
    rest is done in this process, which never holds the pairs, only vectors. The counts have the
    same bits as on one machine. So do the vectors, if all machines have the same kind of processor
    and the target is sparse; with a dense target, BLAS adds in another order.

    The parameters are those of `count_files`; `settings` are of all stages.
    """
    settings = Settings() if settings is None else settings
    watch = Stopwatch()
    with ExitStack() as files:
        with watch.stage("count"):
            saved, corpus = count_text(client, paths, directory, settings, shard_bytes)
            vocabulary = corpus.vocabulary
            counts: Any = files.enter_context(gather_counts(client, directory, vocabulary, saved))
        resolved = resolve_auto(settings, vocabulary)
        require_enough(resolved, vocabulary)
        solution = learn(counts, resolved, watch, build=_build_target, stepper=counts.step)
        return assemble(solution, counts, corpus, resolved, watch, vocabulary)


def _build_target(counts: Any, settings: ResolvedSettings) -> Target:
    """Build the target of counts whose rows are on workers; see `qwem.model.fitting`."""
    made, reweighting = target_settings(counts, settings)
    plan = TargetPlan.of(counts, formula_of(made), made, reweighting=reweighting)
    target: Target = counts.target(plan)
    return target


def count_text(
    client: Any,
    paths: Paths,
    directory: str | os.PathLike[str],
    settings: Settings,
    shard_bytes: int,
) -> tuple[list[SavedRows], Corpus]:
    """Count text files, and return the counts and the corpus without its tokens."""
    reading = Reading.of(**settings.reading)
    place = Path(directory).absolute()
    require_shared(client, place)
    encoded = _encode_all(client, paths, place, reading, shard_bytes)
    kept = [(path, read) for path, read in encoded if read["documents_kept"]]
    shards = [path for path, _ in kept]
    phrases = None
    if isinstance(reading.phrases, Phrases):
        phrases = reading.phrases
    elif reading.phrases:
        phrases, shards = learn_phrases(client, shards, place, reading.phrases)
    listing = [(shard, place / f"words-{key_of(shard.name)}") for shard in shards]
    lists = make_all(client, _list_words, listing, "listing words")
    every = add_up(client, merge_words, lists, place, "words")
    wanted = reading.vocab_size, reading.min_count, reading.oov
    key = key_of(every.name, [path.name for path, _ in encoded], *wanted)
    chosen = place / f"vocabulary-{key}"

    def choose() -> None:
        vocabulary, min_count = choose_from(every, reading)
        about = _description([read for _, read in encoded], reading, vocabulary, min_count)
        if phrases is not None:
            about["phrases"] = {**phrases.settings, "found": len(phrases)}
        nothing = np.empty(0, np.uint32), np.zeros(1, np.int64)
        Corpus(*nothing, vocabulary, about, phrases=phrases).save(chosen)

    once(chosen, choose)
    corpus = Corpus.load(chosen)
    resolved = resolve_auto(settings, corpus.vocabulary)
    tasks: list[tuple[Any, ...]] = []
    for group, first in _groups(shards, [read for _, read in kept], thread_total(client)):
        how = reading.oov, first, resolved.counting
        key = key_of([shard.name for shard in group], chosen.name, *how)
        tasks.append((group, chosen, *how, place / f"counts-{key}"))
    counted = make_all(client, _count, tasks, "counting")
    return _summed(client, counted, corpus.vocabulary, resolved.window, place), corpus


def _summed(
    client: Any, counted: Sequence[Path], words: Vocabulary, window: int, place: Path
) -> list[SavedRows]:
    """Add up counts until at most `FAN_IN` files are left.

    If there are more, each run of rows is added in a tree of its own, so that no task holds all
    rows.
    """
    if len(counted) <= FAN_IN:
        return [SavedRows(0, len(words), counted)]
    runs = even_runs(client, words, window)
    sums = [SavedRows(*run, counted) for run in runs]
    while len(sums[0].paths) > FAN_IN:
        groups = groups_of(sums[0].paths)
        tasks = [
            (some, *run, place / f"sum-{key_of([path.name for path in some], run)}")
            for run, each in zip(runs, sums, strict=True)
            for some in (each.paths[start:stop] for start, stop in groups)
        ]
        added = make_all(client, add_rows, tasks, "adding counts")
        sums = [
            SavedRows(*run, added[number * len(groups) : (number + 1) * len(groups)])
            for number, run in enumerate(runs)
        ]
    return sums


def _description(
    read: Sequence[dict[str, Any]], reading: Reading, vocabulary: Vocabulary, min_count: int
) -> dict[str, Any]:
    """Return how the text of all shards was read, as the settings of one corpus."""
    sums = {name: sum(each[name] for each in read) for name in _ADDED}
    # Formats may differ, and each has settings of its own.
    known = {name: value for each in read for name, value in each.items() if name not in _ADDED}
    files = len({each["path"] for each in read})
    known.pop("path")
    return {
        **known,
        "files": files,
        "vocab_size": len(vocabulary),
        "vocabulary": "chosen",
        "min_count": min_count,
        "oov": reading.oov,
        **sums,
        "words_kept": int(vocabulary.counts.sum()),
    }


def _encode_all(
    client: Any,
    paths: Paths,
    place: Path,
    reading: Reading,
    shard_bytes: int,
) -> list[tuple[Path, dict[str, Any]]]:
    """Encode text in shards; return the path of each, and how it was read."""
    if not isinstance(reading.phrases, Phrases):
        reading = replace(reading, phrases=False)  # they are learned later, from all shards
    shards = split_files(paths, reading, shard_bytes)
    outputs = [place / f"shard-{key_of(shard, reading)}" for shard in shards]
    tasks = [(shard, reading, at) for shard, at in zip(shards, outputs, strict=True)]
    if finished := sum(output.exists() for output in outputs):
        _LOGGER.warning(
            "continuing from %d of %d shards of text in %s", finished, len(tasks), place
        )
    shards_of = Counter(str(shard.path) for shard in shards)
    sizes = [shard.size // shards_of[str(shard.path)] for shard in shards]
    forecast = DiskForecast(
        place,
        sum(sizes),
        "Keeping the other shards of this text",
        "free some space and run the same command again, which continues from here",
    )

    def done(number: int) -> None:
        written = sum(file.stat().st_size for file in outputs[number].iterdir())
        forecast.add(written, sizes[number])

    make_all(client, encode_shard, tasks, "reading", done)
    encoded = [
        (output, {**artefact.opened(output).metadata["settings"], "path": str(shard.path)})
        for shard, output in zip(shards, outputs, strict=True)
    ]
    if not any(read["documents_kept"] for _, read in encoded):
        raise EmptyCorpusError(
            f"No document is left: none has {reading.min_tokens:,} words; lower `min_tokens`."
        )
    return encoded


def _list_words(shard: Path, output: Path) -> None:
    """List the words of an encoded shard."""
    vocabulary = Corpus.load(shard).vocabulary
    save_words(output, vocabulary.words, vocabulary.counts)


def _groups(
    shards: Sequence[Path], read: Sequence[dict[str, Any]], threads: int
) -> list[tuple[list[Path], int]]:
    """Return the shards that are counted together, and the number of their first document.

    Adding and saving counts takes time in proportion to the number of different pairs, however
    little text was counted. So there are only `TASKS` tasks per thread, or more if a task would
    exceed `TASK_TOKENS`.
    """
    tokens = np.cumsum([0, *(each["words_counted"] for each in read)])
    documents = np.cumsum([0, *(each["documents_kept"] for each in read)])
    most = min(TASK_TOKENS, int(tokens[-1]) // (TASKS * threads) + 1)
    runs = cut_evenly(tokens, -(-int(tokens[-1]) // most) or 1)
    return [(list(shards[first:last]), int(documents[first])) for first, last in runs]


def _count(
    shards: Sequence[Path],
    vocabulary: Path,
    oov: Any,
    first: int,
    counting: dict[str, Any],
    output: Path,
) -> None:
    """Count shards in the chosen vocabulary; `first` is the number of their first document."""
    words = Corpus.load(vocabulary).vocabulary
    corpora = [Corpus.load(shard) for shard in shards]
    corpora[0] = replace(corpora[0], first_document=first)
    with threads(1):
        counts = Cooccurrence.count(Corpus.concatenate(corpora, words, oov=oov), **counting)
    save_rows(counts, output)
