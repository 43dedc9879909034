"""Figure 3, top, overlaps, and shapes: features of word2vec, QWEM and PPMI, and where words lie."""

from __future__ import annotations

from contextlib import suppress
from textwrap import fill
from typing import TYPE_CHECKING

from qwem._internal.figures import COLOURS, new_figure, styled
from qwem.errors import CoverageError, DataError
from qwem.interpretation import features, geometry, overlaps
from qwem.interpretation.geometry import draw_places
from qwem.paper.benchmarks import COLOUR_OF, benchmark_settings
from qwem.paper.experiment import Outcome, recipe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from qwem.interpretation import Geometry
    from qwem.interpretation.features import Feature, Overlaps
    from qwem.paper.experiment import Experiment

_TEXT_WIDTH = 44
_LINE_HEIGHT = 0.155
_SHOWN = 40
_PERMUTATIONS = 999
_COMPARED = ("word2vec", "QWEM", "svd(PPMI)")
_TOP = 20
_WORDS = 9
_MATCHED_WORDS = 60
"""The number of words at each end of two features that decide which ends correspond."""


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
        [[fill(f"(PC{rank}) {' '.join(words)}", _TEXT_WIDTH) for rank, words in row.values()]
         for row in section]
        for section in sections
    ]  # fmt: skip
    heights = [[max(text.count("\n") + 1 for text in row) + 0.9 for row in rows] for rows in texts]
    total = sum(map(sum, heights)) + 2.0 + 0.6 * len(sections)
    figure = new_figure(3.45 * len(models), _LINE_HEIGHT * total + 0.2)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(0, len(models))
    axes.set_ylim(total, 0)
    for column, model in enumerate(models):
        axes.text(
            column + 0.02, 0.2, f"{model} feature neighbours", va="top", fontweight="bold",
            color=COLOURS[COLOUR_OF.get(model, model)],
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
def feature_overlaps(pairs: Mapping[tuple[str, str], Overlaps], top: int = 20) -> Figure:
    """Draw one heat map of squared overlaps for each pair of models.

    Parameters
    ----------
    pairs
        The overlaps of pairs of models; the first name labels the rows, the second the columns.
    top
        The number of leading features whose mean overlap is in the titles.

    >>> from qwem import Embedding
    >>> from qwem.interpretation import overlaps
    >>> plane = Embedding(["a", "b", "c"], [[3, 0], [0, 2], [1, 0]])
    >>> axes = feature_overlaps({("QWEM", "M*"): overlaps(plane, plane)}, top=2).get_axes()[0]
    >>> axes.get_ylabel()
    'QWEM feature'
    """
    figure = new_figure(4.0 * len(pairs), 4.1)
    panels = figure.subplots(1, len(pairs), squeeze=False)[0]
    for axes, ((first, second), found) in zip(panels, pairs.items(), strict=True):
        shown = min(_SHOWN, found.dim)
        image = axes.imshow(
            found.squared[:shown, :shown], cmap="viridis", vmin=0, vmax=1,
            extent=(0.5, shown + 0.5, shown + 0.5, 0.5), interpolation="nearest",
        )  # fmt: skip
        axes.set_xlabel(f"{second} feature")
        axes.set_ylabel(f"{first} feature")
        mean = found.matched[:top].mean()
        axes.set_title(f"{first} and {second}\nmean matched overlap of the top {top}: {mean:.2f}")
        for spine in axes.spines.values():
            spine.set_visible(False)
    figure.colorbar(image, ax=panels, shrink=0.75, label=r"$(\mathbf{u}_i\cdot\mathbf{u}'_j)^2$")
    return figure


@recipe(
    "Figure 3, top. word2vec and QWEM learn similar features",
    "The first principal components of word2vec and QWEM are the same topics (biography, "
    "government, geography); up to their order later ones match too, while those of PPMI "
    "deviate. Late components are hard to interpret.",
)
def figure_3(experiment: Experiment) -> Outcome:
    """List the words nearest to the principal components of three models."""
    dim = experiment.scale.benchmarks.dim
    found = {name: overlaps(experiment.embedding("word2vec"), experiment.embedding(name))
             for name in _COMPARED[1:]}  # fmt: skip
    tables = {
        name: features(experiment.embedding(name), dim, topn=_MATCHED_WORDS).features
        for name in _COMPARED
    }
    late = dim // 2
    # word2vec's first three features and its 11 to 13, each beside the features of the
    # other models that overlap with it most, and one from the middle of the spectrum.
    first = [rank for rank in (1, 2, 3) if rank <= dim]
    middle = [rank for rank in (11, 12, 13) if rank < late]
    sections = [
        [
            {"word2vec": rank}
            | {name: int(found[name].squared[rank - 1].argmax()) + 1 for name in _COMPARED[1:]}
            for rank in ranks
        ]
        for ranks in (first, middle)
    ]
    sections.append([dict.fromkeys(_COMPARED, late)])
    cells = [[_cells(row, tables) for row in section] for section in sections if section]
    means = {name: float(found[name].matched[:_TOP].mean()) for name in found}
    shared = {
        name: sum(len(set(row["word2vec"][1]) & set(row[name][1])) for section in cells[:-1]
                  for row in section)
        for name in found
    }  # fmt: skip
    compared = sum(len(section) for section in cells[:-1]) * _WORDS
    finding = (
        f"The mean matched squared overlap of word2vec's top {_TOP} features is "
        f"{means['QWEM']:.2f} with QWEM and {means['svd(PPMI)']:.2f} with svd(PPMI). "
        f"Of the {compared} words of word2vec's early features in the table, the features of QWEM "
        f"that overlap with them most have {shared['QWEM']}, and those of svd(PPMI) "
        f"{shared['svd(PPMI)']}."
    )
    numbers = {"matched_overlap": means, "shared_words": shared, "words": compared,
               "neighbours": [row for section in cells for row in section]}  # fmt: skip
    return Outcome(feature_neighbours(cells), (finding,), numbers, benchmark_settings(experiment))


@recipe(
    "Appendix. Overlaps of features",
    "word2vec's features align very closely with QWEM's and less with those of PPMI.",
)
def figure_overlaps(experiment: Experiment) -> Outcome:
    """Compare the features of three models by their squared overlaps."""
    pairs = {
        (a, b): overlaps(experiment.embedding(a), experiment.embedding(b))
        for a, b in (("word2vec", "QWEM"), ("word2vec", "svd(PPMI)"), ("QWEM", "svd(PPMI)"))
    }
    top = min(_TOP, experiment.scale.benchmarks.dim)
    means = {f"{a}, {b}": float(found.matched[:top].mean()) for (a, b), found in pairs.items()}
    spaces = {f"{a}, {b}": float(found.subspace_similarity[top - 1])
              for (a, b), found in pairs.items()}  # fmt: skip
    finding = (
        "Mean matched squared overlap of the top {}: {}; similarity of the subspaces: {}.".format(
            top,
            "; ".join(f"{pair} {mean:.2f}" for pair, mean in means.items()),
            "; ".join(f"{pair} {mean:.2f}" for pair, mean in spaces.items()),
        )
    )
    numbers = {"matched_overlap": means, "subspace_similarity": spaces}
    return Outcome(
        feature_overlaps(pairs, top), (finding,), numbers, benchmark_settings(experiment)
    )


_SHAPES = ("months", "numbers", "countries", "cities", "family", "living")


@styled
def shapes_of_meaning(found: Sequence[Geometry]) -> Figure:
    """Draw where the words of some shapes lie, and where theory predicts them."""
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure = new_figure(4.4 * columns, 3.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).flat
    for axes, one in zip(panels, found, strict=False):
        draw_places(axes, one)
        axes.set_title(f"{one.shape.name}: R² = {one.invariance:.2f}, p = {one.held_p:.2g}")
    for axes in list(panels)[len(found) :]:
        axes.set_axis_off()
    return figure


@recipe(
    "Shapes of meaning",
    "Symmetry of co-occurrence makes months a circle, numbers a line and countries a map: words at "
    "equal distances co-occur equally often, and the eigenvectors of such a block of M* are known "
    "(Karkada and others, arXiv 2602.15029; Korchinski and others, 2505.18651).",
)
def figure_shapes(experiment: Experiment) -> Outcome:
    """Compare where words of known positions lie with where their kernel predicts them."""
    size = experiment.scale.tasks
    counts = experiment.counts(size.vocab_size, size.window)
    found = []
    for name in _SHAPES:
        with suppress(DataError):  # too few of its words are known
            found.append(geometry(counts, name, permutations=_PERMUTATIONS))
    if not found:
        raise CoverageError("None of the shapes has enough words in the vocabulary.")
    rows = tuple(
        (one.shape.name, f"{len(one.shape.words)}", f"{one.invariance:.2f}",
         f"{one.invariance_p:.3g}", f"{one.held:.2f} ({one.held_by_chance:.2f})",
         f"{one.held_p:.3g}", f"{one.disparity:.2f}")
        for one in found
    )  # fmt: skip
    header = ("shape", "words", "symmetric block, R²", "p", "variance in predicted modes (chance)",
              "p", "disparity")  # fmt: skip
    clear = sum(one.held_p <= 0.01 for one in found)
    finding = (
        f"{clear} of {len(found)} lists of words lie where their kernel predicts, with p ≤ .01 "
        f"against shuffled positions ({_PERMUTATIONS:,} permutations); the months' disparity from "
        f"theory is {found[0].disparity:.2f} (0 is none, 1 unrelated)."
        if found[0].shape.name == "months"
        else f"{clear} of {len(found)} lists of words lie where their kernel predicts (p ≤ .01)."
    )
    numbers = {one.shape.name: one for one in found}
    settings = {"V": size.vocab_size, "window": size.window, "M*": "exact block, not factorized"}
    return Outcome(shapes_of_meaning(found), (finding,), numbers, settings, (header, *rows))


def _cells(
    row: dict[str, int], tables: dict[str, tuple[Feature, ...]]
) -> dict[str, tuple[int, list[str]]]:
    """Return the words of one row; a feature has no sign, so ends are chosen to correspond."""
    own = tables["word2vec"][row["word2vec"] - 1]
    ends = [[word for word, _ in side] for side in (own.positive, own.negative)]
    lead = max(ends, key=lambda words: _mean_cosine(own, words))
    cells = {}
    for name, rank in row.items():
        feature = tables[name][rank - 1]
        sides = [[word for word, _ in side] for side in (feature.positive, feature.negative)]
        best = max(
            sides, key=lambda words: (len(set(words) & set(lead)), _mean_cosine(feature, words))
        )
        cells[name] = (rank, best[:_WORDS])
    return cells


def _mean_cosine(feature: Feature, words: list[str]) -> float:
    """Return the mean cosine of the nearest words at one end."""
    cosines = dict((*feature.positive, *feature.negative))
    return sum(cosines[word] for word in words[:_WORDS]) / max(1, len(words[:_WORDS]))
