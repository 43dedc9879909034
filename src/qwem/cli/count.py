"""Count how often words occur together, or add up saved counts.

The inputs are text files, encoded corpora, or saved counts. Saved counts are added; their
vocabularies are aligned where they differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.clusters import on_cluster, wants_cluster
from qwem.cli.inputs import add_files, text_paths
from qwem.cli.options import add_settings, given_settings
from qwem.cli.output import emit_run
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem._internal.progress import Stopwatch
    from qwem.cooccurrence import Cooccurrence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem count``."""
    add_files(parser, "text (- is standard input), encoded corpora, or saved counts", "COUNTS")
    add_settings(parser, "reading", "counting", "cluster")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem count``."""
    from qwem._internal.progress import Stopwatch

    watch = Stopwatch()
    counts = _count(options, watch)
    with watch.stage("save"):
        counts.save(options.output)
    pairs = counts.symmetric
    words = int(counts.word_counts.sum())
    report = {
        "vocab_size": len(counts.vocabulary),
        "words": words,
        "pairs": pairs.nnz,
        "total": pairs.total,
        "window": counts.window,
    }
    rows = [
        ("vocabulary", f"{len(counts.vocabulary):,} words, {words:,} occurrences"),
        ("pairs", f"{pairs.nnz:,} within {counts.window} words, {pairs.total:,} in total weight"),
    ]
    emit_run(options, report, rows, watch.seconds)


def _count(options: argparse.Namespace, watch: Stopwatch) -> Cooccurrence:
    from qwem._internal.artefact import kind_of, require_replaceable
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus
    from qwem.model import Settings, count, read, reject_fixed_settings

    require_replaceable(options.output, "cooccurrence")
    kinds = {kind_of(item) for item in options.inputs}
    if len(kinds) > 1 or kinds - {None, "cooccurrence", "corpus"}:
        found = ", ".join(sorted(kind or "text" for kind in kinds))
        raise SettingError(f"The inputs must all be text, all corpora or all counts, not {found}.")
    given = given_settings(options)
    if wants_cluster(options):
        from qwem.cluster import count_files

        with watch.stage("count"), on_cluster(options) as there:
            return count_files(*there, Settings.of(options.preset, **given))
    if kinds == {"cooccurrence"}:
        if given or options.preset:
            raise SettingError(
                "Saved counts can only be added up; give text to count with other settings."
            )
        with watch.stage("read"):
            parts = [Cooccurrence.load(item) for item in options.inputs]
        with watch.stage("merge"):
            return Cooccurrence.merge(parts)
    settings = Settings.of(options.preset, **given)
    with watch.stage("read"):
        if kinds == {"corpus"}:
            corpora = [Corpus.load(item) for item in options.inputs]
            reject_fixed_settings(corpora[0], given)
        else:
            corpora = [read(text_paths(options.inputs), settings, options.threads)]
    with watch.stage("count"):
        return Cooccurrence.merge([count(corpus, settings, options.threads) for corpus in corpora])
