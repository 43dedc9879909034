"""Score a model on analogies and on rated word pairs."""

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
        "--analogies", metavar="F", help="a file of questions, or 'google' or 'msr'"
    )
    parser.add_argument(
        "--similarity", metavar="F", action="extend", nargs="+", default=[],
        help="files of rated pairs, or names such as 'men' and 'wordsim353'",
    )  # fmt: skip
    parser.add_argument(
        "--method", choices=("cosine", "parallelogram", "candidate"), default="cosine",
        help="how an analogy is completed (default: cosine, the paper's)",
    )  # fmt: skip
    parser.add_argument(
        "--pairs", choices=("file", "all"), default="file",
        help="the questions of the file, or all ordered pairs of its word pairs",
    )  # fmt: skip
    parser.add_argument("--measure", choices=("cosine", "inner"), default="cosine")


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
    rows = []
    if result.analogies:
        scores = [("analogies", result.analogies), *result.analogies.by_category.items()]
        rows += [
            (name, f"{score.accuracy:.1%}", f"{score.questions:,} of "
             f"{score.questions + score.skipped:,} questions")
            for name, score in scores if score.questions
        ]  # fmt: skip
    rows += [
        (name, f"{score.spearman:.3f}", f"{score.pairs:,} of {score.pairs + score.skipped:,} pairs")
        for name, score in result.similarity.items()
    ]
    emit(options, result.to_dict(), rows)
