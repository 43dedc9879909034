"""List the words nearest to a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem similar``."""
    add_model_argument(parser)
    parser.add_argument("words", nargs="+", metavar="WORD", help="a word of the model")
    parser.add_argument(
        "-n", "--topn", type=int, default=10, metavar="N",
        help="how many neighbours to list (default: 10)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem similar``."""
    embedding = load_embedding(options)
    found = dict(
        zip(
            options.words,
            embedding.most_similar_each(options.words, topn=options.topn),
            strict=True,
        )
    )
    report = {
        word: [{"word": other, "similarity": round(score, 6)} for other, score in neighbours]
        for word, neighbours in found.items()
    }
    rows = [
        (word, " ".join(f"{other} {score:.2f}" for other, score in neighbours))
        for word, neighbours in found.items()
    ]
    emit(options, report, rows)
