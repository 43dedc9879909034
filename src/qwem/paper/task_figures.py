"""Figure 4, the other categories and the geometry of analogies: task vectors of M*."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem.interpretation import features
from qwem.paper.linear_structure import analogy_geometry, linear_structure
from qwem.paper.recipe import Outcome, recipe
from qwem.paper.task_spectra import categories

if TYPE_CHECKING:
    from qwem.interpretation import TaskAnalysis
    from qwem.interpretation.marchenko_pastur import MarchenkoPasturFit
    from qwem.paper.experiment import Experiment

_TASK = "gram7-past-tense"
"""The paper's example: verbs and their past tenses."""
_SHOWN = ("gram6-nationality-adjective", "family", "gram7-past-tense", "gram1-adjective-to-adverb",
          "gram2-opposite", "capital-common-countries")  # fmt: skip
_SPECTRA = 4


@recipe(
    "Figure 4. Linear representations: a few informative and many noisy features",
    "The Gram matrix of task vectors has a Marchenko–Pastur spectrum and one outlier, which is "
    "the mean task vector; that is carried by a few features. The signal-to-noise ratio first "
    "rises with d and then falls, and its maximum tells how well analogies work.",
)
def figure_4(experiment: Experiment) -> Outcome:
    """Draw Gram spectra, localization, and SNR and accuracy against d."""
    analyses = experiment.analyses
    largest = max(analyses, key=lambda analysis: len(analysis.task))
    task = next((a for a in analyses if a.task.name == _TASK), largest)
    dims = _spread(task.dims)
    spectrum = experiment.spectrum(experiment.scale.tasks, tol=1e-3)
    table = features(spectrum, min(60, spectrum.dim), topn=10)
    fits = [task.fits[task.dims.index(dim)] for dim in dims]
    outside = [_over_edge(fit) for fit in fits]
    last = _over_edge(task.fits[-1])
    rank = _rank_correlation(analyses)
    predicted = np.array([[model.snr for model in a.spectral] for a in analyses])
    error = float(np.mean(np.abs(predicted / np.array([a.snr for a in analyses]) - 1)))
    together = "" if rank is None else (
        f"; over categories that and the best accuracy have a rank correlation of {rank:.2f}"
    )  # fmt: skip
    top = np.sort(np.asarray(task.localization))[::-1]
    findings = (
        f"{task.task.name}, {len(fits[0].eigenvalues)} pairs: the largest eigenvalue lies "
        + ", ".join(f"{times:.1f}" for times in outside)
        + " times as far out as the edge of the Marchenko–Pastur bulk at d = "
        + ", ".join(map(str, dims))
        + f"; the mean task vector is {task.signal_in_mean[task.dims.index(dims[-1])]:.2f} of it. "
        + f"At the largest d, {task.dims[-1]}, it is at {last:.1f}: "
        + ("still outside." if last > 1 else "noise has caught up with it."),
        f"{_carriers(top)} of the {len(top)} features carry half of the mean task vector; "
        f"its participation ratio is {task.participation_ratio:.0f}.",
        f"In {_past_peak(analyses)} of {len(analyses)} categories the SNR falls again by more than "
        f"a tenth after its largest value{together}.",
        "With noise in proportion to λ_k, one number per category, the spiked model predicts the "
        f"SNR at every d to within {error:.0%} on average.",
    )
    numbers = {
        "dims": list(dims),
        "spike_over_edge": outside,
        "spike_over_edge_at_largest_dim": last,
        "effective_dim": [fit.effective_dim for fit in fits],
        "participation_ratio": float(task.participation_ratio),
        "snr_accuracy_rank_correlation": rank,
        "predicted_snr_error": error,
    }
    figure = linear_structure(task, dims, table, _shown(analyses))
    return Outcome(figure, findings, numbers, _settings(experiment))


