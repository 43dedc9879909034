"""Score a model on analogy questions and on rated word pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem evaluate``."""
    add_model_argument(parser)
    parser.add_argument(
        "--analogies", metavar="F", help="a file of analogy questions, or 'google' or 'msr'"
    )
    parser.add_argument(
        "--similarity", metavar="F", action="extend", nargs="+", default=[],
        help="files of rated word pairs, or names: wordsim353, simlex999, men, rareword, "
        "simverb3500, mturk771",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("cosine", "candidate"), default="cosine",
        help="the formula of 3CosAdd: all vectors normalized (cosine, the default and the "
        "paper's), or only the candidate",
    )  # fmt: skip
    parser.add_argument(
        "--pairs", choices=("file", "all"), default="file",
        help="ask the questions of the file (default), or all ordered pairs of its word pairs",
    )  # fmt: skip
    parser.add_argument(
        "--measure", choices=("cosine", "inner"), default="cosine",
        help="the similarity of rated pairs: cosine (default) or inner product",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem evaluate``."""
    from qwem.evaluation import benchmark_file, evaluate

    if not options.analogies and not options.similarity:
        raise SettingError("There is nothing to evaluate; give --analogies or --similarity.")
    result = evaluate(
        load_embedding(options),
        options.analogies and benchmark_file(options.analogies),
        [benchmark_file(item) for item in options.similarity],
        method=options.method,
        pairs=options.pairs,
        measure=options.measure,
    )
    emit(options, result.to_dict(), result.to_text())
