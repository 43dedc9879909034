"""Figure 4 and its appendix: task vectors of a few informative and many noisy features."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.figures import COLOURS, SEQUENCE, new_figure, styled
from qwem.interpretation import SpikedModel, features
from qwem.interpretation.tasks import carriers
from qwem.paper.experiment import Outcome, recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qwem.interpretation import FeatureTable
    from qwem.interpretation.analysis import TaskAnalysis
    from qwem.interpretation.marchenko_pastur import MarchenkoPasturFit
    from qwem.paper.experiment import Experiment

_BARS_IN_BULK = 9
_COLUMNS = 2
_FEATURES = 100


def readable(name: str) -> str:
    """Return the name of a category of Google's analogies without its number.

    >>> readable("gram7-past-tense")
    'past tense'
    """
    return re.sub(r"^gram\d+-", "", name).replace("-", " ")


def draw_spectrum(axes: Axes, fit: MarchenkoPasturFit, model: SpikedModel) -> None:
    """Draw a histogram of the eigenvalues of G_d/d, with the fitted and the predicted bulk.

    The dotted curve and the triangle are the bulk and the spike that the spiked model predicts from
    the mean and the variance on each feature; nothing is fitted to the spectrum.
    """
    lower, upper = fit.support
    width = max(upper, float(fit.bulk.max())) / _BARS_IN_BULK
    bins = np.arange(0, fit.spike + 2 * width, width)
    share = 1 / (len(fit.eigenvalues) * width)
    heights = np.histogram(fit.eigenvalues, bins)[0] * share
    axes.bar(bins[:-1], heights, width, align="edge", color="#9DB7CE", edgecolor="white", lw=0.5)
    at = lower + (upper - lower) * (1 - np.cos(np.linspace(0, np.pi, 300))) / 2
    density = fit.density(at) * len(fit.bulk) / len(fit.eigenvalues)
    axes.plot(at, density, color=COLOURS["bulk"], lw=1.8)
    at = model.edge * (1 - np.cos(np.linspace(0.02, np.pi, 120))) / 2
    predicted = len(fit.bulk) / len(fit.eigenvalues) * model.density(at)
    axes.plot(at, predicted, color="black", lw=1.0, ls=(0, (1, 1.5)))
    if model.has_spike:
        axes.plot(model.spike, 0, "^", color="black", ms=4, mew=0, clip_on=False, zorder=5)
    axes.set_xlim(0, max(fit.spike, model.spike) + 2 * width)
    # The law of a small effective dimension is unbounded at zero: there the bars set the height.
    tallest = max(float(line.get_ydata().max()) for line in axes.lines[:2])  # type: ignore[union-attr]
    highest = float(heights.max())
    axes.set_ylim(0, 1.1 * min(max(tallest, 1.2 * highest), 3 * highest))
    axes.annotate(
        "spike", (fit.spike, share), (0, 14), textcoords="offset points", fontsize=7,
        ha="center", arrowprops={"arrowstyle": "->", "lw": 0.6, "shrinkB": 1},
    )  # fmt: skip
    axes.set_yticks([])


@styled
def categories(analyses: Sequence[TaskAnalysis], dims: Sequence[int]) -> Figure:
    """Draw the spectra, at some of the analyzed d, and the localization of each category."""
    rows, width = -(-len(analyses) // _COLUMNS), len(dims) + 1
    figure = new_figure(7.2 * _COLUMNS, 1.62 * rows + 0.3)
    grid, key = figure.subfigures(2, 1, squeeze=False, height_ratios=[1.62 * rows, 0.3])[:, 0]
    blocks = grid.subfigures(rows, _COLUMNS, squeeze=False, wspace=0.02)
    for block, analysis in zip(blocks.flat, analyses, strict=False):
        panels = block.subplots(1, width, width_ratios=[1] * len(dims) + [1.3])
        for axes, dim in zip(panels, dims, strict=False):
            at = analysis.dims.index(dim)
            fit = analysis.fits[at]
            draw_spectrum(axes, fit, analysis.spiked[at])
            axes.set_title(
                rf"$d={dim}$, $d_\mathrm{{eff}}={fit.effective_dim:.0f}$, "
                f"mean {analysis.signal_in_mean[at]:.2f}",
                fontsize=7,
            )
            axes.tick_params(labelsize=6.5)
        draw_localization(panels[-1], analysis, _FEATURES)
        block.suptitle(
            f"{readable(analysis.task.name)}: {len(analysis.task)} pairs", fontsize=8.5, x=0.01,
            ha="left", fontweight="bold",
        )  # fmt: skip
    handles = blocks[0, 0].get_axes()[0].lines[:2]
    labels = "Marchenko–Pastur law, fitted", "spiked model, no fit"
    title = (
        "Spectra: eigenvalues of the Gram matrix over $d$. "
        "mean: share of the mean task vector in the spike."
    )
    key.legend(handles, labels, loc="center", ncols=2, title=title, title_fontsize=8)
    return figure


def draw_localization(axes: Axes, analysis: TaskAnalysis, shown: int) -> None:
    """Draw how much each of the first features contributes to the mean task vector."""
    shares = np.asarray(analysis.localization)[:shown]
    axes.bar(np.arange(1, len(shares) + 1), shares, color=COLOURS["QWEM"], width=0.9)
    axes.set_title(
        f"share of feature $k$; {len(carriers(analysis.localization))} carry half", fontsize=7
    )
    axes.set_xlim(0, len(shares) + 1)
    axes.tick_params(labelsize=6.5)


@recipe(
    "Appendix. Task vectors of every category",
    "The observations of Figure 4 extend across the categories of the analogy dataset; the "
    "mean task vector makes up more than 0.9 of the spike in all of them.",
)
def figure_categories(experiment: Experiment) -> Outcome:
    """Draw the spectra and the localization of every category at three d."""
    analyses = experiment.analyses
    dims = analyses[0].dims
    dim = max((d for d in dims if d <= 256), default=dims[-1])
    at = dims.index(dim)
    shown = dims[max(0, at - 2) : at + 3 : 2]
    half = {a.task.name: len(carriers(a.localization)) for a in analyses}
    predicted = np.array([a.spiked[at].spike / a.fits[at].spike for a in analyses])
    outside = {a.task.name: a.fits[at].spike / a.fits[at].edge for a in analyses}
    in_mean = {a.task.name: float(a.signal_in_mean[at]) for a in analyses}
    goodness = float(np.mean([a.fits[at].goodness for a in analyses]))
    findings = (
        f"At d = {dim} the spike is outside the bulk in {sum(x > 1 for x in outside.values())} of "
        f"{len(analyses)} categories; the mean task vector makes up {min(in_mean.values()):.2f} to "
        f"{max(in_mean.values()):.2f} of it, and more than 0.9 in "
        f"{sum(x > 0.9 for x in in_mean.values())} of them, where the paper, with far more text, "
        "finds more than 0.9 in all. "
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
               "predicted_over_measured_spike": predicted}  # fmt: skip
    return Outcome(categories(analyses, shown), findings, numbers, task_settings(experiment))


def task_settings(experiment: Experiment) -> dict[str, Any]:
    """Return the settings of the figures of task vectors, for their page."""
    size = experiment.scale.tasks
    return {
        "V": size.vocab_size,
        "d": f"4 to {size.dim}",
        "embeddings": "W = V*Λ^½ of M*, by Theorem 3.2; no training",
        "window": f"{size.window} to each side",
    }


_FEATURES_SHOWN = 60
_FEATURES_NAMED = 4
_WORDS_OF_FEATURE = 4
_TASK = "gram7-past-tense"
"""The paper's example: verbs and their past tenses."""
_SHOWN = ("gram6-nationality-adjective", "family", "gram7-past-tense", "gram1-adjective-to-adverb",
          "gram2-opposite", "capital-common-countries")  # fmt: skip
