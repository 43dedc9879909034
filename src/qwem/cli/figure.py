"""The option --figure: a result drawn, beside the table that is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

_FORMATS = (".png", ".pdf", ".svg")


def add_figure_option(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the option --figure."""
    parser.add_argument(
        "--figure", metavar="FILE", help=f"draw {what} to a file: PNG, PDF or SVG, by its name"
    )


def check_figure(options: argparse.Namespace, *, stability: bool = False) -> None:
    """Raise before the work if the figure that is asked for can't be drawn or written.

    One that shows `stability` needs the option of that name.
    """
    if options.figure is None:
        return
    if stability and not options.stability:
        raise SettingError("--figure draws intervals over documents; add --stability.")
    from qwem._internal.imports import require
    from qwem._internal.output import require_writable_file

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
