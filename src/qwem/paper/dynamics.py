"""Figures 1 and 2: training of QWEM and word2vec, and the theory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.figures import COLOURS, new_figure, styled
from qwem.paper.curves import (
    Start,
    draw_band,
    draw_singular_values,
    draw_theory,
    note_seeds,
    over_seeds,
    theory_times,
    time_axis,
)
from qwem.paper.experiment import Outcome, recipe
from qwem.paper.runs import run_settings, standard_start

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.dynamics import ClosedFormDynamics
    from qwem.paper.experiment import Experiment
    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 20


@styled
def theory_match(*starts: Start) -> Figure:
    """Draw the singular-value dynamics, one row for each start (Figure 2)."""
    figure = new_figure(10.0, 2.8 * len(starts))
    panels = figure.subplots(len(starts), 3, squeeze=False, sharey=True)
    for row, start in zip(panels, starts, strict=True):
        unit = start.unit
        modes = min(_MODES, start.spectrum.dim)
        # From well before the first mode is learned to the end of the shortest run.
        first, last = 0.3, min(run.times[-1] for runs in start.runs.values() for run in runs) / unit
        for axes, name in zip(row, ("word2vec", "QWEM"), strict=False):
            runs = start.runs[name]
            draw_singular_values(axes, runs, unit, colour=COLOURS[name], modes=modes)
            distance = np.mean([errors.mean() for errors in start.errors(runs)])
            label = f"mean distance\nfrom theory:\n{distance:.2%} of $\\sqrt{{\\lambda_k}}$"
            axes.text(0.03, 0.86, label, transform=axes.transAxes, fontsize=7.5, va="top")
        for axes in row[1:]:
            draw_theory(axes, start, first * unit, last * unit, modes)
        row[1].legend(loc="upper left")
        for axes in row:
            time_axis(axes, first, last)
            axes.set_ylim(bottom=0)
        row[0].set_ylabel(f"{start.title}\n" + r"$s_k(t)$")
    for axes, title in zip(panels[0], ("word2vec", "QWEM", "theory"), strict=True):
        axes.set_title(title, color=COLOURS[title], fontweight="bold")
    note_seeds(figure, len(starts[0].theories))
    return figure


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
    rows = {"standard": "-standard", "small": ""}
    if scale.batch_size is None:
        rows["standard, minibatches"] = "-minibatches"
    starts = {}
    for name, suffix in rows.items():
        runs = {
            model: [experiment.trace(f"{model.lower()}{suffix}")]  # one seed: minibatches take long
            if suffix == "-minibatches"
            else experiment.traces(f"{model.lower()}{suffix}")
            for model in ("word2vec", "QWEM")
        }
        kind, _, how = name.partition(", ")
        mantissa, exponent = f"{runs['QWEM'][0].singular_values[0].mean():.1e}".split("e")
        size = rf"{mantissa}\times10^{{{int(exponent)}}}"
        title = rf"{kind} start, $s_k(0)\approx{size}$"
        title += f"\n{how} of {scale.minibatches[0]:,} pairs" if how else ""
        starts[name] = Start(runs, spectrum, title)
    numbers: dict[str, Any] = {}
    findings = []
    for name, start in starts.items():
        errors = {model: start.errors(runs) for model, runs in start.runs.items()}
        means = {model: [float(one.mean()) for one in found] for model, found in errors.items()}
        largest = [float(one.max()) for one in errors["QWEM"]]
        seed = int(np.argmax(largest))
        record, mode = np.unravel_index(errors["QWEM"][seed].argmax(), errors["QWEM"][seed].shape)
        worst = start.runs["QWEM"][seed].times[record] / start.theories[seed].learning_times[0]
        numbers[name] = {
            "mean_error": {model: float(np.mean(found)) for model, found in means.items()},
            "mean_error_by_seed": means,
            "max_error": max(largest),
        }
        findings.append(
            f"From the {name.replace(', ', ' start, with ')}{' start' * (', ' not in name)}, all "
            f"{spectrum.dim} singular values of QWEM are on average {np.mean(means['QWEM']):.2%} "
            f"of √λ_k from the closed form, and at most {max(largest):.1%} (mode {mode + 1}, at "
            f"t = {worst:.2g} τ₁); word2vec's are on average {np.mean(means['word2vec']):.0%} from "
            "it. No constant was fitted."
        )
    settings = run_settings(scale, scale.dynamics, starts["small"].runs["QWEM"][0]) | {
        "standard start": standard_start(scale.standard_init)
    }
    return Outcome(theory_match(*starts.values()), tuple(findings), numbers, settings)


_FIRST_MODES = 12
_LABELS = 14
_LABEL_WIDTH, _LABEL_HEIGHT = 0.58, 0.14
"""The size of a label in panels that reach from −1 to 1."""
_LABELS_FROM = 1_500
"""Labels are chosen from this many of the most frequent words, which readers know."""


@styled
def overview(start: Start) -> Figure:
    """Draw the time course of learning in QWEM and in word2vec from a small start (Figure 1).

    The runs have snapshots; the words in latent space are those of the first run of each model.
    """
    figure = new_figure(13.0, 5.4)
    panels = figure.subplots(2, 5, width_ratios=[1.15, 1.15, 1, 1, 1])
    for row, name in enumerate(("QWEM", "word2vec")):
        _draw_loss(panels[row, 0], start, name)
        _draw_modes(panels[row, 1], start, name)
        _draw_latent_space(panels[row, 2:], start.runs[name][0], start.unit, COLOURS[name])
    note_seeds(figure, len(start.theories), "Triangles: the moments of the panels at the right.")
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(wspace=0.05, hspace=0.06)  # type: ignore[call-arg]
    panels[0, 0].set_title("loss")
    panels[0, 1].set_title("singular values")
    return figure


def relative_loss(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return losses rescaled to start at 1 and to have the minimum 0.

    >>> relative_loss(np.array([5.0, 3.0, 1.0])).tolist()
    [1.0, 0.5, 0.0]
    """
    first, last = losses[0], losses.min()
    return np.asarray((losses - last) / (first - last))


