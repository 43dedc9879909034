"""Complete an analogy: A is to B as C is to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem analogy``."""
    add_model_argument(parser)
    for name in "abc":
        parser.add_argument(name, metavar=name.upper())
    parser.add_argument(
        "-n", "--topn", type=int, default=5, metavar="N",
        help="how many answers to list (default: 5)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem analogy``."""
    embedding = load_embedding(options)
    answers = embedding.analogy(options.a, options.b, options.c, topn=options.topn)
    report = {
        "question": [options.a, options.b, options.c],
        "answers": [{"word": word, "similarity": round(score, 6)} for word, score in answers],
    }
    emit(options, report, [(word, f"{score:.3f}") for word, score in answers])
