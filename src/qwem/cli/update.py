"""Add text to a model, or take some away, without another fit.

The model must have been fitted with --keep-counts. What moved is printed: features, words and
neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.text import text_table
from qwem.cli.inputs import source_of
from qwem.cli.options import READING, RUNNING, add_options, given
from qwem.cli.output import cost_rows, costs, emit, plain
from qwem.cli.vectors import add_topn_option

if TYPE_CHECKING:
    import argparse

_READING = {name: READING[name] for name in ("documents", "text_column", "errors")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem update``."""
    parser.add_argument("model", metavar="MODEL", help="a model fitted with --keep-counts")
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT",
        help="text to add (- is standard input), one encoded corpus, or saved counts",
    )  # fmt: skip
    parser.add_argument(
        "--remove", nargs="+", metavar="INPUT", help="text to take away, or its counts"
    )
    parser.add_argument(
        "-o", "--output", metavar="MODEL", help="directory to write (default: the model itself)"
    )
    add_topn_option(parser, "words that moved most")
    add_options(parser, {**_READING, "threads": RUNNING["threads"]})


def run(options: argparse.Namespace) -> None:
    """Run ``qwem update``."""
    from qwem._internal.artefact import require_replaceable, updating
    from qwem.comparison import what_moved
    from qwem.model import Model

    options.output = options.output or options.model
    require_replaceable(options.output, "model")
    with updating(options.output):
        before = Model.load(options.model)
        after = before.update(
            source_of(options.inputs) if options.inputs else None,
            remove=source_of(options.remove) if options.remove else None,
            threads=options.threads,
            **given(options, _READING),
        )
        moved = what_moved(before, after, topn=options.topn)
        after.save(options.output, names_from=options.model)
    report = {"output": options.output, "moved": plain(moved), **costs(after.seconds)}
    rows = [*cost_rows(report), ("written", options.output)]
    emit(options, report, moved.to_text() + text_table(rows))