_SPECTRA = 4


@styled
def linear_structure(
    analysis: TaskAnalysis,
    dims: Sequence[int],
    table: FeatureTable,
    others: Sequence[TaskAnalysis],
) -> Figure:
    """Draw Figure 4: spectra of one task at some d, its localization, and others against d.

    `table` has the features of the model, to label those that carry the task.
    """
    figure = new_figure(11.5, 6.6)
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[1, 2.1])[0]
    stack = left.subplots(len(dims), 1)
    for axes, dim in zip(stack, dims, strict=True):
        at = analysis.dims.index(dim)
        fit = analysis.fits[at]
        draw_spectrum(axes, fit, analysis.spiked[at])
        axes.set_title(
            rf"$d={dim}$,  $d_\mathrm{{eff}}={fit.effective_dim:.0f}$", loc="right", fontsize=8.5
        )
    stack[-1].set_xlabel(
        r"eigenvalue of the Gram matrix, $\lambda(\mathbf{R}_d\mathbf{R}_d^\top)/d$"
    )
    left.supylabel("density", fontsize=9)
    stack[0].plot([], [], color=COLOURS["bulk"], lw=1.8, label="Marchenko–Pastur, fitted")
    stack[0].plot([], [], "^k", ls=(0, (1, 1.5)), lw=1.0, ms=4, label="spiked model, no fit")
    stack[0].legend(loc="upper center")
    left.suptitle(f"{readable(analysis.task.name)}: {len(analysis.task)} pairs", fontsize=10)
    upper, lower = right.subfigures(2, 1, squeeze=False, height_ratios=[1, 1.05])[:, 0]
    _draw_named_localization(upper.subplots(), analysis, table)
    snr, accuracy = lower.subplots(1, 2)
    draw_against_dim(snr, others, "snr", r"$\mathrm{snr}$")
    draw_against_dim(accuracy, others, "accuracy", "analogy accuracy (top 1)")
    for other, colour in zip(others, SEQUENCE, strict=False):
        predicted = [model.snr for model in other.spectral]
        snr.plot(other.dims, predicted, color=colour, lw=1.0, ls=(0, (1, 1.5)))
        accuracy.plot(other.dims, other.predicted_accuracy, color=colour, lw=1.0, ls=(0, (1, 1.5)))
    snr.set_yscale("log", base=2)
    snr.yaxis.set_major_formatter("{x:g}")
    snr.set_title("dotted: predicted from M*'s spectrum and the mean", fontsize=8)
    accuracy.set_title("dotted: predicted from the noise and the spacing of words", fontsize=8)
    accuracy.set_ylim(0, 1)
    lower.legend(*snr.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@styled
def analogy_geometry(analyses: Sequence[TaskAnalysis]) -> Figure:
    """Draw the cosine between an analogy's prediction and its word, plain and normalized.

    The left panel has the mean cosine between x̂ = c + (b − a) and w. In the right panel it is
    divided by the largest cosine between w and a word outside the analogy (the paper's figure
    snr-acc).

    >>> from qwem import Embedding
    >>> from qwem.interpretation import Task, analyze_task
    >>> words = ["man", "woman", "king", "queen", "boy", "girl"]
    >>> space = Embedding(words, [[4, 0], [0, 4], [9, 1], [5, 5], [4, 2], [1, 6]])
    >>> gender = Task("gender", (("man", "woman"), ("king", "queen"), ("boy", "girl")))
    >>> len(analogy_geometry([analyze_task(space, gender, dims=[2])]).get_axes())
    2
    """
    figure = new_figure(9.0, 3.9)
    cosine, score = figure.subplots(1, 2)
    draw_against_dim(cosine, analyses, "cosine", r"$\cos(\hat{\mathbf{x}}, \mathbf{w})$, mean")
    draw_against_dim(score, analyses, "normalized_score", "normalized score")
    cosine.set_ylim(0, 1)
    score.set_ylim(bottom=0)
    figure.legend(*cosine.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def draw_against_dim(
    axes: Axes, analyses: Sequence[TaskAnalysis], quantity: str, label: str
) -> None:
    """Draw one line for each task of a quantity that depends on d."""
    for analysis, colour in zip(analyses, SEQUENCE, strict=False):
        axes.plot(
            analysis.dims, getattr(analysis, quantity), ".-", ms=3.5, color=colour,
            label=readable(analysis.task.name),
        )  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xlabel(r"dimension $d$")
    axes.set_ylabel(label)


def _draw_named_localization(axes: Axes, analysis: TaskAnalysis, table: FeatureTable) -> None:
    """Draw how much each feature contributes to the mean task vector, with words of the largest."""
    shown = np.asarray(analysis.localization)[:_FEATURES_SHOWN]
    ranks = np.arange(1, len(shown) + 1)
    axes.bar(ranks, shown, color="0.75", width=0.8)
    top = np.argsort(-shown)[:_FEATURES_NAMED]  # the tallest bar's words stand highest
    axes.bar(ranks[top], shown[top], color=COLOURS["QWEM"], width=0.8)
    for line, k in enumerate(top.tolist()):
        feature = table.features[k]
        ends = [" ".join(word for word, _ in side[:_WORDS_OF_FEATURE]) for side in
                (feature.positive, feature.negative)]  # fmt: skip
        axes.annotate(
            f"PC{k + 1}: {ends[0]}\n↔ {ends[1]}", (ranks[k], shown[k]),
            (0.34, 0.97 - 0.235 * line), textcoords="axes fraction", fontsize=7.5, va="top",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "0.5", "relpos": (0, 0.5)},
        )  # fmt: skip
    axes.set_xlim(0, len(shown) + 1)
    axes.set_xlabel(r"eigen-feature $k$ of $\mathbf{M}^\star$")
    axes.set_ylabel("share of the squared length of\nthe mean task vector")


@recipe(
    "Figure 4. Linear representations: a few informative and many noisy features",
    "The Gram matrix of task vectors has a Marchenko–Pastur spectrum and one outlier, which is "
    "the mean task vector; a few features carry it. The signal-to-noise ratio first "
    "rises with d and then falls, and its maximum tells how well analogies work.",
)
def figure_4(experiment: Experiment) -> Outcome:
    """Draw Gram spectra, localization, and SNR and accuracy against d."""
    analyses = experiment.analyses
    largest = max(analyses, key=lambda analysis: len(analysis.task))
    task = next((a for a in analyses if a.task.name == _TASK), largest)
    dims = _dims_shown(task.dims)
    spectrum = experiment.spectrum(experiment.scale.tasks, tol=1e-3)
    table = features(spectrum, min(60, spectrum.dim), topn=10)
    fits = [task.fits[task.dims.index(dim)] for dim in dims]
    outside = [fit.spike / fit.edge for fit in fits]
    last = task.fits[-1].spike / task.fits[-1].edge
    ranks = snr_and_accuracy(analyses)
    predicted = np.array([[model.snr for model in a.spectral] for a in analyses])
    measured = np.array([a.snr for a in analyses])
    error = np.mean(np.abs(predicted / measured - 1))
    fixed = np.array([_snr_of_one_noise(a) for a in analyses])
    fixed_error = np.mean(np.abs(fixed / measured - 1))
    past_peak = sum(bool(a.snr[-1] < 0.9 * np.max(a.snr)) for a in analyses)
    findings = (
        f"{task.task.name}, {len(fits[0].eigenvalues)} pairs: the largest eigenvalue lies "
        + ", ".join(f"{times:.1f}" for times in outside)
        + " times as far out as the edge of the Marchenko–Pastur bulk at d = "
        + ", ".join(map(str, dims))
        + f"; the mean task vector is {task.signal_in_mean[task.dims.index(dims[-1])]:.2f} of it. "
        + f"At the largest d, {task.dims[-1]}, it is at {last:.1f}: "
        + ("still outside." if last > 1 else "inside the bulk."),
        f"{len(carriers(task.localization))} of the {len(task.localization)} features carry half "
        f"of the mean task vector; its participation ratio is {task.participation_ratio:.0f}.",
        f"In {past_peak} of {len(analyses)} categories the SNR falls again by more than "
        "a tenth after its largest value.",
        f"Over categories, the largest SNR and the best accuracy have a rank correlation of "
        f"{ranks['snr']:.2f}; the number of pairs alone has {ranks['pairs']:.2f}, and with it held "
        f"fixed the SNR has {ranks['snr_given_pairs']:.2f}. The accuracy that noise and spacing "
        f"predict has {ranks['predicted']:.2f}, and over all categories and d it is within "
        f"{ranks['predicted_error']:.3f} of the measured one on average.",
        f"M* has {experiment.nonnegative:,} eigenvalues that are not negative among "
        f"{len(spectrum.vocabulary):,} (the paper's: 4,795 of 10,000), far more than any d here.",
        "With noise νλ_k, and ν measured anew at each d, the spiked model's SNR is within "
        f"{error:.0%} of the measured one on average; with one ν per category, that of the largest "
        f"d, within {fixed_error:.0%}.",
    )
    numbers = {
        "dims": dims,
        "spike_over_edge": outside,
        "spike_over_edge_at_largest_dim": last,
        "effective_dim": [fit.effective_dim for fit in fits],
        "participation_ratio": task.participation_ratio,
        "rank_correlation_with_accuracy": ranks,
        "nonnegative_eigenvalues": experiment.nonnegative,
        "predicted_snr_error": error,
        "predicted_snr_error_of_one_noise": fixed_error,
    }
    figure = linear_structure(task, dims, table, _shown(analyses))
    return Outcome(figure, findings, numbers, task_settings(experiment))


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
    numbers = {"dims": dims, "cosine": cosine, "normalized_score": score}
    return Outcome(analogy_geometry(_shown(analyses)), findings, numbers, task_settings(experiment))


def _shown(analyses: list[TaskAnalysis]) -> list[TaskAnalysis]:
    """Return the categories of the paper's curves, or others if the text has none of these."""
    found = [analysis for name in _SHOWN for analysis in analyses if analysis.task.name == name]
    return found or analyses[: len(_SHOWN)]


def _snr_of_one_noise(analysis: TaskAnalysis) -> list[float]:
    """Return the SNR for each d that the noise νλ_k predicts, with ν of the largest d for all."""
    largest = analysis.spectral[-1]
    bias = largest.noise / largest.count
    return [
        SpikedModel(largest.count, largest.mean[:d], largest.noise[:d], bias[:d]).snr
        for d in analysis.dims
    ]


def _dims_shown(dims: tuple[int, ...]) -> tuple[int, ...]:
    """Return four consecutive dimensions, from 64 on if there are enough."""
    start = next((k for k, dim in enumerate(dims) if dim >= 64), len(dims))
    start = max(0, min(start, len(dims) - _SPECTRA))
    return dims[start : start + _SPECTRA]


def snr_and_accuracy(analyses: list[TaskAnalysis]) -> dict[str, float]:
    """Return how well the SNR and other quantities predict the accuracy of categories.

    Rank correlations over categories with the best accuracy: of the largest SNR, of the number of
    pairs, of the SNR with the number of pairs held fixed, and of the predicted accuracy; and the
    mean error of the latter over all categories and d.
    """
    from scipy.stats import spearmanr

    best = {name: [float(np.max(getattr(a, name))) for a in analyses]
            for name in ("snr", "accuracy", "predicted_accuracy")}  # fmt: skip
    pairs = [len(a.task) for a in analyses]

    def rank(one: Sequence[float], other: Sequence[float]) -> float:
        varied = len(set(one)) > 1 < len(set(other))
        return float(spearmanr(one, other).statistic) if varied else float("nan")

    snr, count, both = (
        rank(best["snr"], best["accuracy"]), rank(pairs, best["accuracy"]),
        rank(best["snr"], pairs),
    )  # fmt: skip
    with np.errstate(invalid="ignore", divide="ignore"):
        partial = np.float64(snr - count * both) / np.sqrt((1 - count**2) * (1 - both**2))
    errors = [np.abs(a.predicted_accuracy - a.accuracy).mean() for a in analyses]
    return {
        "snr": snr,
        "pairs": count,
        "snr_given_pairs": float(partial),
        "predicted": rank(best["predicted_accuracy"], best["accuracy"]),
        "predicted_error": float(np.mean(errors)),
    }
