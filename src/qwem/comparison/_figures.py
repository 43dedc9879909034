"""Figures of comparisons: values with intervals, places on an axis over time, coefficients."""

from __future__ import annotations

from itertools import pairwise
from textwrap import fill
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
    from qwem.comparison.regression import ContextRegression
    from qwem.comparison.results import Estimates

_WIDTH, _ROW = 5.2, 0.24
_GREY = "#7F7F7F"


@styled
def plot_estimates(result: Estimates, level: float) -> Figure:
    """Draw values with their confidence intervals over documents or clusters, one row each."""
    axes = _interval_axes(result.names, result.values, *result.confidence(level))
    kind = "cosine" if np.all(result.limit == 1) else "value"
    over = result.units.removeprefix("folds of ")
    axes.set_xlabel(f"{kind}, with {level:.0%} intervals over {over}")
    axes.set_title(getattr(result, "query", ""))
    if np.min(result.values) < 0:
        _draw_zero(axes)
    return axes.figure  # type: ignore[return-value]


@styled
def plot_coefficients(result: ContextRegression, level: float) -> Figure:
    """Draw the debiased squared norms of coefficients, with their intervals and p-values.

    The norm of a number is that of one standard deviation, to be comparable with categories.
    """
    low, high = result.norms.confidence(level)
    deviations = result.design.matrix[:, 1:].std(axis=0)
    numeric = [not set(column) <= {0.0, 1.0} for column in result.design.matrix[:, 1:].T.tolist()]
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
    """Draw the places of words on an axis, in one corpus after another, with 95 % intervals."""
    if len(path.places) > len(SEQUENCE):
        raise SettingError(
            f"A figure shows the paths of at most {len(SEQUENCE)} words, not of "
            f"{len(path.places)}; choose some."
        )
    count, steps = len(path.corpora), np.arange(len(path.corpora))
    figure = new_figure(max(_WIDTH, 1.6 + 0.55 * count), 3.4)
    axes = figure.subplots()
    _draw_zero(axes, horizontal=True)
    # Words are shifted a little sideways, so that their intervals don't overlap.
    shifts = 0.05 * (np.arange(len(path.places)) - (len(path.places) - 1) / 2)
    for (word, places), colour, shift in zip(path.places.items(), SEQUENCE, shifts, strict=False):
        axes.plot(steps + shift, places, "o-", ms=4, color=colour)
        if word in path.intervals:
            low, high = np.array(path.intervals[word]).T
            axes.vlines(steps + shift, low, high, color=colour, lw=1.0, alpha=0.6)
    low, high = axes.get_ylim()
    ends = [places[-1] for places in path.places.values()]
    for (word, places), colour, shift, height in zip(
        path.places.items(), SEQUENCE, shifts, _apart(ends, 0.055 * (high - low)), strict=False
    ):
        axes.annotate(
            word, (steps[-1] + shift, places[-1]), (0.06 * count + count - 0.96, height),
            color=colour, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "lw": 0.5, "alpha": 0.5},
        )  # fmt: skip
    names = [name if len(name) <= 24 else f"{name[:23]}…" for name in path.corpora]
    crowded = sum(map(len, names)) > 60
    axes.set_xticks(
        steps, names, rotation=35 if crowded else 0, ha="right" if crowded else "center"
    )
    axes.set_xlim(-0.3, count - 0.7)
    axes.set_ylabel("cosine with the axis")
    ends_named = [f"↑ {positive}"] * bool(positive) + [f"↓ {negative}"] * bool(negative)
    if ends_named:
        wrapped = [fill(each, 60, subsequent_indent="    ") for each in ends_named]
        axes.set_title("\n".join(wrapped), loc="left", fontsize=8)
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


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Return heights moved up, as little as needed, until they are at least `least` apart.

    >>> _apart([0.0, 0.05, 1.0], 0.25)
    [0.0, 0.25, 1.0]
    """
    moved = list(heights)
    order = np.argsort(heights, kind="stable")
    for lower, upper in pairwise(order):
        moved[upper] = max(moved[upper], moved[lower] + least)
    return moved
