"""Task vectors of every category: spectra, Marchenko–Pastur law of the noise, and spike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.figures import COLOURS, new_figure, styled
from qwem.paper.page import Outcome, recipe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qwem.interpretation import SpikedModel
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
    """Draw a histogram of the eigenvalues of G_d/d, the fitted law of the bulk, and the model's.

    The dotted curve and the triangle are the bulk and the spike that the spiked model predicts from
    the mean and the variance on each feature; nothing is fitted to the spectrum.
    """
    lower, upper = fit.distribution.support
    width = max(upper, float(fit.bulk.max())) / _BARS_IN_BULK
    bins = np.arange(0, fit.spike + 2 * width, width)
    share = 1 / (len(fit.eigenvalues) * width)
    heights = np.histogram(fit.eigenvalues, bins)[0] * share
    axes.bar(bins[:-1], heights, width, align="edge", color="#9DB7CE", edgecolor="white", lw=0.5)
    at = lower + (upper - lower) * (1 - np.cos(np.linspace(0, np.pi, 300))) / 2
    density = fit.distribution.density(at) * len(fit.bulk) / len(fit.eigenvalues)
    axes.plot(at, density, color=COLOURS["bulk"], lw=1.8)
    _draw_prediction(axes, model, len(fit.bulk) / len(fit.eigenvalues))
    axes.set_xlim(0, max(fit.spike, model.spike) + 2 * width)
    # The law of a small effective dimension is unbounded at zero; the bars set the height.
    axes.set_ylim(0, 1.35 * heights.max())
    axes.annotate(
        "spike", (fit.spike, share), (0, 14), textcoords="offset points", fontsize=7,
        ha="center", arrowprops={"arrowstyle": "->", "lw": 0.6, "shrinkB": 1},
    )  # fmt: skip
    axes.set_yticks([])


def _draw_prediction(axes: Axes, model: SpikedModel, share: float) -> None:
    at = model.edge * (1 - np.cos(np.linspace(0.02, np.pi, 120))) / 2
    axes.plot(at, share * model.density(at), color="black", lw=1.0, ls=(0, (1, 1.5)))
    if model.has_spike:
        axes.plot(model.spike, 0, "^", color="black", ms=4, mew=0, clip_on=False, zorder=5)


@styled
def categories(analyses: Sequence[TaskAnalysis], dims: Sequence[int]) -> Figure:
    """Draw the spectra and the localization of every category of task vectors.

    Parameters
    ----------
    analyses
        One analysis per category.
    dims
        The dimensions d whose spectra to draw, among those that were analyzed.
    """
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
    """Draw the share of each of the first features in the mean task vector."""
    shares = np.asarray(analysis.localization)[:shown]
    axes.bar(np.arange(1, len(shares) + 1), shares, color=COLOURS["QWEM"], width=0.9)
    half = int(np.searchsorted(np.cumsum(np.sort(analysis.localization)[::-1]), 0.5)) + 1
    axes.set_title(f"share of feature $k$; {half} carry half", fontsize=7)
    axes.set_xlim(0, len(shares) + 1)
    axes.tick_params(labelsize=6.5)


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
    half = {a.task.name: carriers(np.sort(a.localization)[::-1]) for a in analyses}
    predicted = np.array([a.spiked[at].spike / a.fits[at].spike for a in analyses])
    outside = {a.task.name: over_edge(a.fits[at]) for a in analyses}
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
    return Outcome(categories(analyses, shown), findings, numbers, task_settings(experiment))


def over_edge(fit: MarchenkoPasturFit) -> float:
    """Return how far out the spike lies, in units of the edge of the bulk."""
    return fit.spike / fit.distribution.support[1]


def carriers(shares: Any) -> int:
    """Return how many of the largest shares make up half."""
    return int(np.searchsorted(np.cumsum(shares), 0.5)) + 1


def task_settings(experiment: Experiment) -> dict[str, Any]:
    """Return the settings of the figures of task vectors, for their page."""
    size = experiment.scale.tasks
    return {
        "V": size.vocab_size,
        "d": f"4 to {size.dim}",
        "embeddings": "W = V*Λ^½ of M*, by Theorem 3.2; no training",
        "window": f"{size.window} to each side",
    }
