"""Test whether words are associated with one attribute rather than another.

With two lists of --targets this is the word embedding association test (WEAT). With --words it is
the single-category test, for each word. Lists of words are separated by commas, or in a file of one
word per line: @FILE. With --stability the statistic has its standard error and 95 % interval over
documents beside the p-value over words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import Option, add_options, given, whole
from qwem.cli.output import emit_result
from qwem.cli.vectors import (
    add_model_argument,
    add_stability_option,
    load_embedding,
    load_stability,
)
from qwem.cli.word_lists import word_list

if TYPE_CHECKING:
    import argparse


OPTIONS = {
    "alternative": Option(
        ("greater", "less", "two-sided"),
        "what is tested for (default: greater for --targets, two-sided for --words)",
    ),
    "draws": Option(
        whole, "random splits, if there are too many to count all (default: 9999)", "N"
    ),
    "seed": Option(whole, "seed of the random splits (default: 0)", "N"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem weat``."""
    add_model_argument(parser)
    parser.add_argument(
        "--attributes", nargs=2, type=word_list, required=True, metavar=("A", "B"),
        help="two lists of words, such as pleasant and unpleasant ones",
    )  # fmt: skip
    tested = parser.add_mutually_exclusive_group(required=True)
    tested.add_argument(
        "--targets", nargs=2, type=word_list, metavar=("X", "Y"),
        help="two lists of words to compare, such as flowers and insects",
    )  # fmt: skip
    tested.add_argument("--words", type=word_list, metavar="WORDS", help="words to test one by one")
    add_options(parser, OPTIONS)
    add_stability_option(parser)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem weat``."""
    from qwem.comparison import AssociationTests, sc_weat, weat

    vectors = load_stability(options) if options.stability else load_embedding(options)
    attributes = options.attributes[0], options.attributes[1]
    settings = given(options, OPTIONS)
    if options.targets:
        first, second = options.targets
        test = weat(vectors, first, second, attributes, **settings)
        emit_result(options, test)
        return
    tests = {word: sc_weat(vectors, word, attributes, **settings) for word in options.words}
    emit_result(options, AssociationTests(tests))