def _draw_loss(axes: Axes, start: Start, name: str) -> None:
    runs, theories, unit = start.runs[name], start.theories, start.unit
    later = runs[0].times > 0
    found = over_seeds(runs, [relative_loss(run.losses) for run in runs])[:, later]
    draw_band(axes, runs[0].times[later] / unit, found, color=COLOURS[name], lw=1.6)
    if name == "QWEM":
        times = theory_times(0.5 * unit, runs[0].times[-1])
        # The theory's constants are QWEM's, so both curves have one scale.
        curves = [
            (theory.loss(times) - run.losses.min()) / (run.losses[0] - run.losses.min())
            for theory, run in zip(theories, runs, strict=True)
        ]
        axes.plot(
            times / unit, np.median(curves, axis=0),
            color=COLOURS["theory"], ls=(0, (1, 1.6)), label="theory",
        )  # fmt: skip
        axes.legend(loc="upper right")
    for at in (
        np.median([theory.learning_times[:_FIRST_MODES] for theory in theories], axis=0) / unit
    ):
        axes.axvline(at, color="0.88", lw=0.6, zorder=0)
    _finish_time_axis(axes, runs[0], unit)
    axes.set_ylabel(f"{name}\n" + r"$(\mathcal{L}-\mathcal{L}_\mathrm{end})/"
                    r"(\mathcal{L}_0-\mathcal{L}_\mathrm{end})$")  # fmt: skip


def _draw_modes(axes: Axes, start: Start, name: str) -> None:
    runs, unit = start.runs[name], start.unit
    draw_singular_values(axes, runs, unit, colour=COLOURS[name], modes=_FIRST_MODES)
    if name == "QWEM":
        draw_theory(axes, start, 0.5 * unit, runs[0].times[-1], _FIRST_MODES)
    axes.set_ylim(bottom=0)
    _finish_time_axis(axes, runs[0], unit)
    axes.set_ylabel(r"$s_k(t)$")


def _moment_times(trace: Trace, unit: float) -> list[float]:
    """Return the times at which words are shown in latent space, in units of τ₁."""
    return [float(np.interp(step, trace.steps, trace.times)) / unit for step in moments(trace)]


def _finish_time_axis(axes: Axes, trace: Trace, unit: float) -> None:
    """Show the whole run, and mark the moments of the latent space on the axis."""
    time_axis(axes, 0.4, 1.03 * trace.times[-1] / unit)
    (marks,) = axes.plot(
        np.maximum(_moment_times(trace, unit), 0.4), [0] * 3, "^", color="black", ms=5,
        clip_on=False, zorder=6, transform=axes.get_xaxis_transform(),
    )  # fmt: skip
    marks.set_in_layout(False)


def moments(trace: Trace) -> tuple[int, int, int]:
    """Return the steps of three snapshots: before learning, when words lie on a line, at the end.

    Words lie on a line where s₁/s₂ is largest, among the snapshots in which s₁ has grown to 0.4 of
    its final size.
    """
    steps = sorted(trace.snapshots)
    rows = {step: np.linalg.svd(trace.snapshots[step][0], compute_uv=False) for step in steps}
    final = trace.singular_values[-1, 0]
    early = [step for step in steps if rows[step][0] < 0.1 * final] or steps[:1]
    grown = [step for step in steps if rows[step][0] > 0.4 * final] or steps[-1:]
    line = max(grown, key=lambda step: rows[step][0] / rows[step][1])
    return early[-1], line, steps[-1]


