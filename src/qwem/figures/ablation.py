"""The ablation: two losses by two weightings, and what each does to the singular values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.dynamics import closed_form
from qwem.figures.curves import draw_singular_values, time_axis
from qwem.figures.look import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 20


@styled
def ablation(
    word2vec: Trace, quartic: Trace, reweighted: Trace, qwem: Trace, spectrum: Spectrum
) -> Figure:
    """Draw the paper's 2 × 2 ablation, all from one small start.

    Parameters
    ----------
    word2vec, quartic
        word2vec's weighting, with its own logistic loss and with the quartic one.
    reweighted, qwem
        Setting 3.1, with the logistic loss and with the quartic one.
    spectrum
        Of M*, for the unit of time.
    """
    unit = float(closed_form(spectrum, initial_vectors=qwem.snapshots[0][0]).learning_times[0])
    modes = min(_MODES, spectrum.dim)
    figure = new_figure(8.0, 5.6)
    panels = figure.subplots(2, 2, sharex=True)
    cells = (
        ("word2vec", word2vec, "logistic loss, word2vec's weighting"),
        ("word2vec", quartic, "quartic loss, word2vec's weighting"),
        ("QWEM", reweighted, "logistic loss, Setting 3.1"),
        ("QWEM", qwem, "quartic loss, Setting 3.1"),
    )
    for axes, (model, trace, title) in zip(panels.flat, cells, strict=True):
        draw_singular_values(axes, trace, unit, colour=COLOURS[model], modes=modes)
        time_axis(axes, 0.5, trace.times[-1] / unit)
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_ylabel(r"$s_k(t)$")
    for axes in panels[0]:
        axes.set_xlabel("")
    panels[0, 0].set_title("word2vec: logistic loss, its own weighting")
    panels[1, 1].set_title("QWEM: quartic loss, Setting 3.1")
    return figure
