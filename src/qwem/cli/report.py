"""Write a report on a model: one HTML page that needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem report``."""
    parser.add_argument("model", metavar="MODEL", help="a fitted model")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--title", metavar="TEXT", help="the heading of the page")
    parser.add_argument(
        "--analogies", metavar="F", default="google",
        help="a file of analogy questions, or 'google' (the default, if it is on this machine) or "
        "'msr'",
    )  # fmt: skip
    parser.add_argument(
        "--similarity", metavar="F", nargs="+", default=["wordsim353", "simlex999", "men"],
        help="files of rated word pairs, or names (default: wordsim353, simlex999 and men, if they "
        "are on this machine)",
    )  # fmt: skip
    parser.add_argument(
        "--tasks", metavar="F", default="google",
        help="word pairs whose differences are analyzed: a file of analogy questions, or of two "
        "words per line (default: google)",
    )  # fmt: skip
    parser.add_argument(
        "--features",
        type=int,
        default=12,
        metavar="N",
        help="how many features have a card (default: 12)",
    )
    parser.add_argument(
        "--words", type=int, default=10_000, metavar="N",
        help="how many words can be looked up, the most frequent ones (default: 10000)",
    )  # fmt: skip
    parser.add_argument(
        "--init-scale", type=float, default=1e-6, metavar="S",
        help="the scale of the random initialization of the replayed training (default: 1e-6)",
    )  # fmt: skip
    parser.add_argument(
        "--corpus-stats", metavar="CORPUS",
        help="the encoded corpus that was counted, for a model that was fitted to counts",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem report``."""
    from qwem.corpus import Corpus
    from qwem.model import Model
    from qwem.report import write_report

    page = write_report(
        Model.load(options.model),
        options.output,
        title=options.title,
        analogies=options.analogies,
        similarity=options.similarity,
        tasks=options.tasks,
        features=options.features,
        words=options.words,
        init_scale=options.init_scale,
        corpus=options.corpus_stats and Corpus.load(options.corpus_stats),
    )
    if not page.is_file():  # a pipe, or standard output
        emit(options, {"output": str(page)}, [("written", str(page))])
        return
    size = page.stat().st_size
    emit(
        options,
        {"output": str(page), "bytes": size},
        [("written", f"{page}: {size / 1e6:.1f} MB, open it in a browser")],
    )
