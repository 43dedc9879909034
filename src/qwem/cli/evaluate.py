"""Score a model on analogy questions and on rated word pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import Option, add_options, given
from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

BENCHMARKS = {
    "analogies": Option(str, "file of analogy questions, or google or msr", "F"),
    "similarity": Option(
        str,
        "files of rated word pairs, or names: wordsim353, simlex999, men, rareword, simverb3500, "
        "mturk771",
        "F",
        several=True,
    ),
}
FORMULAS = {
    "method": Option(
        ("cosine", "candidate"),
        "in 3CosAdd, scale all vectors to length one (default, and the paper's), or only the "
        "candidate's",
    ),
    "pairs": Option(
        ("file", "all"),
        "ask the questions of the file (default), or all ordered pairs of its word pairs",
    ),
    "measure": Option(
        ("cosine", "inner"), "similarity of rated pairs: cosine (default) or inner product"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem evaluate``."""
    add_model_argument(parser)
    add_options(parser, {**BENCHMARKS, **FORMULAS})


def run(options: argparse.Namespace) -> None:
    """Run ``qwem evaluate``."""
    from qwem.evaluation import evaluate
    from qwem.evaluation.benchmarks import benchmark_file

    if not options.analogies and not options.similarity:
        raise SettingError("There is nothing to evaluate; give --analogies or --similarity.")
    result = evaluate(
        load_embedding(options),
        options.analogies and benchmark_file(options.analogies),
        [benchmark_file(item) for item in options.similarity or ()],
        **given(options, FORMULAS),
    )
    emit(options, result.to_dict(), result.to_text())
