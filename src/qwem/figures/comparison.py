"""Figures of comparisons: values with intervals, places on an axis over time, coefficients."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from qwem.comparison import Estimates
from qwem.errors import SettingError
from qwem.figures.look import SEQUENCE, new_figure, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.comparison import AxisPath, ContextRegression, StableNeighbours

_WIDTH, _ROW = 5.2, 0.24
_GREY = "#7F7F7F"


@styled
def interval_plot(result: Estimates | StableNeighbours, level: float = 0.95) -> Figure:
    """Draw values with their confidence intervals over documents, one row each.

    Parameters
    ----------
    result
        What `Stability` found: estimates, such as projections on an axis, or the nearest words of a
        word.
    level
        Of the confidence intervals.

    >>> from qwem.comparison import Estimates
    >>> found = Estimates(("a", "b"), np.zeros(2), np.ones((5, 2)), "jackknife")
    >>> len(interval_plot(found).axes)
    1
    """
    if isinstance(result, Estimates):
        names, values = result.names, result.values
        low, high = result.confidence(level)
        title = ""
    else:
        found = result.neighbours
        names, values = tuple(each.word for each in found), _column(found, "similarity")
        low, high = _intervals(values, _column(found, "error"), result.replicates, level)
        title = result.query
    figure = new_figure(_WIDTH, _height(len(names)))
    axes = figure.subplots()
    _draw_rows(axes, names, values, low, high)
    axes.set_xlabel(f"cosine, with {level:.0%} intervals over documents" if title else
                    f"value, with {level:.0%} intervals over documents")  # fmt: skip
    axes.set_title(title)
    if not title:
        _draw_zero(axes)
    return figure


@styled
def coefficient_plot(result: ContextRegression, level: float = 0.95) -> Figure:
    """Draw the debiased squared norms of coefficients, with their intervals and p-values.

    That of a number is shown for one standard deviation of it, to be comparable with the others.

    Parameters
    ----------
    result
        What `qwem.comparison.context_regression` found.
    level
        Of the confidence intervals.
    """
    low, high = result.norms.confidence(level)
    deviations = result.design.matrix[:, 1:].std(axis=0)
    numeric = np.array([result.design.levels.get(name) == () for name in result.norms.names])
    scale = np.where(numeric, deviations**2, 1.0)
    names = [
        f"{name} (by {deviation:.3g})" if number else name
        for name, deviation, number in zip(result.norms.names, deviations, numeric, strict=True)
    ]
    figure = new_figure(_WIDTH, _height(len(names)))
    axes = figure.subplots()
    _draw_rows(axes, names, scale * result.norms.values, scale * low, scale * high)
    _draw_zero(axes)
    for row, each in enumerate(result.coefficients):
        if each.p_value is not None:
            axes.annotate(f"p = {each.p_value:.2g}", (1.02, row), va="center", color=_GREY,
                          xycoords=("axes fraction", "data"), annotation_clip=False)  # fmt: skip
    axes.set_xlabel(f"squared norm of the coefficient, debiased, with {level:.0%} intervals")
    axes.set_title(", ".join(result.words))
    return figure


@styled
def path_plot(path: AxisPath, positive: str = "", negative: str = "") -> Figure:
    """Draw where words lie on an axis, in one corpus after another.

    Parameters
    ----------
    path
        What `qwem.comparison.CorpusComparison.path` found.
    positive, negative
        Names for the two ends of the axis.

    >>> from qwem.comparison import AxisPath
    >>> len(path_plot(AxisPath(("1990", "2000"), {"nurse": (0.3, 0.1)})).axes[0].lines)
    2
    """
    if len(path.places) > len(SEQUENCE):
        raise SettingError(
            f"A figure shows the paths of at most {len(SEQUENCE)} words, not of "
            f"{len(path.places)}; choose some."
        )
    figure = new_figure(_WIDTH, 3.4)
    axes = figure.subplots()
    _draw_zero(axes, horizontal=True)
    steps = np.arange(len(path.corpora))
    ends = []
    for (word, places), colour in zip(path.places.items(), SEQUENCE, strict=False):
        axes.plot(steps, places, "o-", ms=4, color=colour)
        ends.append((word, places[-1], colour))
    low, high = axes.get_ylim()
    heights = _apart([place for _, place, _ in ends], 0.055 * (high - low))
    for (word, place, colour), height in zip(ends, heights, strict=True):
        axes.annotate(word, (steps[-1], place), (steps[-1] + 0.06 * max(steps[-1], 1), height),
                      color=colour, va="center", annotation_clip=False)  # fmt: skip
    axes.set_xticks(steps, path.corpora)
    below, above = f"{negative} ← " if negative else "", f" → {positive}" if positive else ""
    axes.set_ylabel(f"{below}cosine with the axis{above}")
    return figure


def _draw_rows(
    axes: Axes,
    names: Sequence[str],
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Draw a dot and an interval for each name, from the top down."""
    rows = np.arange(len(names))
    axes.hlines(rows, low, high, color=SEQUENCE[0], lw=1.6)
    axes.plot(values, rows, "o", ms=5, color=SEQUENCE[0])
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _draw_zero(axes: Axes, *, horizontal: bool = False) -> None:
    draw = axes.axhline if horizontal else axes.axvline
    draw(0, color=_GREY, lw=0.8, ls=(0, (4, 3)), zorder=0)


def _height(rows: int) -> float:
    return 0.9 + _ROW * max(rows, 2)


def _column(found: Sequence[object], name: str) -> NDArray[np.float64]:
    return np.array([getattr(each, name) for each in found], dtype=np.float64)


def _intervals(
    values: NDArray[np.float64], errors: NDArray[np.float64], replicates: int, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of intervals of ± t standard errors, as `Estimates.confidence` does."""
    from scipy.stats import t as student

    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1, not be {level}.")
    width = student.ppf((1 + level) / 2, replicates - 1) * errors
    return values - width, values + width


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Return heights moved up, as little as needed, until they are at least so far apart.

    >>> _apart([0.0, 0.05, 1.0], 0.25)
    [0.0, 0.25, 1.0]
    """
    moved = list(heights)
    order = np.argsort(heights, kind="stable")
    for lower, upper in pairwise(order):
        moved[upper] = max(moved[upper], moved[lower] + least)
    return moved
