"""Figure 4: linear representations from a few informative and many noisy features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.figures import COLOURS, SEQUENCE, new_figure, styled
from qwem.paper.task_spectra import draw_spectrum, readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from qwem.interpretation import FeatureTable, TaskAnalysis

_FEATURES_SHOWN = 60
_FEATURES_NAMED = 4
_WORDS = 4


@styled
def linear_structure(
    analysis: TaskAnalysis,
    dims: Sequence[int],
    table: FeatureTable,
    others: Sequence[TaskAnalysis],
) -> Figure:
    """Draw Figure 4 for one task: spectra, localization, and the strength of the spike.

    Parameters
    ----------
    analysis
        Of the task in the left and upper panels; the paper's is of verbs and their past tenses.
    dims
        The four d at which to draw the Gram spectrum, among those analyzed.
    table
        The features of the model, for the words of those that carry the task.
    others
        The categories whose signal-to-noise ratio and accuracy to draw against d.
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
    _draw_localization(upper.subplots(), analysis, table)
    snr, accuracy = lower.subplots(1, 2)
    draw_against_dim(snr, others, "snr", r"$\mathrm{snr}$")
    for other, colour in zip(others, SEQUENCE, strict=False):
        predicted = [model.snr for model in other.spectral]
        snr.plot(other.dims, predicted, color=colour, lw=1.0, ls=(0, (1, 1.5)))
    snr.set_title("dotted: predicted from M*'s spectrum and the mean", fontsize=8)
    draw_against_dim(accuracy, others, "accuracy", "analogy accuracy (top 1)")
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


def _draw_localization(axes: Axes, analysis: TaskAnalysis, table: FeatureTable) -> None:
    """Draw the share of each feature in the mean task vector, the largest with their words."""
    shown = np.asarray(analysis.localization)[:_FEATURES_SHOWN]
    ranks = np.arange(1, len(shown) + 1)
    axes.bar(ranks, shown, color="0.75", width=0.8)
    top = np.argsort(-shown)[:_FEATURES_NAMED]  # the tallest bar's words stand highest
    axes.bar(ranks[top], shown[top], color=COLOURS["QWEM"], width=0.8)
    for line, k in enumerate(top.tolist()):
        feature = table.features[k]
        ends = [" ".join(word for word, _ in side[:_WORDS]) for side in
                (feature.positive, feature.negative)]  # fmt: skip
        axes.annotate(
            f"PC{k + 1}: {ends[0]}\n↔ {ends[1]}", (ranks[k], shown[k]),
            (0.34, 0.97 - 0.235 * line), textcoords="axes fraction", fontsize=7.5, va="top",
            arrowprops={"arrowstyle": "-", "lw": 0.5, "color": "0.5", "relpos": (0, 0.5)},
        )  # fmt: skip
    axes.set_xlim(0, len(shown) + 1)
    axes.set_xlabel(r"eigen-feature $k$ of $\mathbf{M}^\star$")
    axes.set_ylabel("share of the squared length of\nthe mean task vector")
