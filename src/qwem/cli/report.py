"""Write a report on a model: one HTML page that needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import Option, add_options, given, number, whole
from qwem.cli.output import emit_page

if TYPE_CHECKING:
    import argparse


OPTIONS = {
    "title": Option(str, "heading of the page", "TEXT"),
    "analogies": Option(
        str,
        "file of analogy questions, or google (the default, if it is on this machine) or msr",
        "F",
    ),
    "similarity": Option(
        str,
        "files of rated word pairs, or names (default: wordsim353, simlex999 and men, if they are "
        "on this machine)",
        "F",
        several=True,
    ),
    "tasks": Option(
        str,
        "word pairs whose differences are analyzed: a file of analogy questions, or of two words "
        "per line (default: google)",
        "F",
    ),
    "features": Option(whole, "number of features that have a card (default: 12)", "N"),
    "words": Option(
        whole, "number of words that can be looked up, the most frequent ones (default: 10000)", "N"
    ),
    "init_scale": Option(
        number, "size σ of the random start of the replayed training (default: 1e-6)", "S"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem report``."""
    parser.add_argument(
        "model", metavar="MODEL", help="a fitted model, or one with replicates (qwem fit --folds)"
    )
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="page to write")
    add_options(parser, OPTIONS)
    parser.add_argument(
        "--corpus-stats",
        metavar="CORPUS",
        help="the encoded corpus that was counted, for a model that was fitted to counts",
    )
    parser.add_argument(
        "--results", nargs="+", default=(), metavar="FILE",
        help="results to show: what qwem weat, axis, compare, regression, update or similar "
        "printed with --json",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem report``."""
    from qwem._internal.artefact import kind_of
    from qwem._internal.feature_names import read_names
    from qwem._internal.output import require_writable_file
    from qwem.comparison import Stability
    from qwem.corpus import Corpus
    from qwem.model import Model
    from qwem.report import read_results, write_report

    require_writable_file(options.output)
    load = Stability.load if kind_of(options.model) == "stability" else Model.load
    page = write_report(
        load(options.model),
        options.output,
        corpus=options.corpus_stats and Corpus.load(options.corpus_stats),
        results=read_results(options.results),
        names=read_names(options.model).get("closed"),
        **given(options, OPTIONS),
    )
    emit_page(options, page)
