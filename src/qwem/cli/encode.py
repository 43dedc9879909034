"""Encode text as an on-disk corpus, to be counted or trained on later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.inputs import add_files, text_paths
from qwem.cli.options import add_settings, given_settings
from qwem.cli.output import emit_run

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem encode``."""
    add_files(parser, "files, directories or patterns; - is standard input", "CORPUS")
    add_settings(parser, "reading")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem encode``."""
    from qwem._internal.artefact import require_replaceable
    from qwem._internal.progress import Stopwatch
    from qwem.model import Settings, read

    require_replaceable(options.output, "corpus")
    settings = Settings.of(options.preset, **given_settings(options))
    watch = Stopwatch()
    with watch.stage("read"):
        corpus = read(text_paths(options.inputs), settings, options.threads)
        corpus.save(options.output)
    report = {
        "documents": len(corpus),
        "tokens": len(corpus.tokens),
        "vocab_size": len(corpus.vocabulary),
        "fingerprint": corpus.fingerprint,
    }
    rows = [
        ("corpus", f"{len(corpus):,} documents, {len(corpus.tokens):,} words"),
        ("vocabulary", f"{len(corpus.vocabulary):,} words"),
    ]
    emit_run(options, report, rows, watch.seconds)
