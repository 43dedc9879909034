"""The ablation: two losses by two weightings, their singular values and their modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.dynamics import closed_form
from qwem.figures.curves import draw_singular_values, time_axis
from qwem.figures.look import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 20
_LINES = {
    "word2vec": ("word2vec", "o-", "word2vec"),
    "quartic": ("word2vec", "s:", "quartic loss, word2vec's weighting"),
    "reweighted": ("QWEM", "s:", "logistic loss, Setting 3.1"),
    "qwem": ("QWEM", "o-", "QWEM"),
}


@styled
def ablation(
    word2vec: Trace,
    quartic: Trace,
    reweighted: Trace,
    qwem: Trace,
    spectrum: Spectrum,
    separation: Mapping[str, NDArray[np.float64]],
) -> Figure:
    """Draw the paper's 2 × 2 ablation, all runs from one small start.

    Parameters
    ----------
    word2vec, quartic
        word2vec's weighting, with its own logistic loss and with the quartic one.
    reweighted, qwem
        Setting 3.1, with the logistic loss and with the quartic one.
    spectrum
        Of M*, for the unit of time.
    separation
        For each run by its name above, how far the first k modes are those of M* when mode k is
        half learned; drawn at the right.
    """
    unit = float(closed_form(spectrum, initial_vectors=qwem.snapshots[0][0]).learning_times[0])
    modes = min(_MODES, spectrum.dim)
    figure = new_figure(11.6, 5.6)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[2.1, 1])[0]
    panels = left.subplots(2, 2, sharex=True)
    cells = (
        ("word2vec", word2vec, "word2vec: logistic loss, its own weighting"),
        ("word2vec", quartic, "quartic loss, word2vec's weighting"),
        ("QWEM", reweighted, "logistic loss, Setting 3.1"),
        ("QWEM", qwem, "QWEM: quartic loss, Setting 3.1"),
    )
    for axes, (model, trace, title) in zip(panels.flat, cells, strict=True):
        draw_singular_values(axes, trace, unit, colour=COLOURS[model], modes=modes)
        time_axis(axes, 0.5, trace.times[-1] / unit)
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_ylabel(r"$s_k(t)$")
    for axes in panels[0]:
        axes.set_xlabel("")
    _draw_separation(right.subplots(), separation, modes)
    return figure


def _draw_separation(axes: Axes, separation: Mapping[str, NDArray[np.float64]], modes: int) -> None:
    """Draw the separation of each mode, one line per run."""
    for name, found in separation.items():
        colour, line, label = _LINES[name]
        ranks = np.arange(1, len(found[:modes]) + 1)
        axes.plot(ranks, found[:modes], line, ms=3, color=COLOURS[colour], label=label)
    axes.set(ylim=(0, 1.03), xlabel="mode $k$", title="modes of M* when half learned")
    axes.set_ylabel(r"$\|\mathbf{V}^{\star\top}_{:k}\mathbf{V}_{:k}\|^2/k$")
    axes.locator_params(axis="x", integer=True)
    axes.legend(loc="lower right")
