"""Write all about a model to one HTML page that needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem report``."""
    parser.add_argument("model", metavar="MODEL", help="a fitted model")
    parser.add_argument("-o", "--output", required=True, metavar="FILE")
    parser.add_argument("--title", metavar="TEXT", help="what stands at the top of the page")
    parser.add_argument(
        "--analogies", metavar="F", default="google",
        help="a file of questions, or 'google' (the default, where it is at hand) or 'msr'",
    )  # fmt: skip
    parser.add_argument(
        "--similarity", metavar="F", nargs="+", default=["wordsim353", "simlex999", "men"],
        help="files of rated pairs, or names (default: wordsim353, simlex999 and men, where they "
        "are at hand)",
    )  # fmt: skip
    parser.add_argument(
        "--tasks", metavar="F", default="google",
        help="word pairs whose differences are looked into: a file of analogies, or of two words "
        "a line (default: google)",
    )  # fmt: skip
    parser.add_argument(
        "--features", type=int, default=12, metavar="N", help="how many have a card (default: 12)"
    )
    parser.add_argument(
        "--words", type=int, default=10_000, metavar="N",
        help="how many words the page knows, the most frequent (default: 10000)",
    )  # fmt: skip
    parser.add_argument(
        "--init-scale", type=float, default=1e-6, metavar="S",
        help="the scale of the random start from which training is replayed (default: 1e-6)",
    )  # fmt: skip
    parser.add_argument(
        "--corpus-stats", metavar="CORPUS",
        help="the encoded corpus, to tell what was read where the model was fitted from counts",
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
    size = page.stat().st_size
    emit(
        options,
        {"output": str(page), "bytes": size},
        [("written", f"{page}: {size / 1e6:.1f} MB, to be opened in a browser")],
    )
