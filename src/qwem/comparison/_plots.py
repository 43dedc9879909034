"""Figures of comparisons: values with intervals, places on an axis over time, coefficients."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.figures import SEQUENCE, new_figure, styled
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.comparison.changes import AxisPath
    from qwem.comparison.estimates import Estimates
    from qwem.comparison.regression import ContextRegression
    from qwem.comparison.stability import StableNeighbours

_WIDTH, _ROW = 5.2, 0.24
_GREY = "#7F7F7F"


@styled
def plot_estimates(result: Estimates, level: float) -> Figure:
    """Draw values with their confidence intervals over documents, one row each."""
    axes = _interval_axes(result.names, result.values, *result.confidence(level))
    axes.set_xlabel(f"value, with {level:.0%} intervals over documents")
    _draw_zero(axes)
    return axes.figure  # type: ignore[return-value]


@styled
def plot_neighbours(result: StableNeighbours, level: float) -> Figure:
    """Draw the cosines of the nearest words of a word with their confidence intervals."""
    found = result.neighbours
    values = _column(found, "similarity")
    ends = _intervals(values, _column(found, "error"), result.replicates, level)
    axes = _interval_axes([each.word for each in found], values, *ends)
    axes.set_xlabel(f"cosine, with {level:.0%} intervals over documents")
    axes.set_title(result.query)
    return axes.figure  # type: ignore[return-value]


@styled
def plot_coefficients(result: ContextRegression, level: float) -> Figure:
    """Draw the debiased squared norms of coefficients, with their intervals and p-values.

    That of a number is shown for one standard deviation of it, to be comparable with the others.
    """
    low, high = result.norms.confidence(level)
    deviations = result.design.matrix[:, 1:].std(axis=0)
    numeric = np.array([result.design.levels.get(name) == () for name in result.norms.names])
    scale = np.where(numeric, deviations**2, 1.0)
    names = [
        f"{name} (by {deviation:.3g})" if number else name
        for name, deviation, number in zip(result.norms.names, deviations, numeric, strict=True)
    ]
    axes = _interval_axes(names, scale * result.norms.values, scale * low, scale * high)
    _draw_zero(axes)
    for row, each in enumerate(result.coefficients):
        if each.p_value is not None:
            axes.annotate(f"p = {each.p_value:.2g}", (1.02, row), va="center", color=_GREY,
                          xycoords=("axes fraction", "data"), annotation_clip=False)  # fmt: skip
    axes.set_xlabel(f"squared norm of the coefficient, debiased, with {level:.0%} intervals")
    axes.set_title(", ".join(result.words))
    return axes.figure  # type: ignore[return-value]


@styled
def plot_path(path: AxisPath, positive: str, negative: str) -> Figure:
    """Draw the places of words on an axis, in one corpus after another."""
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


def _interval_axes(
    names: Sequence[str],
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> Axes:
    """Return a new figure's axes with a dot and an interval for each name, from the top down."""
    axes = new_figure(_WIDTH, 0.9 + _ROW * max(len(names), 2)).subplots()
    rows = np.arange(len(names))
    axes.hlines(rows, low, high, color=SEQUENCE[0], lw=1.6)
    axes.plot(values, rows, "o", ms=5, color=SEQUENCE[0])
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    return axes


def _draw_zero(axes: Axes, *, horizontal: bool = False) -> None:
    draw = axes.axhline if horizontal else axes.axvline
    draw(0, color=_GREY, lw=0.8, ls=(0, (4, 3)), zorder=0)


def _column(found: Sequence[object], name: str) -> NDArray[np.float64]:
    return np.array([getattr(each, name) for each in found], dtype=np.float64)


def _intervals(
    values: NDArray[np.float64], errors: NDArray[np.float64], replicates: int, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ends of intervals of cosines, nearly those of `Estimates.confidence`."""
    from scipy.stats import t as student

    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1, not be {level}.")
    inside = np.clip(values, -1 + 1e-9, 1 - 1e-9)
    width = student.ppf((1 + level) / 2, replicates - 1) * errors / (1 - inside**2)
    return np.tanh(np.arctanh(inside) - width), np.tanh(np.arctanh(inside) + width)


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
