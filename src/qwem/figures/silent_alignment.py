"""Silent alignment: singular vectors turn to the eigenvectors of M* before they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.dynamics import closed_form
from qwem.errors import SettingError
from qwem.figures.curves import draw_singular_values, time_axis
from qwem.figures.look import COLOURS, new_figure, shades, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 8


@styled
def silent_alignment(traces: Mapping[str, Trace], spectrum: Spectrum) -> Figure:
    """Draw the alignment of each mode with its eigenvector above its singular value.

    Parameters
    ----------
    traces
        Runs by the name of their model, recorded with `spectrum` as their reference.
    spectrum
        Of M*, for the unit of time.
    """
    figure = new_figure(4.4 * len(traces), 4.8)
    panels = figure.subplots(2, len(traces), squeeze=False, sharex="col")
    modes = min(_MODES, spectrum.dim)
    for (above, below), (name, trace) in zip(panels.T, traces.items(), strict=True):
        if trace.alignment is None:
            raise SettingError(f"The run {name!r} has no alignment; train it with a reference.")
        start = trace.snapshots[0][0]
        unit = float(closed_form(spectrum, initial_vectors=start).learning_times[0])
        later = trace.times > 0
        curves = np.asarray(trace.alignment)[later, :modes].T
        for values, shade in zip(curves, shades(COLOURS[name], modes), strict=True):
            above.plot(trace.times[later] / unit, values, color=shade)
        draw_singular_values(below, trace, unit, colour=COLOURS[name], modes=modes)
        time_axis(below, 0.02, trace.times[-1] / unit)
        above.set_title(name, color=COLOURS[name], fontweight="bold")
        above.set_ylim(0, 1.03)
        below.set_ylim(bottom=0)
    panels[0, 0].set_ylabel(r"alignment $(\mathbf{v}^\star_k\cdot\mathbf{v}_k(t))^2$")
    panels[1, 0].set_ylabel(r"$s_k(t)$")
    return figure
