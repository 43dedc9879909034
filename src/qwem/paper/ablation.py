"""Ablation, silent alignment, rich to lazy: effects of the loss, the weights and the start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.figures import COLOURS, new_figure, shades, styled
from qwem.dynamics import exact_flow, weighted_modes
from qwem.dynamics.flow import requiv_distance
from qwem.errors import SettingError
from qwem.paper import curves
from qwem.paper.dynamics import count_steps
from qwem.paper.experiment import Outcome, recipe
from qwem.paper.runs import run_settings
from qwem.target import mstar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from qwem.paper.experiment import Experiment
    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_MODES = 20
_CELLS = {
    "word2vec": ("word2vec", "o-", "word2vec", "word2vec: logistic loss, its own weighting"),
    "quartic": ("word2vec", "s:", *["quartic loss, word2vec's weighting"] * 2),
    "reweighted": ("QWEM", "s:", *["logistic loss, Setting 3.1"] * 2),
    "qwem": ("QWEM", "o-", "QWEM", "QWEM: quartic loss, Setting 3.1"),
}
"""The four runs of the ablation: colour, line, label and title."""
_ALIGNED_MODES = 8


@styled
def ablation(
    runs: Mapping[str, Sequence[Trace]],
    spectrum: Spectrum,
    separation: Mapping[str, NDArray[np.float64]],
) -> Figure:
    """Draw the paper's 2 × 2 ablation, all runs from the same small starts, one per seed.

    `separation` is the `mode_separation` of each of the runs, one row per seed.
    """
    unit = curves.Start({"QWEM": runs["qwem"]}, spectrum).unit
    modes = min(_MODES, spectrum.dim)
    figure = new_figure(11.6, 5.6)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[2.1, 1])[0]
    panels = left.subplots(2, 2, sharex=True)
    for axes, (name, (colour, _, _, title)) in zip(panels.flat, _CELLS.items(), strict=True):
        curves.draw_singular_values(axes, runs[name], unit, colour=COLOURS[colour], modes=modes)
        curves.time_axis(axes, 0.5, runs[name][0].times[-1] / unit)
        axes.set_ylim(bottom=0)
        axes.set_title(title)
        axes.set_ylabel(r"$s_k(t)$")
    for axes in panels[0]:
        axes.set_xlabel("")
    _draw_separation(right.subplots(), separation, modes)
    curves.note_seeds(figure, len(runs["qwem"]))
    return figure


def _draw_separation(axes: Axes, separation: Mapping[str, NDArray[np.float64]], modes: int) -> None:
    """Draw the separation of each mode, one line per model."""
    for name, found in separation.items():
        colour, line, label, _ = _CELLS[name]
        bounds = np.quantile(found[:, :modes], (0.0, 0.5, 1.0), axis=0)
        ranks = np.arange(1, bounds.shape[1] + 1)
        curves.draw_band(axes, ranks, bounds, marker=line[0], linestyle=line[1:], ms=3,
                  color=COLOURS[colour], label=label)  # fmt: skip
    axes.set(ylim=(0, 1.03), xlabel="mode $k$", title="modes of M* when half learned")
    axes.set_ylabel(r"$\|\mathbf{V}^{\star\top}_{:k}\mathbf{V}_{:k}\|^2/k$")
    axes.locator_params(axis="x", integer=True)
    axes.legend(loc="lower right")


@styled
def silent_alignment(runs: Mapping[str, Sequence[Trace]], spectrum: Spectrum) -> Figure:
    """Draw the alignment of each mode with its eigenvector above its singular value.

    The runs, by the name of their model and one per seed, have `spectrum` as their reference.
    """
    figure = new_figure(4.4 * len(runs), 4.8)
    panels = figure.subplots(2, len(runs), squeeze=False, sharex="col")
    modes = min(_ALIGNED_MODES, spectrum.dim)
    for (above, below), (name, traces) in zip(panels.T, runs.items(), strict=True):
        alignments = [trace.alignment for trace in traces if trace.alignment is not None]
        if len(alignments) < len(traces):
            raise SettingError(f"The run {name!r} has no alignment; train it with a reference.")
        unit = curves.Start({"QWEM": traces}, spectrum).unit
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


@recipe(
    "Appendix. Ablation: the loss and the weighting",
    "The quartic approximation hardly changes the dynamics; the clean separation of modes is "
    "due to Setting 3.1. With the logistic loss the weights diverge at late times, which the "
    "quartic loss prevents.",
)
def figure_ablation(experiment: Experiment) -> Outcome:
    """Draw both losses under both weightings, and the separation of modes under each."""
    runs = {name: experiment.traces(f"ablation-{name}") for name in _CELLS}
    size = experiment.scale.ablation
    spectrum = experiment.spectrum(size)
    growth = {name: _mean(map(_late_growth, traces)) for name, traces in runs.items()}
    separation = {
        name: np.array([mode_separation(trace) for trace in traces])
        for name, traces in runs.items()
    }
    apart = {name: float(found[:, :_MODES].mean()) for name, found in separation.items()}
    shifts = {
        what: _mean(map(curve_distance, runs[one], runs[other]))
        for what, one, other in (
            ("loss_under_word2vec", "word2vec", "quartic"),
            ("loss_under_setting31", "reweighted", "qwem"),
            ("weighting", "word2vec", "reweighted"),
        )
    }
    first = _first_mode(experiment, runs["quartic"][0])
    findings = (
        "Modes stay apart under Setting 3.1: when mode k is half learned, the part of the first k "
        "singular vectors that lies in the span of M*'s first k eigenvectors is, on average over "
        f"k ≤ {min(_MODES, size.dim)}, {apart['qwem']:.2f} (quartic loss) and "
        f"{apart['reweighted']:.2f} (logistic loss), against {apart['quartic']:.2f} and "
        f"{apart['word2vec']:.2f} under word2vec's weighting.",
        "Compared at equal size of the embedding, Σs_k², and not at equal times, the quartic loss "
        f"changes the singular values by {shifts['loss_under_word2vec']:.0%} under "
        f"word2vec's weighting and by {shifts['loss_under_setting31']:.0%} under Setting 3.1; the "
        f"weighting changes them by {shifts['weighting']:.0%}.",
        "In the last fifth of training the largest singular value changes by "
        f"{growth['word2vec']:+.1%} (word2vec) and {growth['reweighted']:+.1%} (Setting 3.1) with "
        f"the logistic loss, and by {growth['quartic']:+.1%} and {growth['qwem']:+.1%} with the "
        "quartic one.",
        "word2vec, with its weights G, first learns the modes of G∘M*, not those of M*: its first "
        f"mode, when learned, has the squared overlap {first['weighted']:.2f} with the first mode "
        f"of G∘M* and {first['mstar']:.2f} with that of M* ({first['predicted']:.2f} predicted).",
    )
    numbers = {"late_growth": growth, "mode_separation": apart, "shift": shifts,
               "first_mode": first}  # fmt: skip
    settings = run_settings(experiment.scale, size, runs["qwem"][0])
    return Outcome(ablation(runs, spectrum, separation), findings, numbers, settings)


@recipe(
    "Silent alignment",
    "Modes first turn to the eigenvectors of M*, while their singular values are still small, and "
    "then grow along them (proof of Result 3.5).",
)
def figure_alignment(experiment: Experiment) -> Outcome:
    """Draw how the singular vectors of QWEM and word2vec turn to the eigenvectors of M*."""
    runs = {"QWEM": experiment.traces("ablation-qwem"),
            "word2vec": experiment.traces("ablation-word2vec")}  # fmt: skip
    spectrum = experiment.spectrum(experiment.scale.ablation)
    ahead = {name: [_aligned_before_grown(one) for one in traces] for name, traces in runs.items()}
    ends = {
        name: _mean(one.subspace_alignment[-1, :_MODES].mean() for one in traces
                    if one.subspace_alignment is not None)
        for name, traces in runs.items()
    }  # fmt: skip
    count = min(_MODES, experiment.scale.ablation.dim)
    findings = (
        f"In QWEM {_span(ahead['QWEM'])} of the first {count} modes have a squared overlap above ½ "
        f"with their eigenvector before they are half grown, in word2vec "
        f"{_span(ahead['word2vec'])}.",
        f"At the end the first k singular vectors lie in the span of the first k eigenvectors to "
        f"{ends['QWEM']:.2f} on average over k in QWEM and to {ends['word2vec']:.2f} in word2vec.",
    )
    numbers = {"aligned_before_grown": ahead, "subspace_alignment_at_end": ends}
    settings = run_settings(experiment.scale, experiment.scale.ablation, runs["QWEM"][0])
    return Outcome(silent_alignment(runs, spectrum), findings, numbers, settings)


def _first_mode(experiment: Experiment, trace: Trace) -> dict[str, float]:
    """Return the overlaps of word2vec's first mode with the first ones of G∘M* and of M*."""
    from qwem.training import QUARTIC, word2vec_reweighting
    from qwem.training.weighting import pair_weights

    scale, size = experiment.scale, experiment.scale.ablation
    counts = experiment.counts(size.vocab_size, size.window)
    weighting = word2vec_reweighting(
        scale.subsample, negatives=size.negatives, normalization=scale.normalization
    )
    positive, negative = pair_weights(counts, weighting, QUARTIC).toarrays()
    negative = (negative + negative.T) / 2
    coupling = positive + negative
    modes = weighted_modes(2 * (positive - negative) / coupling, coupling, dim=1)
    # The snapshot at which the mode is closest to its size when learned.
    sizes = {
        step: np.linalg.svd(sides[0], compute_uv=False)[0] ** 2
        for step, sides in trace.snapshots.items()
    }
    step = min(sizes, key=lambda step: abs(np.log(sizes[step] / modes.sizes[0] * 2)))
    leading = np.linalg.svd(trace.snapshots[step][0], full_matrices=False)[0][:, 0]
    own, reference = modes.vectors[:, 0], experiment.spectrum(size).eigenvectors[:, 0]
    return {
        "weighted": float((leading @ own) ** 2),
        "mstar": float((leading @ reference) ** 2),
        "predicted": float((own @ reference) ** 2),
    }


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))


