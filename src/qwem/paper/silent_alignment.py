"""Silent alignment: singular vectors turn to the eigenvectors of M* before they grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.figures import COLOURS, new_figure, styled
from qwem.errors import SettingError
from qwem.paper import curves

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 8


@styled
def silent_alignment(runs: Mapping[str, Sequence[Trace]], spectrum: Spectrum) -> Figure:
    """Draw the alignment of each mode with its eigenvector above its singular value.

    Parameters
    ----------
    runs
        Runs by the name of their model, one per seed, recorded with `spectrum` as their reference.
    spectrum
        Of M*, for the unit of time.
    """
    figure = new_figure(4.4 * len(runs), 4.8)
    panels = figure.subplots(2, len(runs), squeeze=False, sharex="col")
    modes = min(_MODES, spectrum.dim)
    for (above, below), (name, traces) in zip(panels.T, runs.items(), strict=True):
        alignments = [trace.alignment for trace in traces if trace.alignment is not None]
        if len(alignments) < len(traces):
            raise SettingError(f"The run {name!r} has no alignment; train it with a reference.")
        unit = curves.unit_of(curves.theories_of(spectrum, traces))
        colour = COLOURS[name]
        curves.draw_modes(above, traces, alignments, unit, colour=colour, modes=modes)
        curves.draw_singular_values(below, traces, unit, colour=colour, modes=modes)
        curves.time_axis(below, 0.02, traces[0].times[-1] / unit)
        above.set_title(name, color=colour, fontweight="bold")
        above.set_ylim(0, 1.03)
        below.set_ylim(bottom=0)
    curves.note_seeds(figure, len(traces))
    panels[0, 0].set_ylabel(r"alignment $(\mathbf{v}^\star_k\cdot\mathbf{v}_k(t))^2$")
    panels[1, 0].set_ylabel(r"$s_k(t)$")
    return figure
