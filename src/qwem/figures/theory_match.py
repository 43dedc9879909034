"""Figure 2: the singular values of word2vec, of QWEM and of the theory, from two starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qwem.dynamics import closed_form
from qwem.figures.curves import draw_singular_values, draw_theory, theory_times, time_axis
from qwem.figures.look import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 20


@dataclass(frozen=True, eq=False)
class Start:
    """Runs of both models from the same W(0), and the theory from there."""

    title: str
    word2vec: Trace
    qwem: Trace
    spectrum: Spectrum

    @cached_property
    def theory(self) -> ClosedFormDynamics:
        """Result 3.5 from the runs' own W(0)."""
        return closed_form(self.spectrum, initial_vectors=self.qwem.snapshots[0][0])

    @property
    def runs(self) -> dict[str, Trace]:
        """Both runs by the name of their model."""
        return {"word2vec": self.word2vec, "QWEM": self.qwem}

    def errors(self, run: Trace, modes: int = _MODES) -> NDArray[np.float64]:
        """Return |s_k(t) − theory|/√λ_k of a run's top modes, both sorted by size at each time."""
        expected = np.sort(self.theory.singular_values(run.times))[:, ::-1]
        scaled = np.abs(run.singular_values - expected) / np.sqrt(self.spectrum.eigenvalues)
        return np.asarray(scaled[:, :modes])


@styled
def theory_match(*starts: Start) -> Figure:
    """Draw the singular-value dynamics, one row for each start (Figure 2)."""
    figure = new_figure(10.0, 2.9 * len(starts))
    panels = figure.subplots(len(starts), 3, squeeze=False, sharey=True)
    for row, start in zip(panels, starts, strict=True):
        # Both starts on one clock: that of the mean growth from R_11(0), which both rows have.
        unit = float(start.theory.learning_times[0])
        modes = min(_MODES, start.spectrum.dim)
        first, last = _shown(start, unit)
        for axes, (name, run) in zip(row, start.runs.items(), strict=False):
            draw_singular_values(axes, run, unit, colour=COLOURS[name], modes=modes)
            distance = start.errors(run, modes).mean()
            label = f"mean distance\nfrom theory:\n{distance:.2%} of $\\sqrt{{\\lambda_k}}$"
            axes.text(0.98, 0.05, label, transform=axes.transAxes, fontsize=7.5, ha="right")
        for axes in row[1:]:
            draw_theory(axes, start.theory, theory_times(first * unit, last * unit), unit, modes)
        row[1].legend(loc="upper left")
        for axes in row:
            time_axis(axes, first, last)
            axes.set_ylim(bottom=0)
        row[0].set_ylabel(f"{start.title}\n" + r"$s_k(t)$")
    for axes, title in zip(panels[0], ("word2vec", "QWEM", "theory"), strict=True):
        axes.set_title(title, color=COLOURS[title], fontweight="bold")
    return figure


def _shown(start: Start, unit: float) -> tuple[float, float]:
    """Return the times to show, from well before the first mode is learned to the end."""
    return 0.3, float(min(start.qwem.times[-1], start.word2vec.times[-1])) / unit
