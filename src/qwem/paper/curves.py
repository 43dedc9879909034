"""Training curves that several figures share: time in units of τ₁, one line per mode, and bands.

A figure takes the runs of a model as a sequence of traces, one per seed. Its lines are medians over
seeds, and its bands reach from the lowest to the highest seed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.figures import COLOURS, shades
from qwem.dynamics import closed_form
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.spectrum import Spectrum
    from qwem.training import Trace

    Array = NDArray[np.float64]

TIME = r"training time $t/\tau_1$"
_BAND: dict[str, Any] = {"alpha": 0.25, "linewidth": 0}


@dataclass(frozen=True, eq=False)
class Start:
    """Runs of models from the same W(0), one per seed, and the theory for this start.

    `runs` has the name of each model. The theory is that of Result 3.5 from the W(0) of each of
    QWEM's runs, which is in its first snapshot.
    """

    runs: Mapping[str, Sequence[Trace]]
    spectrum: Spectrum
    title: str = ""

    @cached_property
    def theories(self) -> list[ClosedFormDynamics]:
        """Result 3.5 from W(0) of each seed."""
        if not self.runs["QWEM"]:
            raise SettingError("A figure needs at least one run of each model.")
        return [
            closed_form(self.spectrum, initial_vectors=run.snapshots[0][0])
            for run in self.runs["QWEM"]
        ]

    @property
    def unit(self) -> float:
        """τ₁, the median over seeds of the first mode's learning time."""
        return float(np.median([theory.learning_times[0] for theory in self.theories]))

    def errors(self, runs: Sequence[Trace]) -> list[Array]:
        """Return |s_k(t) − theory|/√λ_k of all modes of each run, against its own theory.

        Both sides are sorted by size at each time. An array has one row per record.
        """
        found = []
        for run, theory in zip(runs, self.theories, strict=True):
            expected = np.sort(theory.singular_values(run.times))[:, ::-1]
            scaled = np.abs(run.singular_values - expected) / np.sqrt(self.spectrum.eigenvalues)
            found.append(np.asarray(scaled))
        return found


def over_seeds(runs: Sequence[Trace], curves: Sequence[Array]) -> Array:
    """Return the minimum, the median and the maximum of a curve over seeds, stacked.

    `curves` has one array per run, with one row per record. Curves are compared at the times of the
    first run; other runs are interpolated to these times.
    """
    times = runs[0].times
    aligned = [curve if np.array_equal(run.times, times) else _interpolate(times, run.times, curve)
             for run, curve in zip(runs, curves, strict=True)]  # fmt: skip
    return np.quantile(np.array(aligned), (0.0, 0.5, 1.0), axis=0)


def draw_band(axes: Axes, x: Array, bounds: Array, **style: Any) -> None:
    """Draw the second of three curves as a line, on a band between the first and the third."""
    low, middle, high = bounds
    (line,) = axes.plot(x, middle, **style)
    if np.any(high > low):
        axes.fill_between(x, low, high, color=line.get_color(), zorder=line.get_zorder(), **_BAND)


def draw_modes(
    axes: Axes, runs: Sequence[Trace], curves: Sequence[Array], unit: float, *, colour: str,
    modes: int,
) -> None:  # fmt: skip
    """Draw a curve of each of the first modes, in shades of one colour."""
    later = runs[0].times > 0
    found = over_seeds(runs, curves)[:, later, :modes]
    for mode, shade in enumerate(shades(colour, found.shape[2])):
        draw_band(axes, runs[0].times[later] / unit, found[:, :, mode], color=shade)


def draw_singular_values(
    axes: Axes, runs: Sequence[Trace], unit: float, *, colour: str, modes: int
) -> None:
    """Draw s_k(t) of the first modes."""
    values = [run.singular_values for run in runs]
    draw_modes(axes, runs, values, unit, colour=colour, modes=modes)


def draw_theory(axes: Axes, start: Start, first: float, last: float, modes: int) -> None:
    """Draw the closed-form s_k(t) of Result 3.5, dotted, the largest first at every time."""
    times = theory_times(first, last)
    sorted_values = [np.sort(one.singular_values(times))[:, ::-1] for one in start.theories]
    found = np.median(sorted_values, axis=0)[:, :modes]
    for number, line in enumerate(found.T):
        axes.plot(
            times / start.unit, line, color=COLOURS["theory"], linestyle=(0, (1, 1.6)),
            linewidth=1.1, label="theory" if number == 0 else None,
        )  # fmt: skip


def note_seeds(figure: Figure, count: int, more: str = "") -> None:
    """Explain lines and bands below a figure, if there is more than one seed."""
    seeds = f"Lines: median of {count} seeds. Bands: their range. " if count > 1 else ""
    figure.supxlabel((seeds + more).strip(), fontsize=8)


def time_axis(axes: Axes, first: float, last: float) -> None:
    """Give a panel a logarithmic time axis from `first` to `last`, in units of τ₁."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axes.set_xscale("log")
    axes.set_xlim(first, last)
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(TIME)


def theory_times(first: float, last: float) -> NDArray[np.float64]:
    """Return times that are dense enough for a smooth curve on a logarithmic axis."""
    return np.geomspace(first, last, 600)


def _interpolate(times: Array, own: Array, curve: Array) -> Array:
    """Interpolate a curve to other times, column by column."""
    if curve.ndim == 1:
        return np.interp(times, own, curve)
    return np.stack([np.interp(times, own, column) for column in curve.T], axis=1)
