"""Figures 1 and 2 and the ablation: singular values, loss and modes during training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.paper.ablation import ablation
from qwem.paper.overview import moments, overview
from qwem.paper.recipe import Outcome, recipe
from qwem.paper.silent_alignment import silent_alignment
from qwem.paper.theory_match import Start, theory_match

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from qwem.paper.experiment import Experiment
    from qwem.spectrum import Spectrum
    from qwem.training import Trace

_TOP = 20


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
    start = Start("", word2vec, qwem, spectrum)
    deviation = max(
        float(np.abs(theory.loss(run.times) - run.losses).max() / np.ptp(run.losses))
        for run, theory in zip(qwem, start.theories, strict=True)
    )
    ratios = {"QWEM": _line(qwem[0]), "word2vec": _line(word2vec[0])}
    apart = min(_separate_steps(run, spectrum) for run in qwem)
    findings = (
        f"QWEM's loss follows the closed form to within {deviation:.1%} of its whole fall; "
        f"the first {apart} modes are learned one after the other, each with its own step.",
        "When the words first spread out they lie along a line: the first singular value is "
        f"{ratios['QWEM']:.0f} times the second in QWEM and {ratios['word2vec']:.0f} times in "
        "word2vec.",
    )
    numbers = {"loss_deviation": deviation, "separate_steps": apart, "line_ratio": ratios}
    return Outcome(overview(qwem, word2vec, spectrum), findings, numbers,
                   _settings(experiment, qwem[0], "small"))  # fmt: skip


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
        errors = {model: start.errors(runs, _TOP) for model, runs in start.runs.items()}
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
    settings = _settings(experiment, starts[1].qwem[0], "small") | {
        "standard start": standard_start(scale.standard_init)
    }
    return Outcome(theory_match(*starts), tuple(findings), numbers, settings)


@recipe(
    "Appendix. Ablation: the loss and the weighting",
    "The quartic approximation hardly changes the dynamics; the clean separation of modes is "
    "due to Setting 3.1. With the logistic loss the weights diverge at late times, which the "
    "quartic loss prevents.",
)
def figure_ablation(experiment: Experiment) -> Outcome:
    """Draw both losses under both weightings, and how far each keeps the modes apart."""
    runs = {
        name: experiment.traces(f"ablation-{name}")
        for name in ("word2vec", "quartic", "reweighted", "qwem")
    }
    size = experiment.scale.ablation
    spectrum = experiment.spectrum(size)
    growth = {name: _mean(map(_late_growth, traces)) for name, traces in runs.items()}
    separation = {
        name: np.array([mode_separation(trace) for trace in traces])
        for name, traces in runs.items()
    }
    apart = {name: float(found[:, :_TOP].mean()) for name, found in separation.items()}
    shifts = {
        what: _mean(map(curve_distance, runs[one], runs[other]))
        for what, one, other in (
            ("loss_under_word2vec", "word2vec", "quartic"),
            ("loss_under_setting31", "reweighted", "qwem"),
            ("weighting", "word2vec", "reweighted"),
        )
    }
    findings = (
        "Modes stay apart under Setting 3.1: when mode k is half learned, the part of the first k "
        "singular vectors that lies in the span of M*'s first k eigenvectors is, on average over "
        f"k ≤ {min(_TOP, size.dim)}, {apart['qwem']:.2f} (quartic loss) and "
        f"{apart['reweighted']:.2f} (logistic loss), against {apart['quartic']:.2f} and "
        f"{apart['word2vec']:.2f} under word2vec's weighting.",
        "Compared at equal size of the embedding, Σs_k², which needs no clock, the quartic loss "
        f"moves the singular values by {shifts['loss_under_word2vec']:.0%} under "
        f"word2vec's weighting and by {shifts['loss_under_setting31']:.0%} under Setting 3.1; the "
        f"weighting moves them by {shifts['weighting']:.0%}.",
        "In the last fifth of training the largest singular value changes by "
        f"{growth['word2vec']:+.1%} (word2vec) and {growth['reweighted']:+.1%} (Setting 3.1) with "
        f"the logistic loss, and by {growth['quartic']:+.1%} and {growth['qwem']:+.1%} with the "
        "quartic one.",
    )
    numbers = {"late_growth": growth, "mode_separation": apart, "shift": shifts}
    figure = ablation(**runs, spectrum=spectrum, separation=separation)
    return Outcome(figure, findings, numbers, _settings(experiment, runs["qwem"][0], "small"))


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
        name: _mean(one.subspace_alignment[-1, :_TOP].mean() for one in traces
                    if one.subspace_alignment is not None)
        for name, traces in runs.items()
    }  # fmt: skip
    count = min(_TOP, experiment.scale.ablation.dim)
    findings = (
        f"In QWEM {_span(ahead['QWEM'])} of the first {count} modes have a squared overlap above ½ "
        f"with their eigenvector before they are half grown, in word2vec "
        f"{_span(ahead['word2vec'])}.",
        f"At the end the first k singular vectors lie in the span of the first k eigenvectors to "
        f"{ends['QWEM']:.2f} on average over k in QWEM and to {ends['word2vec']:.2f} in word2vec.",
    )
    numbers = {"aligned_before_grown": ahead, "subspace_alignment_at_end": ends}
    figure = silent_alignment(runs, spectrum)
    return Outcome(figure, findings, numbers, _settings(experiment, runs["QWEM"][0], "small"))


def _mean(numbers: Iterable[float]) -> float:
    return float(np.mean(list(numbers)))


def _span(numbers: list[int]) -> str:
    """Return the range of some numbers in words.

    >>> _span([3, 3]), _span([4, 3])
    ('3', '3 to 4')
    """
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def _aligned_before_grown(trace: Trace) -> int:
    """Return how many of the top modes are aligned with their eigenvector when half grown."""
    assert trace.alignment is not None
    squares = trace.singular_values**2
    first = np.argmax(squares >= 0.5 * squares.max(axis=0), axis=0)[:_TOP]
    return int(np.sum(trace.alignment[first, np.arange(len(first))] > 0.5))


def _settings(experiment: Experiment, trace: Trace, start: str) -> dict[str, Any]:
    scale = experiment.scale
    return {
        "V": len(trace.vocabulary),
        "d": trace.singular_values.shape[1],
        "seeds": scale.seeds,
        f"σ, {start}": getattr(scale, f"{start}_init"),
        "λ₁Δt": f"{scale.step:g}, and half that under word2vec's weighting",
        "steps": int(trace.steps[-1]),
        "gradient": "exact flow, fourth order" if scale.batch_size is None else
        f"minibatches of {scale.batch_size:,} pairs",
        "word2vec": f"subsampling {scale.subsample:g}, negatives ∝ P^¾, "
        f"k = {experiment.scale.dynamics.negatives:g}",
    }  # fmt: skip


def standard_start(init: float | str) -> str:
    """Return the standard start in words."""
    return "uniform on ±1/(2d), word2vec's own" if isinstance(init, str) else f"normal, σ = {init}"


def _initial_size(trace: Trace) -> str:
    """Return the mean singular value of the start, in TeX."""
    mantissa, exponent = f"{trace.singular_values[0].mean():.1e}".split("e")
    return rf"{mantissa}\times10^{{{int(exponent)}}}"


def _line(trace: Trace) -> float:
    """Return s₁/s₂ at the moment at which the words lie along a line."""
    values = np.linalg.svd(trace.snapshots[moments(trace)[1]][0], compute_uv=False)
    return float(values[0] / values[1])


def _separate_steps(trace: Trace, spectrum: Spectrum) -> int:
    """Return how many of the first modes have each reached half its size before the next did."""
    found = trace.singular_values**2 >= spectrum.eigenvalues / 2
    when = np.where(found.any(axis=0), found.argmax(axis=0), len(found))
    together = np.flatnonzero(np.diff(when) <= 0)
    return int(together[0]) + 1 if together.size else len(when)


def _late_growth(trace: Trace) -> float:
    """Return by what part the largest singular value grows over the last fifth of the time."""
    before = np.interp(0.8 * trace.times[-1], trace.times, trace.singular_values[:, 0])
    growth = float(trace.singular_values[-1, 0] / before - 1)
    return round(growth, 3) + 0.0  # no negative zero


def mode_separation(trace: Trace) -> NDArray[np.float64]:
    """Return for each k how far the first k modes are those of M* when mode k is half learned.

    It is the part of the first k left singular vectors that lies in the span of the first k
    eigenvectors, at the first record in which s_k² has half of its largest value: 1 where modes are
    learned one by one, k/V for random vectors. No clock comes into it, so a run that is twice as
    fast has the same separation.
    """
    assert trace.subspace_alignment is not None
    squares = trace.singular_values**2
    first = np.argmax(squares >= 0.5 * squares.max(axis=0), axis=0)
    return trace.subspace_alignment[first, np.arange(len(first))]


def curve_distance(a: Trace, b: Trace) -> float:
    """Return the relative distance between the top singular values of two runs.

    Runs are compared where their embeddings have the same size Σs_k², up to half of the smaller
    final one. A change of clock in one of them changes nothing.
    """
    sizes = [np.maximum.accumulate((trace.singular_values**2).sum(axis=1)) for trace in (a, b)]
    at = np.linspace(max(size[0] for size in sizes), 0.5 * min(size[-1] for size in sizes), 200)
    one, other = (
        np.array([np.interp(at, size, curve) for curve in trace.singular_values.T[:_TOP]])
        for trace, size in zip((a, b), sizes, strict=True)
    )
    return float(np.abs(one - other).sum() / (0.5 * (one + other)).sum())
