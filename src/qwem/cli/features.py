"""Show the features of a model and the words at the two ends of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import Option, add_options, given, number, whole
from qwem.cli.output import emit
from qwem.cli.vectors import add_model_argument, add_topn_option, load_embedding

if TYPE_CHECKING:
    import argparse

    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum


OPTIONS = {
    "count": Option(whole, "number of features (default: 10)", "K"),
    "most_frequent": Option(whole, "search only the N most frequent words (default: 4000)", "N"),
    "init_scale": Option(
        number, "size σ of the random start for the learning times (default: 1e-6)", "S"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem features``."""
    add_model_argument(parser)
    add_options(parser, OPTIONS)
    add_topn_option(parser, "words at each end")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    form.add_argument("--html", action="store_true", help="print an HTML table")


def run(options: argparse.Namespace) -> None:
    """Run ``qwem features``."""
    from qwem.interpretation import features

    table = features(load_source(options), topn=options.topn, **given(options, OPTIONS))
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
