"""Make the paper's figures and tables from a text, and a page that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qwem.cli.output import cost_rows, costs, emit
from qwem.errors import QwemError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem reproduce``."""
    parser.add_argument(
        "corpus", nargs="+", metavar="CORPUS", help="text; the paper's is English Wikipedia"
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIRECTORY")
    parser.add_argument(
        "--scale", choices=("laptop", "laptop-sgd", "paper"), default="laptop",
        help="laptop: for two cores (default); laptop-sgd: the same size, trained by SGD as in the "
        "paper, which takes far longer; paper: the paper's own, for a GPU",
    )  # fmt: skip
    parser.add_argument(
        "--only", metavar="NAMES", help="figures to make, such as fig2,table1 (default: all)"
    )
    parser.add_argument(
        "--analogies", metavar="F", default="google", help="a file of questions (default: google)"
    )
    parser.add_argument(
        "--similarity", metavar="F", nargs="+",
        help="files of rated pairs (default: men and wordsim353, where available)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> None:
    """Run ``qwem reproduce``."""
    from qwem._internal.output import require_writable
    from qwem.paper import reproduce

    require_writable(Path(options.output, "index.html"))
    only = None if options.only is None else [name.strip() for name in options.only.split(",")]
    result = reproduce(
        options.corpus,
        options.output,
        scale=options.scale,
        only=only,
        analogies=options.analogies,
        similarity=options.similarity,
    )
    found = {name: record["findings"] for name, record in result.records.items()}
    report = {
        "output": str(result.page),
        "findings": found,
        "failures": result.failures,
        **costs(result.seconds),
    }
    rows = [
        (name if place == 0 else "", sentence)
        for name, sentences in found.items()
        for place, sentence in enumerate(sentences)
    ]
    rows += [(name, f"could not be made: {reason}") for name, reason in result.failures.items()]
    emit(options, report, [*rows, *cost_rows(report), ("written", str(result.page))])
    if result.failures:
        raise QwemError(
            f"{', '.join(result.failures)} could not be made, for the reasons above; the page "
            "shows the others."
        )
