"""Figure 2: the singular values of word2vec, of QWEM and of the theory, from two starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from qwem.paper.page import Outcome, recipe
from qwem.paper.runs import run_settings, standard_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.paper.experiment import Experiment
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


@recipe(
    "Figure 2. Theory matches experiment",
    "The singular values of word2vec and of QWEM grow alike, from word2vec's standard start "
    "and from a small one, and the closed form of Result 3.5 agrees with QWEM even up to "
    "constant factors.",
)
def figure_2(experiment: Experiment) -> Outcome:
    """Draw the singular values of word2vec, QWEM and the theory, from both starts."""
    scale = experiment.scale
    spectrum = experiment.spectrum(scale.dynamics)
    starts = [
        Start(
            rf"{name} start, $s_k(0)\approx{_initial_size(experiment.trace(f'qwem{suffix}'))}$",
            experiment.traces(f"word2vec{suffix}"),
            experiment.traces(f"qwem{suffix}"),
            spectrum,
        )
        for name, suffix in (("standard", "-standard"), ("small", ""))
    ]
    numbers: dict[str, Any] = {}
    findings = []
    for start, name in zip(starts, ("standard", "small"), strict=True):
        errors = {model: start.errors(runs, _MODES) for model, runs in start.runs.items()}
        means = {model: [float(one.mean()) for one in found] for model, found in errors.items()}
        largest = [float(one.max()) for one in errors["QWEM"]]
        seed = int(np.argmax(largest))
        record = int(errors["QWEM"][seed].max(axis=1).argmax())
        worst = start.qwem[seed].times[record] / start.theories[seed].learning_times[0]
        numbers[name] = {
            "mean_error": {model: float(np.mean(found)) for model, found in means.items()},
            "mean_error_by_seed": means,
            "max_error": max(largest),
        }
        findings.append(
            f"From the {name} start, QWEM's top {errors['QWEM'][0].shape[1]} singular values are "
            f"on average {np.mean(means['QWEM']):.2%} of √λ_k from the closed form and at most "
            f"{max(largest):.1%} (at t = {worst:.2g} τ₁); word2vec's are on average "
            f"{np.mean(means['word2vec']):.0%} from it. No constant was fitted."
        )
    settings = run_settings(experiment.scale, experiment.scale.dynamics, starts[1].qwem[0]) | {
        "standard start": standard_start(scale.standard_init)
    }
    return Outcome(theory_match(*starts), tuple(findings), numbers, settings)


def _initial_size(trace: Trace) -> str:
    """Return the mean singular value of the start, in TeX."""
    mantissa, exponent = f"{trace.singular_values[0].mean():.1e}".split("e")
    return rf"{mantissa}\times10^{{{int(exponent)}}}"
