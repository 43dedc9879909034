"""Show the features of a model and the words at the two ends of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, load_embedding

if TYPE_CHECKING:
    import argparse

    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem features``."""
    add_model_argument(parser)
    parser.add_argument("--count", type=int, default=10, metavar="K", help="how many features")
    parser.add_argument("-n", "--topn", type=int, default=10, metavar="N", help="words at each end")
    parser.add_argument(
        "--most-frequent", type=int, default=4000, metavar="N",
        help="search only the N most frequent words (default: 4000)",
    )  # fmt: skip
    parser.add_argument(
        "--init-scale", type=float, default=1e-6, metavar="S",
        help="σ of the random start for the learning times (default: 1e-6)",
    )  # fmt: skip
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    form.add_argument("--html", action="store_true", help="print an HTML table")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem features``."""
    from qwem.interpretation import features

    table = features(
        load_source(options),
        options.count,
        topn=options.topn,
        most_frequent=options.most_frequent,
        init_scale=options.init_scale,
    )
    if options.markdown:
        text = table.to_markdown()
    elif options.html:
        text = table.to_html()
    else:
        text = table.to_text()
    emit(options, table.to_dict(), [(line,) for line in text.splitlines()])


def load_source(options: argparse.Namespace) -> Spectrum | Embedding:
    """Return the spectrum of a model, or the vectors where there is none or they are polished."""
    from qwem._internal.artefact import kind_of
    from qwem.model import Model

    if kind_of(options.model) == "model":
        model = Model.load(options.model)
        if model.polished is None:
            spectrum = model.spectrum
            return spectrum if options.dim is None else spectrum.restrict(options.dim)
    return load_embedding(options)
