"""Embed a word or phrase that a model does not have, from texts it occurs in.

Its vector follows from the words around it there, and each similarity has its standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.inputs import text_paths
from qwem.cli.options import READING, RUNNING, add_options, given
from qwem.cli.output import emit
from qwem.cli.vectors import add_topn_option

if TYPE_CHECKING:
    import argparse

_READING = {name: READING[name] for name in ("documents", "text_column")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem embed``."""
    parser.add_argument("model", metavar="MODEL", help="a fitted model")
    parser.add_argument("--word", required=True, metavar="NEW", help="a word, name or phrase")
    parser.add_argument(
        "--from", dest="contexts", nargs="+", required=True, metavar="TEXT",
        help="text files in which it occurs (- is standard input)",
    )  # fmt: skip
    add_options(parser, {**_READING, "threads": RUNNING["threads"]})
    add_topn_option(parser, "neighbours")
    parser.add_argument("--vector", action="store_true", help="print the vector too")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem embed``."""
    from qwem.model import Model

    found = Model.load(options.model).embed(
        options.word,
        text_paths(options.contexts),
        threads=options.threads,
        **given(options, _READING),
    )
    neighbours = found.most_similar(topn=options.topn)
    numbers = [round(float(number), 6) for number in found.vector]
    report = {
        "word": found.word,
        "occurrences": found.occurrences,
        "vector": numbers,
        "neighbours": [
            {"word": word, "similarity": round(cosine, 6), "standard_error": round(error, 6)}
            for word, cosine, error in neighbours
        ],
    }
    often = "once" if found.occurrences == 1 else f"{found.occurrences:,} times"
    rows = [(found.word, f"found {often}")]
    rows += [(word, f"{cosine:.2f} ± {error:.2f}") for word, cosine, error in neighbours]
    if options.vector:
        rows.append(("vector", " ".join(f"{number:g}" for number in numbers)))
    emit(options, report, rows)
