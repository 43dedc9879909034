"""List the words that two or more texts use differently, the surest first.

Each TEXT is a file, a directory or an encoded corpus; give them in the order of time, if they have
one. Differences are listed between the first and the last. With --path the command shows where
words lie on an axis instead, in one text after another.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from qwem.cli.figure import add_figure_option, check_figure, draw
from qwem.cli.inputs import groups_of, source_of
from qwem.cli.options import (
    GROUPING,
    Option,
    add_options,
    add_settings,
    given,
    given_settings,
    whole,
)
from qwem.cli.output import emit_result
from qwem.cli.vectors import add_topn_option
from qwem.cli.word_lists import word_list
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

COMPARING = {
    "folds": Option(whole, "number of folds that documents are dealt into (default: 10)", "K"),
    "permutations": Option(
        whole, "random dealings for the p-values, 0 for none (default: 199)", "N"
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
    add_options(parser, {**COMPARING, **GROUPING})
    add_settings(parser, "embedding", "reading", "counting")
    parser.add_argument(
        "--path", type=word_list, metavar="WORDS", help="words to place on an axis in each text"
    )
    for end in ("positive", "negative"):
        parser.add_argument(
            f"--{end}", type=word_list, metavar="WORDS",
            help=f"the words of the {end} end of that axis: she,woman or @FILE",
        )  # fmt: skip
    add_figure_option(parser, "the paths of these words")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem changes``."""
    from qwem.comparison import compare_corpora

    ends = options.positive, options.negative
    if any((options.path, options.figure, *ends)) and not all((options.path, *ends)):
        raise SettingError("A path along an axis needs --path, --positive and --negative.")
    check_figure(options)
    if options.path and options.permutations is None:
        options.permutations = 0  # no p-value is shown
    names = [Path(item).stem for item in options.inputs]
    if len(set(names)) < len(names):
        names = options.inputs
    if len(set(names)) < max(2, len(names)):
        raise SettingError("changes needs two different texts or more.")
    texts = dict(zip(names, options.inputs, strict=True))
    groups = {name: groups_of([item], options.group_column) for name, item in texts.items()}
    found = compare_corpora(
        {name: source_of([item]) for name, item in texts.items()},
        groups=None if options.group_column is None else groups,  # type: ignore[arg-type]
        preset=options.preset,
        threads=options.threads,
        **given(options, COMPARING),
        **given_settings(options),
    )
    if options.path:
        path = found.path(options.path, *ends)
        emit_result(options, path)
        draw(options, path, *(", ".join(words) for words in ends))
        return
    emit_result(options, found, found.shown(options.topn))