def _span(numbers: list[int]) -> str:
    """Return the range of some numbers in words.

    >>> _span([3, 3]), _span([4, 3])
    ('3', '3 to 4')
    """
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _half_grown(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first record in which each mode is half learned, and the number of each mode."""
    squares = trace.singular_values**2
    first = np.argmax(squares >= 0.5 * squares.max(axis=0), axis=0)
    return first, np.arange(len(first))


def _aligned_before_grown(trace: Trace) -> int:
    """Return how many of the top modes are aligned with their eigenvector when half grown."""
    assert trace.alignment is not None
    return int(np.sum(trace.alignment[_half_grown(trace)][:_MODES] > 0.5))


def _late_growth(trace: Trace) -> float:
    """Return the relative growth of the largest singular value over the last fifth of the time."""
    before = np.interp(0.8 * trace.times[-1], trace.times, trace.singular_values[:, 0])
    growth = float(trace.singular_values[-1, 0] / before - 1)
    return round(growth, 3) + 0.0  # no negative zero


def mode_separation(trace: Trace) -> NDArray[np.float64]:
    """Return for each k how well the first k modes match those of M*, when mode k is half learned.

    It is the part of the first k left singular vectors that lies in the span of the first k
    eigenvectors, at the first record in which s_k² has half of its largest value: 1 where modes are
    learned one by one, k/V for random vectors. It does not depend on the speed of a run.
    """
    assert trace.subspace_alignment is not None
    return trace.subspace_alignment[_half_grown(trace)]


def curve_distance(a: Trace, b: Trace) -> float:
    """Return the relative distance between the top singular values of two runs.

    Runs are compared where their embeddings have the same size Σs_k², up to half of the smaller
    final one. So the distance does not depend on their speeds.
    """
    sizes = [np.maximum.accumulate((trace.singular_values**2).sum(axis=1)) for trace in (a, b)]
    at = np.linspace(max(size[0] for size in sizes), 0.5 * min(size[-1] for size in sizes), 200)
    one, other = (
        np.array([np.interp(at, size, curve) for curve in trace.singular_values.T[:_MODES]])
        for trace, size in zip((a, b), sizes, strict=True)
    )
    return float(np.abs(one - other).sum() / (0.5 * (one + other)).sum())


@dataclass(frozen=True, eq=False)
class Regime:
    """The exact flow from a random start of one size."""

    init_scale: float
    times: NDArray[np.float64]
    """Times in units in which the fastest mode grows by e."""
    learned: NDArray[np.float64]
    """v_kᵀWWᵀv_k/λ_k at each time (rows) for each mode."""
    steps: int
    """The number of separate steps in which the loss falls."""
    at_once: float
    """The number of modes that grow at the same time, on average while the loss falls."""
    moved: float
    """‖W(∞) − W(0)‖/‖W(0)‖ after the best rotation: large if features are learned."""


def regime(
    eigenvalues: NDArray[np.float64], start: NDArray[np.float64], init_scale: float
) -> Regime:
    """Follow the exact flow of W(0) = σ · start in the eigenbasis of M*, from rich to lazy.

    >>> values, start = np.array([4.0, 1.0, -1.0]), np.array([[1.0, 0.3], [0.2, 1.0], [0.5, -0.4]])
    >>> regime(values, start, 1e-8).steps, regime(values, start, 1.0).steps
    (2, 1)
    """
    dim = start.shape[1]
    top = eigenvalues[:dim]
    slowest = max(np.log(eigenvalues[0] / min(init_scale, 0.1) ** 2), 5.0) / top[-1]
    times = np.geomspace(1e-4 / top[0], 2 * slowest, 800)
    states = list(exact_flow(eigenvalues, init_scale * start, times))
    squares = np.array([np.square(state[:dim]).sum(axis=1) for state in states])
    losses = np.array([
        np.sum(np.square(state.T @ state)) - 2 * np.sum(eigenvalues[:, None] * state**2)
        for state in states
    ])  # fmt: skip
    slope = -np.gradient(losses, np.log(times))
    growth = np.abs(np.gradient(squares, np.log(times), axis=0))
    shares = growth / np.maximum(growth.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    falls = np.maximum(slope, 0)
    at_once = float(np.sum(falls / np.maximum(np.sum(shares**2, axis=1), 1e-12)) / falls.sum())
    first = init_scale * start
    moved = requiv_distance(states[-1], first) / float(np.linalg.norm(first))
    steps = count_steps(slope)
    return Regime(init_scale, times * top[0], squares / top, steps, at_once, moved)


@styled
def rich_to_lazy(shown: Sequence[Regime], swept: Sequence[Regime]) -> Figure:
    """Draw how modes are learned from starts of several sizes, and what depends on the size."""
    figure = new_figure(3.0 * len(shown) + 3.6, 3.3)
    *panels, summary = figure.subplots(1, len(shown) + 1, width_ratios=[*[1.0] * len(shown), 1.2])
    for axes, one in zip(panels, shown, strict=True):
        for mode, shade in enumerate(shades(COLOURS["QWEM"], one.learned.shape[1])):
            axes.plot(one.times, one.learned[:, mode], color=shade, lw=1.0)
        moving = one.times[(np.abs(one.learned - one.learned[0]) > 0.02).any(axis=1)]
        axes.set(xscale="log", xlim=(moving[0] / 2, one.times[-1]), xlabel=r"$\lambda_1 t$")
        axes.xaxis.set_minor_formatter("")
        axes.set_ylim(0, 1.05 * max(1.0, float(one.learned.max())))
        axes.set_title(rf"$\sigma$ = {one.init_scale:g}; steps of the loss: {one.steps}")
    panels[0].set_ylabel(
        r"$\mathbf{v}_k^{\star\top}\mathbf{W}\mathbf{W}^\top\mathbf{v}^\star_k/\lambda_k$"
    )
    sizes = [one.init_scale for one in swept]
    summary.plot(sizes, [one.steps for one in swept], "o-", ms=3, label="steps of the loss",
                 color=COLOURS["QWEM"])  # fmt: skip
    summary.plot(sizes, [one.at_once for one in swept], "s-", ms=3, color=COLOURS["word2vec"],
                 label="modes growing at once")  # fmt: skip
    summary.set(xscale="log", xlabel=r"size of the start, $\sigma$", ylim=(0, None))
    summary.legend(loc="upper center", fontsize=7)
    other = summary.twinx()
    other.plot(sizes, [one.moved for one in swept], ":", color="0.4")
    other.set(yscale="log")
    other.set_ylabel(r"moved, $\|\Delta\mathbf{W}\|/\|\mathbf{W}(0)\|$ (dotted)", color="0.4")
    return figure


@recipe(
    "From rich to lazy",
    "From a small start, features are learned one by one; the paper contrasts this with lazy "
    "training, in which weights hardly move and all modes are learned together (appendix, relation "
    "to the neural tangent kernel).",
)
def figure_lazy(experiment: Experiment) -> Outcome:
    """Sweep the size of the start with the exact flow of all modes."""
    size = experiment.scale.ablation
    matrix = mstar(experiment.counts(size.vocab_size, size.window), dtype=np.float64).toarray()
    eigenvalues = np.linalg.eigvalsh(matrix)[::-1]
    seed = experiment.scale.seed
    start = np.random.default_rng(seed).standard_normal((len(eigenvalues), size.dim))
    swept = [regime(eigenvalues, start, float(s)) for s in np.geomspace(1e-9, 10, 21)]
    shown = [swept[0], swept[12], swept[-3]]
    findings = (
        f"From σ = {swept[0].init_scale:g} the loss falls in {swept[0].steps} steps, and from "
        f"σ = {swept[-1].init_scale:g} in {swept[-1].steps}; on average {swept[0].at_once:.1f} and "
        f"{swept[-1].at_once:.1f} of {size.dim} modes grow at once.",
        f"W moves {swept[0].moved:.2g} times its own length from the smallest start, and "
        f"{swept[-1].moved:.2f} times from the largest: with d far below V a large start must "
        "shrink first, so even then training is not lazy in the strict sense.",
    )
    numbers = {name: [getattr(one, name) for one in swept]
               for name in ("init_scale", "steps", "at_once", "moved")}  # fmt: skip
    settings = {"V": size.vocab_size, "d": size.dim, "flow": "exact, all V modes of M*"}
    return Outcome(rich_to_lazy(shown, swept), findings, numbers, settings)
