"""Encode text as an on-disk corpus, to be counted or trained on later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.inputs import add_files, text_paths
from qwem.cli.options import READING, RUNNING, add_options, given_settings
from qwem.cli.output import cost_rows, costs, emit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem encode``."""
    add_files(parser, "files, directories or patterns; - is standard input", "CORPUS")
    add_options(parser, RUNNING)
    add_options(parser, READING, "reading")


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
