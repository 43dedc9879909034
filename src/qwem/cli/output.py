"""What commands show: tables for people, JSON for programs, figures."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import peak_memory
from qwem._internal.results import as_plain, printable, text_table
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from qwem._internal.results import Result, ShownTable

_FORMATS = (".png", ".pdf", ".svg")


def emit(
    options: argparse.Namespace, report: dict[str, Any], shown: str | Sequence[Sequence[str]]
) -> None:
    """Print `report` as JSON if the options say so, and otherwise a text or the rows of a table.

    Where the output itself goes to standard output, this goes to standard error.
    """
    if options.json:
        text = json.dumps(report, ensure_ascii=False) + "\n"
    else:
        text = shown if isinstance(shown, str) else text_table(shown)
    taken = getattr(options, "output", None) in ("-", "/dev/stdout")
    stream = sys.stderr if taken else sys.stdout
    stream.write(printable(text, stream.encoding))


def emit_result(
    options: argparse.Namespace, result: Result, shown: ShownTable | None = None, **beside: Any
) -> None:
    """Print a result: what people see of it, or as JSON all of it, that, and what is `beside`."""
    shown = result.shown() if shown is None else shown
    text = shown.to_text()
    if getattr(options, "methods", None) and hasattr(result, "methods"):
        beside["methods"] = result.methods()
        text += f"\n{beside['methods']}"
    emit(options, {**plain(result, shown), **beside}, text)


def plain(result: Result, shown: ShownTable | None = None) -> dict[str, Any]:
    """Return a result for JSON, with what people see of it, for `qwem report --results`."""
    return {**result.to_dict(), "shown": as_plain(result.shown() if shown is None else shown)}


def emit_run(
    options: argparse.Namespace,
    report: dict[str, Any],
    rows: Sequence[tuple[str, str]],
    seconds: dict[str, float],
    next_step: str | None = None,
) -> None:
    """Print what a command wrote to its output, what that cost, and what to try next."""
    report = {"output": options.output, **report, **costs(seconds)}
    rows = [*rows, *cost_rows(report), ("written", options.output)]
    if next_step:
        rows.append(("next", f"{program()} {next_step}"))
    emit(options, report, rows)


def emit_page(options: argparse.Namespace, page: Path) -> None:
    """Print where a page was written to, and how large it is."""
    if not page.is_file():  # a pipe, or standard output
        emit(options, {"output": str(page)}, [("written", str(page))])
        return
    size = page.stat().st_size
    emit(
        options,
        {"output": str(page), "bytes": size},
        [("written", f"{page}: {size / 1e6:.1f} MB, open it in a browser")],
    )


def program() -> str:
    """Return how to call this program again: by name, or by path if the shell can't find it."""
    called = sys.argv[0]
    if Path(called).name == "qwem" and shutil.which("qwem") is None:
        return called
    return "qwem"


def costs(seconds: dict[str, float]) -> dict[str, Any]:
    """Return what a run cost: seconds per stage and in total, and peak memory."""
    return {
        "seconds": {
            **{stage: round(taken, 3) for stage, taken in seconds.items()},
            "total": round(sum(seconds.values()), 3),
        },
        "peak_memory_bytes": peak_memory(),
    }


def cost_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows that show what a run cost."""
    stages = ", ".join(f"{stage} {taken:.1f} s" for stage, taken in report["seconds"].items())
    return [("time", stages), ("memory", f"{report['peak_memory_bytes'] / 1e9:.2f} GB at most")]


def check_figure(options: argparse.Namespace, *replicates: object) -> None:
    """Raise before the work if the figure that is asked for can't be drawn or written.

    One that shows intervals needs `replicates` that are not None.
    """
    if options.figure is None:
        return
    if None in replicates:
        raise SettingError(
            "--figure draws intervals over documents, which need a model with replicates; make one "
            "by qwem fit --folds."
        )
    from qwem._internal import require
    from qwem._internal.files import require_writable_file

    if Path(options.figure).suffix.lower() not in _FORMATS:
        raise SettingError(
            f"--figure takes a file whose name ends in {', '.join(_FORMATS[:-1])} or "
            f"{_FORMATS[-1]}, not {options.figure}."
        )
    require("matplotlib", "plot")
    require_writable_file(options.figure)


def draw(options: argparse.Namespace, result: Any, *arguments: str) -> None:
    """Draw a result by its method `plot`, if a figure is asked for."""
    if options.figure is not None:
        from qwem._internal.figures import write_figure

        write_figure(result.plot(*arguments), options.figure)
