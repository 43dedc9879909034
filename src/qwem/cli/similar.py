"""List the words nearest to a word, with their similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.figure import add_figure_option, check_figure, draw
from qwem.cli.output import emit, plain, scored_rows, scored_words
from qwem.cli.vectors import (
    add_model_argument,
    add_topn_option,
    load_embedding,
    load_stability,
)
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse


CHOSEN = """\
± is the standard error of a pair chosen beforehand. Neighbours are chosen because they are near in
these documents, and are less near in others.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem similar``."""
    add_model_argument(parser)
    parser.add_argument("words", nargs="+", metavar="WORD", help="a word of the model")
    add_topn_option(parser, "neighbours", stability=True)
    add_figure_option(parser, "the neighbours of one word with their intervals, with --stability,")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem similar``."""
    check_figure(options, stability=True)
    if options.figure is not None and len(options.words) > 1:
        raise SettingError("--figure draws the neighbours of one word; give one.")
    if options.stability:
        stable = load_stability(options)
        each = {word: stable.neighbours(word, options.topn) for word in options.words}
        text = "".join(
            "".join(f"{line}\n" for line in ([word] if len(each) > 1 else []) + found.lines())
            for word, found in each.items()
        )
        text += CHOSEN
        emit(options, {word: plain(found) for word, found in each.items()}, text)
        draw(options, each[options.words[0]])
        return
    embedding = load_embedding(options)
    neighbours = embedding.most_similar_each(options.words, topn=options.topn)
    found = dict(zip(options.words, neighbours, strict=True))
    report = {word: scored_words(others) for word, others in found.items()}
    rows: list[tuple[str, ...]] = []
    for word, others in found.items():
        for place, row in enumerate(scored_rows(others)):
            rows.append(row if len(found) == 1 else ("" if place else word, *row))
    emit(options, report, rows)
