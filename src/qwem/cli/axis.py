"""Place words on an axis between two kinds of words, such as he–she or poor–rich.

Lists of words are separated by commas, or in a file of one word per line: @FILE. Without any WORD,
the words at both ends of the axis are listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.figure import add_figure_option, check_figure, draw
from qwem.cli.options import Option, add_options, given, whole
from qwem.cli.output import emit_result
from qwem.cli.vectors import (
    add_model_argument,
    add_topn_option,
    load_embedding,
    load_stability,
)
from qwem.cli.word_lists import word_list

if TYPE_CHECKING:
    import argparse


OPTIONS = {
    "neighbours": Option(whole, "extend each end by the N words nearest to it (default: 0)", "N"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem axis``."""
    add_model_argument(parser)
    parser.add_argument("words", nargs="*", metavar="WORD", help="a word to place on the axis")
    for end in ("positive", "negative"):
        parser.add_argument(
            f"--{end}", type=word_list, required=True, metavar="WORDS",
            help=f"the words of the {end} end: she,woman or @FILE",
        )  # fmt: skip
    parser.add_argument(
        "--pairs", action="store_true", help="the words of the two lists are partners"
    )
    add_options(parser, OPTIONS)
    add_topn_option(parser, "words to list at each end", stability=True)
    add_figure_option(parser, "the words with their intervals, with --stability,")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem axis``."""
    from qwem.comparison import axis

    check_figure(options, stability=True)
    ends = options.positive, options.negative
    settings: dict[str, Any] = {"pairs": options.pairs, **given(options, OPTIONS)}
    if options.stability:
        stable = load_stability(options)
        words = options.words
        if not words:
            ends_found = axis(stable.embedding, *ends, **settings).ends(options.topn)
            words = [each.word for each in ends_found.words]
        places = stable.projections(words, *ends, **settings)
        emit_result(options, places)
        draw(options, places)
        return
    made = axis(load_embedding(options), *ends, **settings)
    found = made.project(options.words) if options.words else made.ends(options.topn)
    emit_result(options, found, missing_of_axis=list(made.missing))
