"""Look around in models in the browser, or write the same page to one file."""

from __future__ import annotations

import sys
import webbrowser
from typing import TYPE_CHECKING

from qwem.cli.options import Option, add_options, given, number, whole
from qwem.cli.output import emit, emit_page
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.explorer import Explored

OPTIONS = {
    "counts": Option(
        str, "counts of the first model's text (qwem count), for collocates", "COUNTS"
    ),
    "trace": Option(str, "training run (qwem train) to lay over the first model's theory", "RUN"),
    "init_scale": Option(
        number, "size σ of the random start of the replayed training (default: 1e-6)", "S"
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem explore``."""
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="a fitted model, with or without replicates, or a file of word vectors; more than one "
        "to compare",
    )
    parser.add_argument("--port", type=whole, default=0, metavar="P", help="port (default: any)")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, and open no browser"
    )
    parser.add_argument(
        "--export", metavar="FILE", dest="output", help="write one page that needs no server"
    )
    parser.add_argument(
        "--words",
        type=whole,
        metavar="N",
        help="number of words of that page, the most frequent ones (default: 10000)",
    )
    add_options(parser, OPTIONS)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem explore``."""
    from qwem._internal.output import require_writable_file
    from qwem.explorer import load_models

    if options.output is None:
        if options.words is not None:
            raise SettingError("--words is for a page that --export writes.")
        _serve(options, load_models(options.models, **given(options, OPTIONS)))
        return
    require_writable_file(options.output)
    _export(options, load_models(options.models, **given(options, OPTIONS)))


def _export(options: argparse.Namespace, models: list[Explored]) -> None:
    from qwem.explorer import write_page

    page = write_page(models, options.output, **given(options, ["words"]))
    emit_page(options, page)


def _serve(options: argparse.Namespace, models: list[Explored]) -> None:
    from qwem.explorer import serve

    def ready(address: str) -> None:
        rows = [("open", address), ("stop", "Ctrl-C")]
        emit(options, {"address": address}, rows)
        sys.stdout.flush()
        if not options.no_browser:
            webbrowser.open(address)

    serve(models, port=options.port, ready=ready)
