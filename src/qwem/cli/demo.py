"""Fit, score and report on a text in one command: the demo's, or your own files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cli.options import RUNNING, add_options
from qwem.cli.output import command, cost_rows, costs, emit

if TYPE_CHECKING:
    import argparse

    from qwem.evaluation import Evaluation

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
    add_options(parser, {"threads": RUNNING["threads"]})


def run(options: argparse.Namespace) -> None:
    """Run ``qwem demo``."""
    from qwem.cli.demo_run import run_demo

    demo = run_demo(options.inputs, options.output, threads=options.threads)
    embedding = demo.model.embedding()
    shown = [word for word in WORDS if word in embedding] or embedding.index_to_key[50:57]
    neighbours = {
        word: [other for other, _ in found]
        for word, found in zip(shown, embedding.most_similar_each(shown, topn=8), strict=True)
    }
    report: dict[str, Any] = {
        "model": str(demo.model_path),
        "report": str(demo.report_path),
        "neighbours": neighbours,
        "scores": demo.evaluation.to_dict(),
        **costs(demo.seconds),
    }
    rows = [
        *((word, " ".join(others)) for word, others in neighbours.items()),
        ("", ""),
        *_score_rows(demo.evaluation),
        *cost_rows(report),
        ("model", str(demo.model_path)),
        ("report", f"{demo.report_path}  (open it in a browser)"),
        ("", ""),
        ("try next", f"{command()} similar {demo.model_path} freedom"),
        ("", f"{command()} analogy {demo.model_path} man king woman"),
        ("", f"{command()} features {demo.model_path}"),
    ]
    emit(options, report, rows)


def _score_rows(evaluation: Evaluation) -> list[tuple[str, str]]:
    rows = []
    if (answered := evaluation.analogies) is not None:
        rows.append(
            ("analogies", f"{answered.accuracy:.1%} of {answered.questions:,} questions right")
        )
    for name, rated in evaluation.similarity.items():
        rows.append((name, f"{rated.spearman:.3f} rank correlation over {rated.pairs:,} pairs"))
    return rows
