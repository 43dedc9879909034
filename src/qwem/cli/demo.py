"""Fit and explore real text in one go: the demo's, or a file of yours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.options import add_threads_option
from qwem.cli.output import cost_rows, costs, emit

if TYPE_CHECKING:
    import argparse

WORDS = ("king", "love", "science", "paris", "happy", "music", "war")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem demo``."""
    parser.add_argument("inputs", nargs="*", metavar="INPUT", help="text to use instead")
    parser.add_argument("-o", "--output", default="qwem-demo", metavar="MODEL")
    add_threads_option(parser)


def run(options: argparse.Namespace) -> None:
    """Run ``qwem demo``."""
    from pathlib import Path

    from qwem.model import fit
    from qwem.recipes import DEMO_SETTINGS, demo_documents

    source: Any = [Path(item) for item in options.inputs] or demo_documents()
    model = fit(source, threads=options.threads, **DEMO_SETTINGS)
    model.save(options.output)
    embedding = model.embedding()
    shown = [word for word in WORDS if word in embedding]
    neighbours = {
        word: [other for other, _ in found]
        for word, found in zip(shown, embedding.most_similar_each(shown, topn=8), strict=True)
    }
    report = {"output": options.output, "neighbours": neighbours, **costs(model.seconds)}
    rows = [
        *((word, " ".join(others)) for word, others in neighbours.items()),
        ("", ""),
        *cost_rows(report),
        ("written", options.output),
        ("next", f"qwem similar {options.output} freedom"),
        ("", f"qwem analogy {options.output} man king woman"),
        ("", f"qwem evaluate {options.output} --analogies google --similarity wordsim353"),
    ]
    emit(options, report, rows)
