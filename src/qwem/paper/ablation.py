"""The ablation: two losses by two weightings, their singular values and their modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.figures import COLOURS, new_figure, styled
from qwem.paper import curves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    word2vec: Sequence[Trace],
    quartic: Sequence[Trace],
    reweighted: Sequence[Trace],
    qwem: Sequence[Trace],
    spectrum: Spectrum,
    separation: Mapping[str, NDArray[np.float64]],
) -> Figure:
    """Draw the paper's 2 × 2 ablation, all runs from the same small starts, one per seed.

    Parameters
    ----------
    word2vec, quartic
        word2vec's weighting, with its own logistic loss and with the quartic one.
    reweighted, qwem
        Setting 3.1, with the logistic loss and with the quartic one.
    spectrum
        Of M*, for the unit of time.
    separation
        By the names above, how far the first k modes are those of M* when mode k is half learned,
        one row per seed; drawn at the right.
    """
    unit = curves.unit_of(curves.theories_of(spectrum, qwem))
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
    for axes, (model, runs, title) in zip(panels.flat, cells, strict=True):
        curves.draw_singular_values(axes, runs, unit, colour=COLOURS[model], modes=modes)
        curves.time_axis(axes, 0.5, runs[0].times[-1] / unit)
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_ylabel(r"$s_k(t)$")
    for axes in panels[0]:
        axes.set_xlabel("")
    _draw_separation(right.subplots(), separation, modes)
    curves.note_seeds(figure, len(qwem))
    return figure


def _draw_separation(axes: Axes, separation: Mapping[str, NDArray[np.float64]], modes: int) -> None:
    """Draw the separation of each mode, one line per model."""
    for name, found in separation.items():
        colour, line, label = _LINES[name]
        bounds = np.quantile(found[:, :modes], (0.0, 0.5, 1.0), axis=0)
        ranks = np.arange(1, bounds.shape[1] + 1)
        curves.draw_band(axes, ranks, bounds, marker=line[0], linestyle=line[1:], ms=3,
                  color=COLOURS[colour], label=label)  # fmt: skip
    axes.set(ylim=(0, 1.03), xlabel="mode $k$", title="modes of M* when half learned")
    axes.set_ylabel(r"$\|\mathbf{V}^{\star\top}_{:k}\mathbf{V}_{:k}\|^2/k$")
    axes.locator_params(axis="x", integer=True)
    axes.legend(loc="lower right")
