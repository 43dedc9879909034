"""The explorer's maps in a real browser, served and exported: words lie where they belong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from in_browser import WIDE, resize
from qwem.comparison import axis
from qwem.dynamics import closed_form

if TYPE_CHECKING:
    from explorer.page import Page
    from qwem import Model
    from qwem.explorer import Explored


def overlapping(labels: list[dict[str, Any]]) -> list[tuple[str, str]]:
    def apart(a: dict[str, Any], b: dict[str, Any]) -> bool:
        wide = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
        return wide or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]

    return [
        (a["word"], b["word"])
        for i, a in enumerate(labels)
        for b in labels[i + 1 :]
        if not apart(a, b)
    ]


def scaled(places: Any) -> Any:
    """Places as the map draws them: each axis from −1 to 1."""
    low, high = places.min(axis=0), places.max(axis=0)
    return (2 * places - low - high) / (high - low)


def test_words_lie_where_their_features_say(page: Page, opened: list[Explored]) -> None:
    page.show(
        "map", "document.querySelector('.map .words').dataset.shown?.includes('3,2')", x=3, y=2
    )
    drawn = page.drawn("map")
    space = opened[0].first
    expected = scaled(space.rows[:, [2, 1]].astype(float))
    assert drawn["words"] == list(opened[0].vocabulary.words)
    found = np.array(drawn["positions"]).reshape(-1, 2)
    assert found == pytest.approx(expected, abs=1e-3)


def test_labels_never_overlap_and_grow_in_number(served: Page) -> None:
    served.show("map", "document.querySelector('.map .words').dataset.shown")
    resize(served.browser, 700, 500)
    far = served.drawn("map")["labels"]
    assert len(far) >= 10
    assert not overlapping(far)
    buttons = served.run(
        "const box = document.querySelector('.map .words').getBoundingClientRect();"
        "const { x, y, width, height } = document.querySelector('.zoom').getBoundingClientRect();"
        "return { word: '', x: x - box.x, y: y - box.y, width, height };"
    )
    assert not overlapping([*far, buttons])
    assert far[0]["word"] == served.drawn("map")["words"][0], "the most frequent word comes first"
    shown = {each["word"] for each in far}
    for _ in range(4):
        near = served.drawn("map", "+")
        assert not overlapping(near["labels"])
        shown |= {each["word"] for each in near["labels"]}
    assert len(shown) > len(far)
    assert near["sight"][0] == pytest.approx(1.5**4)
    resize(served.browser, *WIDE)


def test_a_search_leaves_the_words_it_found(page: Page) -> None:
    page.show("map", "document.querySelector('.map .words').dataset.shown")
    page.enter(".map input[type=search]", "WORD1", "input")
    labels = {each["word"] for each in page.drawn("map")["labels"]}
    assert labels
    assert all("word1" in word for word in labels)
    assert page.text(".map .controls [role=status]") == "11 words"
    page.enter(".map input[type=search]", "", "input")
    assert any("word1" not in each["word"] for each in page.drawn("map")["labels"])


def test_a_word_is_chosen_by_a_click_and_several_by_a_loop(served: Page, polished: Model) -> None:
    from selenium.webdriver import ActionChains

    served.show("map", "document.querySelector('.map .words').dataset.shown")
    drawn = served.drawn("map")
    row = drawn["words"].index("word7")
    box = served.browser.find_element("css selector", ".map .words")
    width, height = box.size["width"], box.size["height"]
    x, y = drawn["pixels"][row]
    ActionChains(served.browser).move_to_element_with_offset(
        box, round(x - width / 2), round(y - height / 2)
    ).perform()
    # Of two words under one pixel the nearer one is meant, which the tip names.
    hovered = served.wait("document.querySelector('.map .tip:not([hidden]) b')?.textContent")
    ActionChains(served.browser).click().perform()
    served.wait("document.querySelector('.map .aside h2')?.textContent === arguments[0]", hovered)
    near = served.texts(".map .aside .found .word")
    assert near[:5] == [word for word, _ in polished.embedding().most_similar(hovered, topn=5)]

    served.press("Select words")
    moves = ActionChains(served.browser)
    moves.move_to_element_with_offset(box, -width // 2 + 3, -height // 2 + 3).click_and_hold()
    for right, down in ((width - 9, 0), (0, height - 9), (9 - width, 0)):
        moves.move_by_offset(right, down)
    moves.release().perform()
    served.wait("document.querySelector('.map .aside h2')?.textContent === '90 words'")
    table = served.saved("Save table", "map").splitlines()
    assert len(table) == 91
    served.press("Clear")


@pytest.mark.parametrize(
    ("colour", "legend"),
    [("frequency", "How often"), ("feature", "Feature 1"), ("cluster", "Clusters"),
     ("learned", "half grown"), ("moved", "Distance from the same word in closed")],
)  # fmt: skip
def test_colours_are_explained(served: Page, colour: str, legend: str) -> None:
    served.show(
        "map", "document.querySelector('[data-shown=' + arguments[0] + ']')", colour, colour=colour
    )
    assert legend in served.text(".map .legend")


def test_a_cluster_can_be_seen_alone(page: Page) -> None:
    page.show("map", "document.querySelector('.map .chip')", colour="cluster")
    page.run("document.querySelector('.map .chip').click()")
    first = page.run("return document.querySelector('.map .chip').title")
    labels = {each["word"] for each in page.drawn("map")["labels"]}
    assert len(labels) <= int(first.split()[0])
    assert page.run("return document.querySelector('.map .chip').ariaPressed") == "true"
    page.show("map", "document.querySelector('[data-shown=frequency]')")


def test_words_lie_on_axes_of_the_users_words(page: Page, polished: Model) -> None:
    ends = {"xf": "word1 word2", "xt": "word3", "yf": "word4", "yt": "word5 word6"}
    ready = "document.querySelector('.map .words').dataset.shown?.includes('word5 word6')"
    page.show("map", ready, by="axes", **ends)
    embedding = polished.embedding()
    unit = embedding.vectors / np.linalg.norm(embedding.vectors, axis=1, keepdims=True)
    across = axis(embedding, ["word3"], ["word1", "word2"]).vector
    up = axis(embedding, ["word5", "word6"], ["word4"]).vector
    expected = scaled(np.stack([unit @ across, unit @ up], axis=1))
    found = np.array(page.drawn("map")["positions"]).reshape(-1, 2)
    assert found == pytest.approx(expected, abs=0.02)
    page.enter(".map input[aria-label='Words at the left']", "")
    page.wait("document.querySelector('.map .stage .unknown')")
    assert "both ends" in page.text(".map .stage .waiting")


def test_words_lie_beside_their_neighbours(page: Page) -> None:
    ready = "document.querySelector('.map .words').dataset.shown?.includes('neighbours')"
    page.show("map", ready, by="neighbours")
    assert np.ptp(np.array(page.drawn("map")["positions"])) > 1
    assert "directions have no meaning" in page.text(".map .axis.across")


def test_words_move_as_the_closed_form_says(page: Page, polished: Model) -> None:
    run = closed_form(polished.spectrum, init_scale=1e-6)
    end = scaled_range(run.vectors(np.inf)[:, [1, 2]])
    for moment, dim in ((0.9, 8), (1.2, 8), (1.2, 2)):
        ready = "document.querySelector('.time .words').dataset.time === arguments[0]"
        page.show("time", ready, f"{moment:.4f}", t=moment, d=dim, x=2, y=3)
        page.wait(
            "document.querySelector('.time output').textContent.includes(arguments[0])",
            f"d = {dim}:",
        )
        vectors = run.vectors(float(run.time(moment)))[:, [1, 2]]
        if dim == 2:
            vectors[:, 1] = 0
        found = np.array(page.drawn("time")["positions"]).reshape(-1, 2)
        assert found == pytest.approx(end(vectors), abs=1e-3)
    dots = page.run("return document.querySelectorAll('.time .chart circle').length")
    assert dots > 9, "the training run lies over the curves"
    table = page.saved("Save table", "time").splitlines()
    assert float(table[1].split(",")[3]) == pytest.approx(
        run.singular_values(float(run.time(1.2)))[0], rel=1e-6
    )


def scaled_range(places: Any) -> Any:
    """Return a function that scales places as the map does which shows these."""
    low, high = places.min(axis=0), places.max(axis=0)
    return lambda moved: (2 * moved - low - high) / (high - low)


def test_play_moves_the_time_and_stops(served: Page) -> None:
    served.show("time", "document.querySelector('.time .words').dataset.time === '0.5000'", t=0.5)
    served.press("▶ Play")
    served.wait("Number(document.querySelector('.time .words').dataset.time) > 0.5")
    served.press("❚❚ Pause")
    stopped = served.run("return document.querySelector('.time .words').dataset.time")
    served.drawn("time")
    assert served.run("return document.querySelector('.time .words').dataset.time") == stopped
