"""Figure 2: the singular values of word2vec, of QWEM and of the theory, from two starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.figures import COLOURS, new_figure, styled
from qwem.paper.curves import (
    draw_singular_values,
    draw_theory,
    note_seeds,
    theories_of,
    theory_times,
    time_axis,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 20


@dataclass(frozen=True, eq=False)
class Start:
    """Runs of both models from the same W(0), one per seed, and the theory from there."""

    title: str
    word2vec: Sequence[Trace]
    qwem: Sequence[Trace]
    spectrum: Spectrum

    @cached_property
    def theories(self) -> list[ClosedFormDynamics]:
        """Result 3.5 from W(0) of each seed."""
        return theories_of(self.spectrum, self.qwem)

    @property
    def unit(self) -> float:
        """τ₁, the median over seeds."""
        return unit_of(self.theories)

    @property
    def runs(self) -> dict[str, Sequence[Trace]]:
        """The runs of both models by the name of the model."""
        return {"word2vec": self.word2vec, "QWEM": self.qwem}

    def errors(self, runs: Sequence[Trace], modes: int = _MODES) -> list[NDArray[np.float64]]:
        """Return |s_k(t) − theory|/√λ_k of the top modes of each run, against its own theory.

        Both sides are sorted by size at each time. An array has one row per record.
        """
        found = []
        for run, theory in zip(runs, self.theories, strict=True):
            expected = np.sort(theory.singular_values(run.times))[:, ::-1]
            scaled = np.abs(run.singular_values - expected) / np.sqrt(self.spectrum.eigenvalues)
            found.append(np.asarray(scaled[:, :modes]))
        return found


@styled
def theory_match(*starts: Start) -> Figure:
    """Draw the singular-value dynamics, one row for each start (Figure 2)."""
    figure = new_figure(10.0, 2.9 * len(starts))
    panels = figure.subplots(len(starts), 3, squeeze=False, sharey=True)
    for row, start in zip(panels, starts, strict=True):
        unit = start.unit
        modes = min(_MODES, start.spectrum.dim)
        first, last = _shown(start, unit)
        for axes, (name, runs) in zip(row, start.runs.items(), strict=False):
            draw_singular_values(axes, runs, unit, colour=COLOURS[name], modes=modes)
            distance = np.mean([errors.mean() for errors in start.errors(runs, modes)])
            label = f"mean distance\nfrom theory:\n{distance:.2%} of $\\sqrt{{\\lambda_k}}$"
            axes.text(0.03, 0.86, label, transform=axes.transAxes, fontsize=7.5, va="top")
        for axes in row[1:]:
            draw_theory(axes, start.theories, theory_times(first * unit, last * unit), unit, modes)
        row[1].legend(loc="upper left")
        for axes in row:
            time_axis(axes, first, last)
            axes.set_ylim(bottom=0)
        row[0].set_ylabel(f"{start.title}\n" + r"$s_k(t)$")
    for axes, title in zip(panels[0], ("word2vec", "QWEM", "theory"), strict=True):
        axes.set_title(title, color=COLOURS[title], fontweight="bold")
    note_seeds(figure, len(starts[0].qwem))
    return figure


def _shown(start: Start, unit: float) -> tuple[float, float]:
    """Return the times to show, from well before the first mode is learned to the end."""
    last = min(run.times[-1] for runs in start.runs.values() for run in runs)
    return 0.3, float(last) / unit
