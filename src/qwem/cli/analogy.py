"""Complete an analogy: A is to B as C is to the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.figure import add_figure_option, check_figure, draw
from qwem.cli.output import emit, plain, scored_rows, scored_words
from qwem.cli.vectors import add_model_argument, add_topn_option, load_embedding, load_stability

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem analogy``."""
    add_model_argument(parser)
    for name in "abc":
        parser.add_argument(name, metavar=name.upper(), help="a word of the model")
    add_topn_option(parser, "answers", default=5, stability=True)
    add_figure_option(parser, "the answers with their intervals, with --stability,")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem analogy``."""
    question = options.a, options.b, options.c
    check_figure(options, stability=True)
    if options.stability:
        found = load_stability(options).analogy(*question, topn=options.topn)
        emit(options, plain(found), "".join(f"{line}\n" for line in found.lines()))
        draw(options, found)
        return
    answers = load_embedding(options).analogy(*question, topn=options.topn)
    report = {"question": question, "answers": scored_words(answers)}
    emit(options, report, scored_rows(answers))
