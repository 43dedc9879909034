"""Figure 3: the words nearest to features, and benchmark scores."""

from __future__ import annotations

from functools import partial
from textwrap import fill
from typing import TYPE_CHECKING

from qwem._internal.figures import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure

    from qwem.evaluation import Evaluation

    Score = Callable[[Evaluation], float]


_SIMILARITY = {"men": ("MEN", 1), "wordsim353": ("WordSim353", 2)}
"""Titles of the sets of rated pairs in the paper's table, and their place among its scores."""
_WIDTH = 44
_LINE = 0.155
_MODELS = {"word2vec": "word2vec", "QWEM": "QWEM", "svd(M*)": "M*", "svd(PPMI)": "PPMI",
           "svd(PMI)": "PMI"}  # fmt: skip


@styled
def feature_neighbours(
    sections: Sequence[Sequence[Mapping[str, tuple[int, Sequence[str]]]]],
) -> Figure:
    """Draw the words nearest to principal components, one column for each model (Figure 3, top).

    Parameters
    ----------
    sections
        Groups of rows, separated by lines. A row has for each model the rank of a feature, counted
        from 1, and the words nearest to it.

    >>> figure = feature_neighbours([[{"word2vec": (1, ["river"]), "QWEM": (1, ["lake"])}]])
    >>> figure.get_axes()[0].texts[-1].get_text()
    '(PC1) lake'
    """
    models = list(sections[0][0])
    texts = [
        [[fill(f"(PC{rank}) {' '.join(words)}", _WIDTH) for rank, words in row.values()]
         for row in section]
        for section in sections
    ]  # fmt: skip
    heights = [[max(text.count("\n") + 1 for text in row) + 0.9 for row in rows] for rows in texts]
    total = sum(map(sum, heights)) + 2.0 + 0.6 * len(sections)
    figure = new_figure(3.45 * len(models), _LINE * total + 0.2)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, len(models))
    axes.set_ylim(total, 0)
    for column, model in enumerate(models):
        axes.text(
            column + 0.02, 0.2, f"{model} feature neighbours", va="top", fontweight="bold",
            color=COLOURS[_MODELS.get(model, model)],
        )  # fmt: skip
    y = 2.0
    for rows, tall in zip(texts, heights, strict=True):
        axes.axhline(y - 0.4, color="black", lw=0.6)
        for row, height in zip(rows, tall, strict=True):
            for column, text in enumerate(row):
                axes.text(column + 0.02, y, text, va="top", fontsize=8, linespacing=1.15)
            y += height
        y += 0.6
    axes.axhline(y - 0.4, color="black", lw=0.6)
    return figure


@styled
def benchmark_table(
    found: Mapping[str, Evaluation], paper: Mapping[str, Sequence[float | None]]
) -> Figure:
    """Draw the scores of all models as bars, beside the paper's (Figure 3, bottom).

    Parameters
    ----------
    found
        The scores of each model in this run.
    paper
        The paper's scores of each model: analogies, MEN, WordSim353.
    """
    panels: list[tuple[str, int | None, Score, str]] = [
        ("Google analogies", 0, _accuracy, "{:.1%}")
    ]
    for name in next(iter(found.values())).similarity:
        title, place = _SIMILARITY.get(name, (name, None))
        panels.append((title, place, partial(_spearman, name), "{:.3f}"))
    figure = new_figure(3.6 * len(panels), 3.0)
    for axes, (title, place, score, pattern) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        for y, (model, evaluation) in enumerate(found.items()):
            value = score(evaluation)
            axes.barh(y, value, color=COLOURS[_MODELS[model]], height=0.62)
            axes.text(1.0, y, pattern.format(value), ha="right", va="center", fontsize=8)
            theirs = None if place is None else paper[model][place]
            if theirs is not None:
                axes.plot([theirs, theirs], [y - 0.4, y + 0.4], color="black", lw=1.4)
        axes.set_yticks(range(len(found)), list(found))
        axes.invert_yaxis()
        axes.set_xlim(0, 1.0)
        axes.set_title(title)
        axes.set_xlabel("accuracy" if place == 0 else r"Spearman's $\rho$")
    figure.get_axes()[0].plot([], [], color="black", lw=1.4, label="the paper, 2 billion words")
    figure.legend(loc="outside lower center")
    return figure


def _accuracy(evaluation: Evaluation) -> float:
    assert evaluation.analogies is not None
    return evaluation.analogies.accuracy


def _spearman(name: str, evaluation: Evaluation) -> float:
    return evaluation.similarity[name].spearman
