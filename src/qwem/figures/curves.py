"""Training curves that several figures share: time in units of τ₁, one line per mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem.figures.look import COLOURS, shades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.training import Trace

TIME = r"training time $t/\tau_1$"


def draw_singular_values(axes: Axes, trace: Trace, unit: float, *, colour: str, modes: int) -> None:
    """Draw s_k(t) of the first `modes` modes of a run, in shades of one colour."""
    later = trace.times > 0
    lines = trace.singular_values[later, :modes].T
    for values, shade in zip(lines, shades(colour, len(lines)), strict=True):
        axes.plot(trace.times[later] / unit, values, color=shade)


def draw_theory(
    axes: Axes, theory: ClosedFormDynamics, times: NDArray[np.float64], unit: float, modes: int
) -> None:
    """Draw the closed-form s_k(t) of Result 3.5, dotted, the largest first at every time."""
    values = np.sort(theory.singular_values(times))[:, ::-1][:, :modes].T
    for number, line in enumerate(values):
        axes.plot(
            times / unit,
            line,
            color=COLOURS["theory"],
            linestyle=(0, (1, 1.6)),
            linewidth=1.1,
            label="theory" if number == 0 else None,
        )


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
