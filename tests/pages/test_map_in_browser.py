"""Maps in a real browser, served and in a file: words lie where they belong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from in_browser import WIDE, resize
from pages.page import TOPICS
from qwem.comparison import axis
from qwem.dynamics import closed_form

if TYPE_CHECKING:
    from pages.page import Page
    from qwem import Model
    from qwem.pages.models import PageModel


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


def test_words_lie_where_their_features_say(page: Page, opened: list[PageModel]) -> None:
    page.show(
        "map",
        "document.querySelector('.map .words').dataset.shown?.includes('3,2')",
        by="features",
        x=3,
        y=2,
    )
    drawn = page.drawn("map")
    space = opened[0].featured
    expected = scaled(space.vectors(slice(None))[:, [2, 1]])
    assert drawn["words"] == list(opened[0].vocabulary.words)
    found = np.array(drawn["positions"]).reshape(-1, 2)
    assert found == pytest.approx(expected, abs=1e-3)


def test_labels_never_overlap_and_grow_in_number(served: Page) -> None:
    ready = "document.querySelector('.map .words').dataset.shown?.includes('features')"
    served.show("map", ready, by="features")
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
    shown = {each["word"] for each in far}
    for _ in range(4):
        near = served.drawn("map", "+")
        assert not overlapping(near["labels"])
        shown |= {each["word"] for each in near["labels"]}
    assert len(shown) > len(far)
    assert near["position"][0] == pytest.approx(1.5**4)
    resize(served.browser, *WIDE)


def test_a_search_leaves_the_words_it_found(page: Page) -> None:
    page.show("map", TOPICS)
    page.enter(".map input[type=search]", "WORD1", "input")
    labels = {each["word"] for each in page.drawn("map")["labels"]}
    assert labels
    assert all("word1" in word for word in labels)
    assert page.text(".map .controls [role=status]") == "11 words"
    page.enter(".map input[type=search]", "", "input")
    assert any("word1" not in each["word"] for each in page.drawn("map")["labels"])


def test_a_word_is_chosen_by_a_click_and_several_by_a_loop(served: Page, polished: Model) -> None:
    from selenium.webdriver import ActionChains

    served.show("map", TOPICS)
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


def test_topics_are_named_on_the_map_in_colours(page: Page, opened: list[PageModel]) -> None:
    page.show("map", TOPICS)
    labels = page.drawn("map")["labels"]
    topics = opened[0].make_topics().topics
    titles = {topic["title"] for topic in topics if not topic["general"]}
    assert {each["word"] for each in labels if "row" not in each} == titles
    assert not overlapping(labels)
    places = np.array(page.drawn("map")["positions"]).reshape(-1, 2)
    assert np.abs(places).max(axis=0) == pytest.approx([1, 1], abs=1e-3), "it fills its frame"


@pytest.mark.parametrize(
    ("colour", "legend"),
    [("frequency", "How often"), ("feature", ","), ("topic", "Topics"),
     ("learned", "half grown"), ("moved", "Distance from the same word in closed")],
)  # fmt: skip
def test_colours_are_explained(served: Page, colour: str, legend: str) -> None:
    ready = "document.querySelector('.map [data-shown=' + arguments[0] + ']')"
    served.show("map", ready, colour, colour=colour)
    assert legend in served.text(".map .legend")


def test_a_topic_can_be_seen_alone(page: Page) -> None:
    page.show("map", "document.querySelector('.map .chip')")
    page.run("document.querySelector('.map .chip').click()")
    first = page.run("return document.querySelector('.map .chip').title")
    labels = {each["word"] for each in page.drawn("map")["labels"]}
    assert 1 <= len(labels) <= int(first.split()[0])
    assert page.run("return document.querySelector('.map .chip').ariaPressed") == "true"
    page.run("document.querySelector('.map .chip').click()")


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
    assert found == pytest.approx(expected, abs=0.06)
    page.enter(".map input[aria-label='Words at the left']", "")
    page.wait("document.querySelector('.map .stage .unknown')")
    assert "each end" in page.text(".map .stage .waiting")


def test_words_move_as_the_closed_form_says(page: Page, polished: Model) -> None:
    run = closed_form(polished.spectrum, init_scale=1e-6)
    end = scaled_range(run.vectors(np.inf)[:, [1, 2]])
    for moment, dim in ((0.9, 8), (1.2, 8), (1.2, 2)):
        ready = "document.querySelector('.training .words').dataset.time === arguments[0]"
        page.show("training", ready, f"{moment:.4f}", t=moment, d=dim, x=2, y=3)
        page.wait(f"document.querySelector('.training .replay').innerText.includes('d = {dim}')")
        vectors = run.vectors(float(run.time(moment)))[:, [1, 2]]
        if dim == 2:
            vectors[:, 1] = 0
        found = np.array(page.drawn("training")["positions"]).reshape(-1, 2)
        assert found == pytest.approx(end(vectors), abs=1e-3)
    dots = page.run("return document.querySelectorAll('.training .chart circle').length")
    assert dots > 9, "the training run lies over the curves"
    table = page.saved("Save table", "training").splitlines()
    assert float(table[1].split(",")[3]) == pytest.approx(
        run.singular_values(float(run.time(1.2)))[0], rel=1e-6
    )


def scaled_range(places: Any) -> Any:
    """Return a function that scales places as the map does which shows these."""
    low, high = places.min(axis=0), places.max(axis=0)
    return lambda moved: (2 * moved - low - high) / (high - low)


@pytest.mark.parametrize("view", ["overview", "training"])
@pytest.mark.parametrize("start", ["the end", "the middle"])
def test_play_moves_words_from_any_state(page: Page, view: str, start: str) -> None:
    box = f".{view} .replay .words"
    page.show(view, f"document.querySelector('{box}')?.dataset.time")
    if start == "the middle":
        page.enter(f".{view} .replay input[type=range]", 0.7, "input")
    else:
        end = page.run(f"return document.querySelector('.{view} .replay input[type=range]').max")
        page.enter(f".{view} .replay input[type=range]", end, "input")
    page.press("▶ Play", f".{view} .replay")
    first = page.wait(
        f"(() => {{ const t = Number(document.querySelector('{box}').dataset.time);"
        f" return t > {0.7 if start == 'the middle' else 0.05} && t < 2 ? t : 0; }})()"
    )
    before = moving(page, box)
    page.wait(f"Number(document.querySelector('{box}').dataset.time) > {first + 0.05}")
    assert np.abs(moving(page, box) - before).max() > 0
    page.press("❚❚ Pause", f".{view} .replay")
    stopped = page.run(f"return document.querySelector('{box}').dataset.time")
    moving(page, box)
    assert page.run(f"return document.querySelector('{box}').dataset.time") == stopped


def moving(page: Page, box: str) -> Any:
    """Where words are in the next frame that is drawn."""
    return np.array(
        page.browser.execute_async_script(
            "const [box, done] = arguments; const map = document.querySelector(box);"
            "map.addEventListener('drawn', ({ detail }) => done([...detail.positions]),"
            " { once: true }); map.dispatchEvent(new KeyboardEvent('keydown', { key: '0' }));",
            box,
        )
    )
