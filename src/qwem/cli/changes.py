"""List the words that two or more texts use differently, the surest first.

Each TEXT is a file, a directory or an encoded corpus; give them in the order of time, if they have
one. Differences are listed between the first and the last.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qwem.cli.inputs import source_of
from qwem.cli.options import Option, add_options, add_settings, given, given_settings, whole
from qwem.cli.output import emit
from qwem.cli.vectors import add_topn_option
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

COMPARING = {
    "folds": Option(whole, "number of folds that documents are dealt into (default: 10)", "K"),
    "permutations": Option(
        whole, "random dealings for the p-values, 0 for none (default: 49)", "N"
    ),
    "alignment": Option(
        ("compass", "procrustes"),
        "one set of contexts for all texts (default), or separate fits that are rotated",
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem changes``."""
    parser.add_argument("inputs", nargs="+", metavar="TEXT", help="two texts or more")
    add_topn_option(parser, "words", 20)
    add_options(parser, COMPARING)
    add_settings(parser, "embedding", "reading", "counting")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem changes``."""
    from qwem.comparison import compare_corpora

    names = [Path(item).stem for item in options.inputs]
    if len(set(names)) < len(names):
        names = options.inputs
    if len(set(names)) < max(2, len(names)):
        raise SettingError("changes needs two different texts or more.")
    found = compare_corpora(
        {name: source_of([item]) for name, item in zip(names, options.inputs, strict=True)},
        preset=options.preset,
        threads=options.threads,
        **given(options, COMPARING),
        **given_settings(options),
    )
    emit(options, found.to_dict(), found.to_text(options.topn))
