"""Regress the use of a word on what is known about documents, such as party, year or author.

Covariates are columns of the Parquet or JSON files that the text is read from, or of --table.
Numbers enter as they are, and text as categories. Lists of words are separated by commas, or in a
file of one word per line: @FILE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.figure import add_figure_option, check_figure, draw
from qwem.cli.inputs import source_of
from qwem.cli.options import Option, add_options, add_settings, given, given_settings, whole
from qwem.cli.output import emit_result
from qwem.cli.vectors import load_vectors
from qwem.cli.word_lists import word_list
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

REGRESSION = {
    "permutations": Option(
        whole, "random dealings for the p-values, 0 for none (default: 999)", "N"
    ),
    "drop_missing": Option(bool, "leave out documents without some covariate (default: no)"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem regression``."""
    parser.add_argument(
        "inputs", nargs="+", metavar="INPUT", help="Parquet or JSON files, or one encoded corpus"
    )
    parser.add_argument(
        "--words", type=word_list, required=True, metavar="WORDS",
        help="a word or phrase, or several that are taken together",
    )  # fmt: skip
    parser.add_argument(
        "--covariates", nargs="+", required=True, metavar="COLUMN", help="columns to regress on"
    )
    parser.add_argument(
        "--clusters", metavar="COLUMN",
        help="documents with the same value belong together (default: each is by itself)",
    )  # fmt: skip
    parser.add_argument(
        "--table", nargs="+", metavar="FILE",
        help="Parquet or JSON files with the columns, one row per document (default: INPUT)",
    )  # fmt: skip
    parser.add_argument(
        "--model", metavar="MODEL", help="vectors of words (default: those of a fit to the text)"
    )
    add_options(parser, REGRESSION)
    add_figure_option(parser, "the coefficients")
    add_settings(parser, "embedding", "reading", "counting")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem regression``."""
    from qwem.comparison import context_regression
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, read_columns

    check_figure(options)
    source = source_of(options.inputs)
    if isinstance(source, Cooccurrence):
        raise SettingError("Counts have no documents to compare; give the text.")
    if isinstance(source, Corpus) and options.table is None:
        raise SettingError("An encoded corpus has no columns; name the files with them by --table.")
    names = [*options.covariates, *([options.clusters] if options.clusters else [])]
    columns = read_columns(options.table or source, names)
    changes: dict[str, Any] = {**given(options, REGRESSION), **given_settings(options)}
    if options.preset is not None:
        from qwem.model import PRESETS

        changes = {**PRESETS[options.preset], **changes}
    if options.model:
        changes["embedding"] = load_vectors(options.model)
    if options.clusters:
        changes["clusters"] = columns[options.clusters]
    found = context_regression(
        source,
        options.words,
        {name: columns[name] for name in options.covariates},
        threads=options.threads,
        **changes,
    )
    emit_result(options, found)
    draw(options, found)
