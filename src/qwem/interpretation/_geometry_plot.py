"""Figure of a shape: words where they are, where theory puts them, and the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.figures import SEQUENCE, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qwem.interpretation.geometry import Geometry

_THEORY, _WORDS = "#7F7F7F", SEQUENCE[0]


@styled
def plot_geometry(result: Geometry) -> Figure:
    """Draw the words of a shape in their first two modes, and the kernel beside them."""
    figure = new_figure(7.6, 3.8)
    places, kernel = figure.subplots(1, 2, width_ratios=(3, 2))
    _draw_places(places, result)
    _draw_kernel(kernel, result)
    figure.suptitle(
        f"{result.shape.name}: R² = {result.invariance:.2f} for a symmetric block of M*"
    )
    return figure


def _draw_places(axes: Axes, result: Geometry) -> None:
    predicted, found = result.modes, result.found
    if predicted.shape[1] == 1:  # a line against the order of the words
        order = np.argsort(np.argsort(result.shape.coordinates()[:, 0]))
        predicted, found = (np.column_stack([order, side[:, 0]]) for side in (predicted, found))
    for one, other in zip(predicted, found, strict=True):
        axes.plot(*zip(one[:2], other[:2], strict=True), color=_THEORY, lw=0.4, alpha=0.6)
    if result.shape.kind in {"cycle", "line"}:
        path = predicted[np.argsort(result.shape.positions[:, 0])]
        path = np.vstack([path, path[:1]]) if result.shape.kind == "cycle" else path
        axes.plot(path[:, 0], path[:, 1], color=_THEORY, lw=0.8)
    axes.plot(predicted[:, 0], predicted[:, 1], "o", ms=3, mfc="white", color=_THEORY,
              label="theory")  # fmt: skip
    axes.plot(found[:, 0], found[:, 1], "o", ms=3, color=_WORDS, label="model")
    for word, place in zip(result.shape.words, found, strict=True):
        axes.annotate(word, place[:2], (3, 3), textcoords="offset points", fontsize=7)
    axes.set_axis_off()
    axes.legend(loc="best")
    if result.modes.shape[1] > 1:
        axes.set_aspect("equal", "datalim")


def _draw_kernel(axes: Axes, result: Geometry) -> None:
    positions, values = np.array(result.kernel).T
    if result.shape.kind == "attributes":
        axes.bar(positions, values, width=0.5, color=_WORDS)
        axes.set_xticks(positions)
        axes.set_xlabel("attribute")
        axes.set_ylabel("weight in M*")
        return
    axes.axhline(0, color=_THEORY, lw=0.5)
    axes.plot(positions, values, "o-" if len(positions) < 30 else "-", ms=3, color=_WORDS)
    angle = " (radians)" if result.shape.kind == "sphere" else ""
    axes.set_xlabel(f"distance{angle}")
    axes.set_ylabel("M*, relative to its mean")