@recipe(
    "Appendix. Task vectors of every category",
    "The observations of Figure 4 extend across the categories of the analogy dataset; the "
    "mean task vector makes up more than 0.9 of the spike in all semantic ones.",
)
def figure_categories(experiment: Experiment) -> Outcome:
    """Draw the spectra and the localization of every category at three d."""
    analyses = experiment.analyses
    dims = analyses[0].dims
    dim = max((d for d in dims if d <= 256), default=dims[-1])
    at = dims.index(dim)
    shown = dims[max(0, at - 2) : at + 3 : 2]
    half = {a.task.name: _carriers(np.sort(a.localization)[::-1]) for a in analyses}
    predicted = np.array([a.spiked[at].spike / a.fits[at].spike for a in analyses])
    outside = {a.task.name: _over_edge(a.fits[at]) for a in analyses}
    in_mean = {a.task.name: float(a.signal_in_mean[at]) for a in analyses}
    goodness = float(np.mean([a.fits[at].goodness for a in analyses]))
    findings = (
        f"At d = {dim} the spike is outside the bulk in {sum(x > 1 for x in outside.values())} of "
        f"{len(analyses)} categories; the mean task vector makes up {min(in_mean.values()):.2f} to "
        f"{max(in_mean.values()):.2f} of it, and more than 0.9 in "
        f"{sum(x > 0.9 for x in in_mean.values())} of them. "
        f"The bulk's distance to the fitted law is {1 - goodness:.2f} on average "
        "(Kolmogorov and Smirnov's).",
        f"Half of the mean task vector lies on {min(half.values())} to {max(half.values())} of the "
        f"{dims[-1]:,} features, depending on the category.",
        "The spiked model predicts the spike from the mean and the variance on each feature, with "
        f"nothing fitted: at d = {dim} its spike is {predicted.min():.2f} to {predicted.max():.2f} "
        "times the measured one.",
    )
    numbers = {"dim": dim, "spike_over_edge": outside, "signal_in_mean": in_mean,
               "goodness": goodness, "features_with_half": half,
               "predicted_over_measured_spike": predicted.tolist()}  # fmt: skip
    return Outcome(categories(analyses, shown), findings, numbers, _settings(experiment))


@recipe(
    "Appendix. The geometry of analogies against d",
    "The cosine between an analogy's prediction and the right word degrades with d, yet "
    "relative to the nearest other word it stays about the same: that is why accuracy stays "
    "high.",
)
def figure_geometry(experiment: Experiment) -> Outcome:
    """Draw cosines and normalized scores of analogies against d."""
    analyses = experiment.analyses
    cosine = np.mean([a.cosine for a in analyses], axis=0)
    score = np.mean([a.normalized_score for a in analyses], axis=0)
    dims = analyses[0].dims
    middle = dims.index(min(dims, key=lambda d: abs(d - 64)))
    findings = (
        f"On average over categories the cosine falls from {cosine[0]:.2f} at d = {dims[0]} to "
        f"{cosine[-1]:.2f} at d = {dims[-1]}; from d = {dims[middle]} on the normalized score goes "
        f"from {score[middle]:.2f} to {score[-1]:.2f} while the cosine loses "
        f"{1 - cosine[-1] / cosine[middle]:.0%}.",
    )
    numbers = {"dims": list(dims), "cosine": cosine.tolist(), "normalized_score": score.tolist()}
    return Outcome(analogy_geometry(_shown(analyses)), findings, numbers, _settings(experiment))


def _shown(analyses: list[TaskAnalysis]) -> list[TaskAnalysis]:
    """Return the categories of the paper's curves, or others where there is none of them."""
    found = [analysis for name in _SHOWN for analysis in analyses if analysis.task.name == name]
    return found or analyses[: len(_SHOWN)]


def _over_edge(fit: MarchenkoPasturFit) -> float:
    """Return how far out the spike lies, in units of the edge of the bulk."""
    return fit.spike / fit.distribution.support[1]


def _spread(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return four dimensions in a row, from 64 on where there are as many."""
    start = next((k for k, dim in enumerate(dims) if dim >= 64), len(dims))
    start = max(0, min(start, len(dims) - _SPECTRA))
    return dims[start : start + _SPECTRA]


def _carriers(shares: Any) -> int:
    """Return how many of the largest shares make up half."""
    return int(np.searchsorted(np.cumsum(shares), 0.5)) + 1


def _past_peak(analyses: list[TaskAnalysis]) -> int:
    """Return in how many tasks the SNR at the largest d is below nine tenths of its maximum."""
    return sum(bool(a.snr[-1] < 0.9 * np.max(a.snr)) for a in analyses)


def _rank_correlation(analyses: list[TaskAnalysis]) -> float | None:
    """Return Spearman's correlation over tasks of the largest SNR with the best accuracy."""
    from scipy.stats import spearmanr

    snr, accuracy = ([float(np.max(getattr(a, name))) for a in analyses]
                     for name in ("snr", "accuracy"))  # fmt: skip
    return (
        float(spearmanr(snr, accuracy).statistic)
        if len(set(snr)) > 1 < len(set(accuracy))
        else None
    )


def _settings(experiment: Experiment) -> dict[str, Any]:
    size = experiment.scale.tasks
    return {
        "V": size.vocab_size,
        "d": f"4 to {size.dim}",
        "embeddings": "W = V*Λ^½ of M*, by Theorem 3.2; no training",
        "window": f"{size.window} to each side",
    }