def _draw_latent_space(panels: Any, trace: Trace, unit: float, colour: str) -> None:
    """Draw the words at three moments, projected on the directions of `_plane`."""
    steps = moments(trace)
    plane = _plane(trace.snapshots[steps[1]][0], trace.vectors)
    end = trace.vectors @ plane
    reach = 1.3 * np.abs(end).max(axis=0)
    times = _moment_times(trace, unit)
    for axes, step, time in zip(panels, steps, times, strict=True):
        points = trace.snapshots[step][0] @ plane / reach
        axes.scatter(*points.T, s=2, color=colour, alpha=0.35, linewidths=0, rasterized=True)
        for row in _labelled(points):
            word, (x, y) = trace.vocabulary.words[row], points[row]
            axes.plot(x, y, ".", color="black", ms=2.5)
            axes.text(x, y + 0.025, word, fontsize=6.5, ha="center", va="bottom")
        axes.set_title(rf"$t = {time:.2g}\,\tau_1$")
        axes.set(xlim=(-1, 1), ylim=(-1, 1), xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color="0.8")
    panels[1].set_xlabel("words along two principal directions", fontsize=7.5, color="0.35")


def _plane(line: NDArray[Any], end: NDArray[Any]) -> NDArray[np.float64]:
    """Return two directions: the first one learned, and the main other one at the end."""
    first = np.linalg.svd(line, full_matrices=False)[2][0]
    rest = end - np.outer(end @ first, first)
    second = np.linalg.svd(rest, full_matrices=False)[2][0]
    plane = np.stack([first, second], axis=1).astype(np.float64)
    points = end @ plane
    # The longer tail of each axis goes to its positive side.
    return plane * np.where(points.max(axis=0) >= -points.min(axis=0), 1.0, -1.0)


def _labelled(points: NDArray[np.float64]) -> list[int]:
    """Return frequent words far from the origin whose labels don't overlap."""
    known = points[:_LABELS_FROM]
    length = np.hypot(*known.T)
    chosen: list[int] = []
    for row in np.argsort(-length).tolist():
        if length[row] < 0.25 or len(chosen) == _LABELS:
            break
        apart = np.abs(known[chosen] - known[row]) > (_LABEL_WIDTH, _LABEL_HEIGHT)
        if np.all(apart.any(axis=1)) and abs(known[row, 0]) < 0.85:
            chosen.append(row)
    return chosen


@recipe(
    "Figure 1. QWEM is a faithful and solvable proxy for word2vec",
    "QWEM and word2vec learn in strikingly similar ways. From a small start the loss falls in "
    "discrete steps, each of which adds one to the rank of the embeddings; in latent space the "
    "words expand into subspaces of growing dimension.",
)
def figure_1(experiment: Experiment) -> Outcome:
    """Draw loss, singular values and latent space of both models from a small start."""
    spectrum = experiment.spectrum(experiment.scale.dynamics)
    qwem, word2vec = experiment.traces("qwem"), experiment.traces("word2vec")
    start = Start({"QWEM": qwem, "word2vec": word2vec}, spectrum)
    deviation = max(
        float(np.abs(theory.loss(run.times) - run.losses).max() / np.ptp(run.losses))
        for run, theory in zip(qwem, start.theories, strict=True)
    )
    ratios = {"QWEM": _line_ratio(qwem[0]), "word2vec": _line_ratio(word2vec[0])}
    apart = min(_separate_steps(run, spectrum) for run in qwem)
    steps = min(
        loss_steps(theory, run.times[-1]) for run, theory in zip(qwem, start.theories, strict=True)
    )
    findings = (
        f"QWEM's loss follows the closed form to within {deviation:.1%} of its whole fall; "
        f"the first {apart} modes reach half their size one after the other, and the loss falls in "
        f"{steps} separate steps.",
        "When the words first spread out they lie along a line: the first singular value is "
        f"{ratios['QWEM']:.0f} times the second in QWEM and {ratios['word2vec']:.0f} times in "
        "word2vec.",
    )
    numbers = {
        "loss_deviation": deviation,
        "modes_one_by_one": apart,
        "loss_steps": steps,
        "line_ratio": ratios,
    }
    return Outcome(overview(start), findings, numbers,
                   run_settings(experiment.scale, experiment.scale.dynamics, qwem[0]))  # fmt: skip


def _line_ratio(trace: Trace) -> float:
    """Return s₁/s₂ at the moment at which the words lie along a line."""
    values = np.linalg.svd(trace.snapshots[moments(trace)[1]][0], compute_uv=False)
    return float(values[0] / values[1])


def loss_steps(theory: ClosedFormDynamics, last: float) -> int:
    """Return the number of steps in which the loss falls up to a time."""
    times = np.geomspace(0.1 * theory.learning_times.min(), last, 4_000)
    return count_steps(-np.gradient(theory.loss(times), np.log(times)))


def count_steps(slope: NDArray[np.float64]) -> int:
    """Return the number of peaks of −dL/d log t that stand out by a thousandth of the highest."""
    from scipy.signal import find_peaks

    return len(find_peaks(slope, prominence=1e-3 * slope.max())[0])


def _separate_steps(trace: Trace, spectrum: Spectrum) -> int:
    """Return how many of the first modes each reach half their size before the next one does."""
    found = trace.singular_values**2 >= spectrum.eigenvalues / 2
    when = np.where(found.any(axis=0), found.argmax(axis=0), len(found))
    together = np.flatnonzero(np.diff(when) <= 0)
    return int(together[0]) + 1 if together.size else len(when)
