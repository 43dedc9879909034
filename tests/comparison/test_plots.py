"""Figures of comparisons show the numbers that they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem._internal.figures import write_figure
from qwem.comparison import context_regression
from qwem.comparison.changes import AxisPath
from qwem.comparison.results import Estimates
from qwem.comparison.stability import StableNeighbours
from qwem.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

RNG = np.random.default_rng(0)


def dots_and_bars(axes: Axes) -> tuple[Any, Any]:
    """Return the values of the dots and the ends of the bars."""
    (dots,) = (line for line in axes.lines if line.get_marker() == "o")
    (bars,) = axes.collections
    segments: Any = bars.get_segments()  # type: ignore[attr-defined]
    return dots.get_xdata(), np.array([segment[:, 0] for segment in segments])


def test_estimates_have_their_intervals() -> None:
    values = RNG.normal(size=3)
    found = Estimates(("a", "b", "c"), values, values + RNG.normal(size=(8, 3)), "jackknife")
    (axes,) = found.plot(level=0.8).axes
    dots, bars = dots_and_bars(axes)
    assert np.array_equal(dots, values)
    assert np.allclose(bars.T, found.confidence(0.8))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c"]
    with pytest.raises(SettingError, match="level"):
        found.plot(level=1.2)


def test_neighbours_are_drawn_as_estimates_are() -> None:
    values = np.array([0.7, 0.4])
    near = StableNeighbours(
        ("queen", "prince"), values, values + RNG.normal(0, 0.01, (6, 2)), "jackknife", 1.0,
        query="king", ranks=np.ones((6, 2), int),
    )  # fmt: skip
    (axes,) = near.plot().axes
    dots, bars = dots_and_bars(axes)
    assert np.array_equal(dots, values)
    assert np.allclose(bars.T, near.confidence())
    assert axes.get_title() == "king"
    assert axes.get_xlabel() == "cosine, with 95% intervals over documents"


def test_coefficients_have_intervals_and_p_values() -> None:
    texts = [[f"w{i}" for i in RNG.integers(0, 8, 20)] for _ in range(30)]
    covariates: Any = {"year": list(range(30)), "party": ["D", "R", "I"] * 10}
    settings: Any = {"dim": 3, "polish": False, "permutations": 19}
    found = context_regression(texts, "w1", covariates, **settings)
    (axes,) = found.plot().axes
    dots, bars = dots_and_bars(axes)
    scale = np.array([np.var(found.design.matrix[:, 1]), 1.0, 1.0])
    expected = [(each.debiased, each.low, each.high) for each in found.coefficients]
    assert np.allclose(np.column_stack([dots, bars]).T, np.array(expected).T * scale)
    year, *others = (text.get_text() for text in axes.get_yticklabels())
    assert year == f"year (by {np.sqrt(scale[0]):.3g})"
    assert others == ["party=I", "party=R"]
    shown = [text.get_text() for text in axes.texts]
    assert shown == [f"p = {each.p_value:.2g}" for each in found.coefficients]
    (axes,) = found.neighbours(topn=2).plot().axes
    assert axes.get_xlabel() == "cosine, with 95% intervals over clusters"


def test_paths_go_from_corpus_to_corpus_with_intervals() -> None:
    places: Any = {"a": (0.1, 0.2, 0.3), "b": (0.2, 0.25, 0.3)}
    bars: Any = {word: tuple((x - 0.1, x + 0.2) for x in places[word]) for word in places}
    path = AxisPath(("1990", "2000", "2010"), places, {}, bars)
    (axes,) = path.plot("she", "he").axes
    drawn: Any = [line.get_ydata() for line in axes.lines if line.get_marker() == "o"]
    assert np.array_equal(drawn, list(path.places.values()))
    for collection, word in zip(axes.collections, places, strict=True):
        segments: Any = collection.get_segments()  # type: ignore[attr-defined]
        assert np.allclose([segment[:, 1] for segment in segments], bars[word])
    assert [text.get_text() for text in axes.get_xticklabels()] == list(path.corpora)
    assert axes.get_title(loc="left") == "↑ she\n↓ he"
    texts: Any = axes.texts
    labels = {text.get_text(): text.xyann[1] for text in texts}
    assert labels["b"] > labels["a"], "names of words that end together are apart"
    many: dict[str, tuple[float, ...]] = {str(number): (0.0,) for number in range(9)}
    with pytest.raises(SettingError, match="at most 8 words"):
        AxisPath(("1990",), many).plot()


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_equal_figures_are_equal_files(kind: str, tmp_path: Path) -> None:
    path = AxisPath(("1990", "2000"), {"a": (0.1, 0.2)})
    files = [write_figure(path.plot(), tmp_path / f"{name}.{kind}") for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    with pytest.raises(SettingError, match=r"ends in \.png, \.pdf or \.svg"):
        write_figure(path.plot(), tmp_path / "a.bmp")
