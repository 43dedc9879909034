"""Fit, score and report on a text in one command: the demo's, or your own files."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import STAGES
from qwem.cli.options import THREADS, add_options
from qwem.cli.output import cost_rows, costs, emit, program

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from qwem.evaluation import Evaluation

SENTENCES = {
    "read": "reading the text: splitting it into words, numbering them",
    "count": "counting which words occur near each other",
    "target": "making the target matrix of the counts",
    "factorize": "computing the eigenvectors of the matrix, which are the embedding",
    "polish": "polishing: a few sweeps of word2vec's own loss",
    "save": "saving the model",
    "report": "laying out the map of words and writing the page",
    "score": "scoring the embedding on the benchmarks that are here",
    "compile": "compiling kernels as they are first used, once per installation",
}
"""What a stage does, by its name."""
WORDS = ("king", "love", "science", "paris", "happy", "music", "war")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem demo``."""
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT", help="your own text (default: the demo's quotations)"
    )
    parser.add_argument(
        "-o", "--output", default="qwem-demo", metavar="DIRECTORY",
        help="where to write the model and the report (default: qwem-demo)",
    )  # fmt: skip
    add_options(parser, {"threads": THREADS})


def run(options: argparse.Namespace) -> None:
    """Run ``qwem demo``."""
    from qwem.cli.demo_run import run_demo

    with _stages_shown():
        demo = run_demo(options.inputs, options.output)
    embedding = demo.model.embedding()
    shown = [word for word in WORDS if word in embedding] or embedding.index_to_key[50:57]
    neighbours = {
        word: [other for other, _ in found]
        for word, found in zip(shown, embedding.most_similar_each(shown, topn=8), strict=True)
    }
    report: dict[str, Any] = {
        "model": str(demo.model_path),
        "report": str(demo.report_path),
        "reused": demo.reused,
        "neighbours": neighbours,
        "scores": demo.evaluation.to_dict(),
        **costs(demo.seconds),
    }
    rows = [
        *((word, " ".join(others)) for word, others in neighbours.items()),
        ("", ""),
        *_score_rows(demo.evaluation, str(demo.model_path)),
        *cost_rows(report),
        ("model", f"{demo.model_path}{'  (made before, from the same text)' * demo.reused}"),
        ("report", f"{demo.report_path}  (open it in a browser)"),
        ("", ""),
        ("try next", f"{program()} similar {demo.model_path} freedom"),
        ("", f"{program()} similar {demo.model_path} --analogy man king woman"),
        ("", f"{program()} features {demo.model_path}"),
    ]
    emit(options, report, rows)


class _StagePrinter(logging.Handler):
    """Prints a sentence on standard error as each stage starts."""

    def __init__(self) -> None:
        super().__init__()
        self._start = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        from tqdm import tqdm  # so that the sentence does not tear a progress bar

        if sentence := SENTENCES.get(record.getMessage()):
            tqdm.write(f"{time.monotonic() - self._start:4.0f} s  {sentence}", file=sys.stderr)


@contextmanager
def _stages_shown() -> Iterator[None]:
    printer, level = _StagePrinter(), STAGES.level
    STAGES.addHandler(printer)
    STAGES.setLevel(logging.INFO)
    try:
        yield
    finally:
        STAGES.removeHandler(printer)
        STAGES.setLevel(level)


def _score_rows(evaluation: Evaluation, model: str) -> list[tuple[str, str]]:
    if not evaluation:
        fetch = f"{program()} evaluate {model} --analogies google"
        return [("scores", f"no benchmark file here; this fetches one: {fetch}")]
    rows = []
    if (answered := evaluation.analogies) is not None:
        rows.append(
            ("analogies", f"{answered.accuracy:.1%} of {answered.questions:,} questions right")
        )
    for name, rated in evaluation.similarity.items():
        rows.append((name, f"{rated.spearman:.3f} rank correlation over {rated.pairs:,} pairs"))
    return rows
