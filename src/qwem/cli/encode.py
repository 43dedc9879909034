"""Encode text as an on-disk corpus, to be counted or trained on later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import (
    add_corpus_options,
    add_preset_option,
    add_threads_option,
    given_settings,
    text_paths,
)
from qwem.cli.output import cost_rows, costs, emit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem encode``."""
    parser.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help="files, directories or patterns; - is standard input",
    )
    parser.add_argument("-o", "--output", required=True, metavar="CORPUS")
    add_preset_option(parser)
    add_corpus_options(parser)
    add_threads_option(parser)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem encode``."""
    from qwem._internal.artefact import require_replaceable
    from qwem._internal.stopwatch import Stopwatch
    from qwem.model import Settings, read

    require_replaceable(options.output, "corpus")
    settings = Settings.of(options.preset, **given_settings(options))
    watch = Stopwatch()
    with watch.stage("read"):
        corpus = read(text_paths(options.inputs), settings, options.threads)
        corpus.save(options.output)
    report = {
        "output": options.output,
        "documents": len(corpus),
        "tokens": len(corpus.tokens),
        "vocab_size": len(corpus.vocabulary),
        "fingerprint": corpus.fingerprint,
        **costs(watch.seconds),
    }
    rows = [
        ("corpus", f"{len(corpus):,} documents, {len(corpus.tokens):,} words"),
        ("vocabulary", f"{len(corpus.vocabulary):,} words"),
        *cost_rows(report),
        ("written", options.output),
    ]
    emit(options, report, rows)
