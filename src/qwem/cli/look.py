"""Commands that show models in the browser: report and explore."""

from __future__ import annotations

import sys
import webbrowser
from typing import TYPE_CHECKING

from qwem._internal.settings import Whole
from qwem.cli.options import Option, argument, command, given, number, output
from qwem.cli.output import emit, emit_page

if TYPE_CHECKING:
    import argparse

MODELS = argument(
    "MODEL",
    "a fitted model, with or without replicates, or a file of word vectors; more than one to "
    "compare",
    "+",
)
SOURCES = {
    "counts": Option(
        str, "counts of the first model's text (qwem count), for words that occur together", "F"
    ),
    "trace": Option(str, "training run (qwem train) to lay over the first model's theory", "RUN"),
    "text": Option(str, "the first model's text, for sentences with a word", "F", several=True),
    "corpus": Option(
        str, "the encoded corpus that was counted, for a model that was fitted to counts", "CORPUS"
    ),
    "init_scale": Option(
        number, "size σ of the random start of the replayed training (default: 1e-6)", "S"
    ),
}
SHOWN = {
    "title": Option(str, "heading of the page", "TEXT"),
    "analogies": Option(
        str,
        "file of analogy questions, or google (the default, if it is on this machine) or msr",
        "F",
    ),
    "similarity": Option(
        str,
        "files of rated word pairs, or names (default: wordsim353, simlex999 and men, if they are "
        "on this machine)",
        "F",
        several=True,
    ),
    "tasks": Option(
        str,
        "word pairs whose relations are tested: a file of analogy questions, or of two words per "
        "line (default: google)",
        "F",
    ),
}
RESULTS = Option(
    str,
    "results to show: what qwem weat, axis, compare, regression, update or similar printed with "
    "--json",
    "FILE",
    several=True,
)


@command(
    models=MODELS,
    output=output("FILE", "page to write"),
    words=Option(
        Whole(1), "number of words on the page, the most frequent ones (default: 10000)", "N"
    ),
    **SHOWN,
    results=RESULTS,
    **SOURCES,
)
def report(options: argparse.Namespace) -> None:
    """Write what a model knows to one HTML page that needs no network."""
    from qwem._internal.files import require_writable_file
    from qwem.pages import load_models, write_page
    from qwem.pages.results import read_results

    require_writable_file(options.output)
    results = read_results(options.results or ())
    models = load_models(options.models, **given(options, SOURCES))
    shown = given(options, [*SHOWN, "words"])
    emit_page(options, write_page(models, options.output, results=results, **shown))


@command(
    models=MODELS,
    port=Option(Whole(0), "port (default: any)", "P", default=0),
    browser=Option(bool, "open the page in a browser (default), or only print its address"),
    **SHOWN,
    results=RESULTS,
    **SOURCES,
)
def explore(options: argparse.Namespace) -> None:
    """Look around in models in the browser: the page of qwem report, served live."""
    from qwem.pages import load_models, serve
    from qwem.pages.results import read_results

    def ready(address: str) -> None:
        rows = [("open", address), ("stop", "Ctrl-C")]
        emit(options, {"address": address}, rows)
        sys.stdout.flush()
        if options.browser is not False:
            webbrowser.open(address)

    results = read_results(options.results or ())
    models = load_models(options.models, **given(options, SOURCES))
    serve(models, port=options.port, ready=ready, results=results, **given(options, SHOWN))
