"""Heat maps of squared overlaps between the features of word2vec, QWEM and PPMI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem._internal.figures import new_figure, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from qwem.interpretation import Overlaps

_SHOWN = 40


@styled
def feature_overlaps(pairs: Mapping[tuple[str, str], Overlaps], top: int = 20) -> Figure:
    """Draw one heat map of squared overlaps for each pair of models.

    Parameters
    ----------
    pairs
        The overlaps of each two models; their names are those of rows and columns.
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
