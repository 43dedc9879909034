"""Shared style of all figures: colours, type, panels, and files."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from qwem._internal.files import writing_file
from qwem._internal.resources import require
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from matplotlib.figure import Figure

P = ParamSpec("P")

# Okabe and Ito's palette, which people with any kind of colour blindness can tell apart.
COLOURS = {
    "word2vec": "#0072B2",
    "QWEM": "#D55E00",
    "M*": "#CC79A7",
    "PPMI": "#009E73",
    "PMI": "#7F7F7F",
    "theory": "#000000",
    "bulk": "#E69F00",
}
SEQUENCE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F", "#000000")
"""Colours, in order, for curves without a colour in `COLOURS`."""

_STYLE: dict[str, Any] = {
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.2,
    "figure.facecolor": "white",
    "pdf.fonttype": 42,
    "svg.hashsalt": "qwem",
}
_RESOLUTION = 200
_UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
}
"""Metadata of each format without dates and versions, so that equal figures give equal files."""


@contextmanager
def style() -> Iterator[None]:
    """Use the shared style within a block and restore Matplotlib's settings after it."""
    with require("matplotlib", "plot").rc_context(_STYLE):
        yield


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function draw its figure in the shared style."""

    @wraps(draw)
    def drawing(*arguments: P.args, **options: P.kwargs) -> Figure:
        with style():
            return draw(*arguments, **options)

    return drawing


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, without pyplot's global state."""
    figure: Figure = require("matplotlib.figure", "plot").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def shades(colour: str, count: int) -> list[tuple[float, float, float]]:
    """Return `count` shades of a colour, from itself towards white.

    >>> len(shades("#0072B2", 3))
    3
    """
    base = np.array(require("matplotlib.colors", "plot").to_rgb(colour))
    mixed = [base + (1 - base) * part for part in np.linspace(0, 0.7, count)]
    return [(float(r), float(g), float(b)) for r, g, b in mixed]


def save_figure(figure: Figure, stem: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write a figure as PNG and as PDF and return both paths; equal figures give equal files.

    >>> import tempfile
    >>> [path.name for path in save_figure(new_figure(1, 1), tempfile.mkdtemp() + "/empty")]
    ['empty.png', 'empty.pdf']
    """
    paths = Path(f"{stem}.png"), Path(f"{stem}.pdf")
    for path in paths:
        write_figure(figure, path)
        figure.set_layout_engine("none")  # so that both files have the same layout
    return paths


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG, PDF or SVG, by the file's extension, and return its path.

    >>> import tempfile
    >>> write_figure(new_figure(1, 1), tempfile.mkdtemp() + "/empty.svg").name
    'empty.svg'
    """
    file_path = Path(path)
    kind = file_path.suffix[1:].lower()
    if kind not in _UNDATED:
        raise SettingError(
            f"A figure is written to a file that ends in .png, .pdf or .svg, not to {file_path}."
        )
    with style(), _quiet_fonts(), writing_file(file_path) as file:
        figure.savefig(file, format=kind, dpi=_RESOLUTION, metadata=_UNDATED[kind])
    return file_path


@contextmanager
def _quiet_fonts() -> Iterator[None]:
    """Silence fontTools' warnings about the dates in Matplotlib's own fonts."""
    fonts = logging.getLogger("fontTools")
    level = fonts.level
    fonts.setLevel(logging.ERROR)
    try:
        yield
    finally:
        fonts.setLevel(level)
