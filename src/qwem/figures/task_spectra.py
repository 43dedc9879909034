"""Spectra of task vectors: histogram, Marchenko–Pastur law of the noise, and spike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from qwem.figures.look import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qwem.interpretation import MarchenkoPasturFit, TaskAnalysis

_BARS_IN_BULK = 9
_COLUMNS = 4


def readable(name: str) -> str:
    """Return the name of a category of Google's analogies without its number.

    >>> readable("gram7-past-tense")
    'past tense'
    """
    return re.sub(r"^gram\d+-", "", name).replace("-", " ")


def draw_spectrum(axes: Axes, fit: MarchenkoPasturFit) -> None:
    """Draw the eigenvalues of G_d/d as a histogram, with the fitted law of the bulk over it."""
    lower, upper = fit.distribution.support
    width = max(upper, float(fit.bulk.max())) / _BARS_IN_BULK
    bins = np.arange(0, fit.spike + 2 * width, width)
    share = 1 / (len(fit.eigenvalues) * width)
    heights = np.histogram(fit.eigenvalues, bins)[0] * share
    axes.bar(bins[:-1], heights, width, align="edge", color="#9DB7CE", edgecolor="white", lw=0.5)
    at = lower + (upper - lower) * (1 - np.cos(np.linspace(0, np.pi, 300))) / 2
    density = fit.distribution.density(at) * len(fit.bulk) / len(fit.eigenvalues)
    axes.plot(at, density, color=COLOURS["bulk"], lw=1.8)
    axes.set_xlim(0, fit.spike + 2 * width)
    # The law of a small effective dimension is unbounded at zero; the bars set the height.
    axes.set_ylim(0, 1.35 * heights.max())
    axes.annotate(
        "spike", (fit.spike, share), (0, 14), textcoords="offset points", fontsize=7,
        ha="center", arrowprops={"arrowstyle": "->", "lw": 0.6, "shrinkB": 1},
    )  # fmt: skip
    axes.set_yticks([])


@styled
def categories(analyses: Sequence[TaskAnalysis], dim: int) -> Figure:
    """Draw the spectrum of every category of task vectors at one dimension d.

    Parameters
    ----------
    analyses
        One for each category.
    dim
        d, one of the dimensions that were analyzed.
    """
    rows = -(-len(analyses) // _COLUMNS)
    figure = new_figure(2.9 * _COLUMNS, 1.95 * rows)
    panels = figure.subplots(rows, _COLUMNS, squeeze=False)
    for axes in panels.flat[len(analyses) :]:
        axes.set_axis_off()
    for axes, analysis in zip(panels.flat, analyses, strict=False):
        at = analysis.dims.index(dim)
        fit = analysis.fits[at]
        draw_spectrum(axes, fit)
        axes.set_title(
            f"{readable(analysis.task.name)}\n"
            rf"$N={len(fit.eigenvalues)}$, $d_\mathrm{{eff}}={fit.effective_dim:.0f}$, "
            f"signal in mean {analysis.signal_in_mean[at]:.2f}",
            fontsize=8,
        )
    for axes in panels[-1]:
        axes.set_xlabel(r"eigenvalue of $\mathbf{G}_d/d$")
    return figure
