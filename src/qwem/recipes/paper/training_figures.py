"""Figures 1 and 2 and the ablation: singular values, loss and modes during training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.figures import Start, ablation, moments, overview, theory_match
from qwem.recipes.paper.recipe import Outcome, recipe

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.recipes.paper.experiment import Experiment
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
    qwem, word2vec = experiment.trace("qwem"), experiment.trace("word2vec")
    start = Start("", word2vec, qwem, spectrum)
    span = qwem.losses[0] - qwem.losses.min()
    deviation = float(np.abs(start.theory.loss(qwem.times) - qwem.losses).max() / span)
    ratios = {"QWEM": _line(qwem), "word2vec": _line(word2vec)}
    apart = _separate_steps(start)
    findings = (
        f"QWEM's loss follows the closed form to within {deviation:.1%} of its whole fall; "
        f"the first {apart} modes are learned one after the other, each with its own step.",
        "When the words first spread out they lie along a line: the first singular value is "
        f"{ratios['QWEM']:.0f} times the second in QWEM and {ratios['word2vec']:.0f} times in "
        "word2vec.",
    )
    numbers = {"loss_deviation": deviation, "separate_steps": apart, "line_ratio": ratios}
    return Outcome(overview(qwem, word2vec, spectrum), findings, numbers,
                   _settings(experiment, qwem, "small"))  # fmt: skip


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
            rf"{name} start, $\sigma={_power(sigma)}$",
            experiment.trace(f"word2vec{suffix}"),
            experiment.trace(f"qwem{suffix}"),
            spectrum,
        )
        for name, sigma, suffix in (
            ("standard", scale.standard_init, "-standard"),
            ("small", scale.small_init, ""),
        )
    ]
    numbers: dict[str, Any] = {}
    findings = []
    for start, name in zip(starts, ("standard", "small"), strict=True):
        errors = {model: start.errors(trace, _TOP) for model, trace in start.runs.items()}
        ours = errors["QWEM"]
        worst = start.qwem.times[ours.max(axis=1).argmax()] / start.theory.learning_times[0]
        numbers[name] = {
            "mean_error": {model: float(found.mean()) for model, found in errors.items()},
            "max_error": float(ours.max()),
        }
        findings.append(
            f"From the {name} start, QWEM's top {ours.shape[1]} singular values are on average "
            f"{ours.mean():.2%} of √λ_k from the closed form and at most {ours.max():.1%} (at "
            f"t = {worst:.2g} τ₁); word2vec's are on average {errors['word2vec'].mean():.0%} from "
            "it. No constant was fitted."
        )
    settings = _settings(experiment, starts[1].qwem, "small") | {"σ, standard": scale.standard_init}
    return Outcome(theory_match(*starts), tuple(findings), numbers, settings)


@recipe(
    "Appendix. Ablation: the loss and the weighting",
    "The quartic approximation hardly changes the dynamics; the clean separation of modes is "
    "due to Setting 3.1. With the logistic loss the weights diverge at late times, which the "
    "quartic loss prevents.",
)
def figure_ablation(experiment: Experiment) -> Outcome:
    """Draw both losses under both weightings, and how far each keeps the modes apart."""
    traces = {
        name: experiment.trace(f"ablation-{name}")
        for name in ("word2vec", "quartic", "reweighted", "qwem")
    }
    size = experiment.scale.ablation
    spectrum = experiment.spectrum(size)
    growth = {name: _late_growth(trace) for name, trace in traces.items()}
    purity = {name: mode_purity(trace, spectrum) for name, trace in traces.items()}
    pure = {name: float(found[:_TOP].mean()) for name, found in purity.items()}
    shifts = {
        "loss_under_word2vec": curve_distance(traces["word2vec"], traces["quartic"]),
        "loss_under_setting31": curve_distance(traces["reweighted"], traces["qwem"]),
        "weighting": curve_distance(traces["word2vec"], traces["reweighted"]),
    }
    findings = (
        f"Modes stay apart under Setting 3.1: when a mode of the first {min(_TOP, size.dim)} is "
        "half learned, its squared overlap with one eigenvector of M* is on average "
        f"{pure['qwem']:.2f} (quartic loss) and {pure['reweighted']:.2f} (logistic loss), against "
        f"{pure['quartic']:.2f} and {pure['word2vec']:.2f} under word2vec's weighting.",
        "Compared at equal size of the embedding, Σs_k², and so on no clock, the quartic loss "
        f"moves the singular values by {shifts['loss_under_word2vec']:.0%} under "
        f"word2vec's weighting and by {shifts['loss_under_setting31']:.0%} under Setting 3.1; the "
        f"weighting moves them by {shifts['weighting']:.0%}.",
        "In the last fifth of training the largest singular value still grows by "
        f"{growth['word2vec']:.1%} (word2vec) and {growth['reweighted']:.1%} (Setting 3.1) with "
        f"the logistic loss, and by {growth['quartic']:.1%} and {growth['qwem']:.1%} with the "
        "quartic one.",
    )
    numbers = {"late_growth": growth, "mode_purity": pure, "shift": shifts}
    figure = ablation(**traces, spectrum=spectrum, purity=purity)
    return Outcome(figure, findings, numbers, _settings(experiment, traces["qwem"], "small"))


def _settings(experiment: Experiment, trace: Trace, start: str) -> dict[str, Any]:
    scale = experiment.scale
    return {
        "V": len(trace.vocabulary),
        "d": trace.singular_values.shape[1],
        f"σ, {start}": getattr(scale, f"{start}_init"),
        "λ₁Δt": f"{scale.step:g}, and half that under word2vec's weighting",
        "steps": int(trace.steps[-1]),
        "gradient": "exact flow, fourth order" if scale.batch_size is None else
        f"minibatches of {scale.batch_size:,} pairs",
        "word2vec": f"subsampling {scale.subsample:g}, negatives ∝ P^¾, "
        f"k = {experiment.scale.dynamics.negatives:g}",
    }  # fmt: skip


def _line(trace: Trace) -> float:
    """Return s₁/s₂ at the moment at which the words lie along a line."""
    values = np.linalg.svd(trace.snapshots[moments(trace)[1]][0], compute_uv=False)
    return float(values[0] / values[1])


def _separate_steps(start: Start) -> int:
    """Return how many of the first modes have each reached half its size before the next did."""
    found = start.qwem.singular_values**2 >= start.spectrum.eigenvalues / 2
    when = np.where(found.any(axis=0), found.argmax(axis=0), len(found))
    together = np.flatnonzero(np.diff(when) <= 0)
    return int(together[0]) + 1 if together.size else len(when)


def _late_growth(trace: Trace) -> float:
    """Return by what part the largest singular value grows over the last fifth of the time."""
    before = np.interp(0.8 * trace.times[-1], trace.times, trace.singular_values[:, 0])
    growth = float(trace.singular_values[-1, 0] / before - 1)
    return round(growth, 3) + 0.0  # no negative zero


def mode_purity(trace: Trace, spectrum: Spectrum) -> NDArray[np.float64]:
    """Return how purely each mode of a run is one eigenvector of M* when it is half learned.

    For mode k it is the largest squared overlap of the k-th left singular vector of W with an
    eigenvector, 1 where the mode is that eigenvector, in the first snapshot in which s_k² has half
    of its largest value. No clock comes into it: a run that is twice as fast has the same purity.
    """
    squares = trace.singular_values**2
    half = 0.5 * squares.max(axis=0)
    steps = np.array(sorted(trace.snapshots))
    found = np.array([_overlaps(trace.snapshots[int(step)][0], spectrum) for step in steps])
    sizes = np.array([np.interp(steps, trace.steps, column) for column in squares.T])
    first = np.argmax(sizes >= half[:, None], axis=1)
    return np.array([found[at, k] for k, at in enumerate(first)])


def _overlaps(vectors: NDArray[Any], spectrum: Spectrum) -> NDArray[np.float64]:
    """Return each left singular vector's largest squared overlap with an eigenvector."""
    left = np.linalg.svd(np.asarray(vectors, np.float64), full_matrices=False)[0]
    return np.square(spectrum.eigenvectors.T @ left).max(axis=0)


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


def _power(value: float) -> str:
    """Return a number as TeX."""
    mantissa, exponent = f"{value:e}".split("e")
    head = "" if float(mantissa) == 1 else rf"{float(mantissa):g}\times"
    return f"{head}10^{{{int(exponent)}}}"
