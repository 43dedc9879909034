"""The page in a real browser: what it shows is what the library computes."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from in_browser import PHONE, WIDE, entries, resize
from qwem.dynamics import closed_form
from qwem.interpretation import analyze_task, features, read_tasks
from report.drawings import PIXEL, drawing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome

    from qwem import Model

PAPER = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture
def opened(browser: Chrome, page: Path) -> Iterator[Chrome]:
    """The page; the test fails if anything complained or was fetched meanwhile."""
    with watched(browser, page) as driver:
        yield driver


@contextmanager
def watched(
    browser: Chrome, page: Path, *, afresh: bool = False, size: tuple[int, int] = WIDE
) -> Iterator[Chrome]:
    """Open a page, and look at the end that it neither complained nor fetched anything.

    A page that is open already stays as it is: opening takes longer than most tests.
    """
    resize(browser, *size)
    if afresh or browser.current_url != page.as_uri():
        for kind in ("browser", "performance"):
            entries(browser, kind)
        browser.get(page.as_uri())
    yield browser
    assert entries(browser, "browser") == []
    messages = [
        json.loads(entry["message"])["message"] for entry in entries(browser, "performance")
    ]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    fetched = {params["request"]["url"].partition("#")[0] for params in sent}
    assert {one for one in fetched if not one.startswith("data:")} <= {page.as_uri()}


def choose(browser: Chrome, name: str, value: object, event: str = "change") -> None:
    """Set a control of the replay as a user's hand would; the figures show it at once."""
    browser.execute_script(
        "const [name, value, event] = arguments;"
        "const control = document.getElementById('replay').elements[name];"
        "control.value = value;"
        "control.dispatchEvent(new Event(event, { bubbles: true }));",
        name, value, event,
    )  # fmt: skip


def shown_places(browser: Chrome) -> dict[str, tuple[float, float]]:
    """Every word in the replay's figure and where it is on the screen."""
    dots = drawing(browser, "latent").dots(named=True)
    return {dot["name"]: (float(dot["cx"]), float(dot["cy"])) for dot in dots}


def page_data(browser: Chrome) -> Any:
    return browser.execute_script(
        "return JSON.parse(document.getElementById('report-data').textContent)"
    )


def found(browser: Chrome, form: str) -> list[tuple[str, float]]:
    items = browser.find_elements("css selector", f"#{form}-found li")
    return [
        (
            item.find_element("class name", "word").get_attribute("textContent") or "",
            float(item.find_element("class name", "bar").text),
        )
        for item in items
    ]


def ask(browser: Chrome, form: str, **words: str) -> None:
    for name, word in words.items():
        field = browser.find_element("css selector", f"#{form} input[name={name}]")
        field.clear()
        field.send_keys(word)
    browser.find_element("css selector", f"#{form} button[type=submit]").click()


@pytest.mark.parametrize(("which", "axes"), [("model", (3, 2)), ("practical", (0, 1))])
def test_words_move_as_the_closed_form_says(
    which: str, axes: tuple[int, int], browser: Chrome, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(which)
    page: Path = request.getfixturevalue("page" if which == "model" else "practical_page")
    run = closed_form(model.spectrum, init_scale=1e-6)
    index = model.vocabulary.index
    seen, meant = [], []
    with watched(browser, page):
        choose(browser, "x", axes[0])
        choose(browser, "y", axes[1])
        for rescaled in (0.4, 1.0, 1.3):
            choose(browser, "time", rescaled, "input")
            value = browser.execute_script("return Number(replay.elements.time.value)")
            assert value == pytest.approx(rescaled, abs=0.01)
            words, places = zip(*shown_places(browser).items(), strict=True)
            assert len(words) > 50
            vectors = run.vectors(float(run.time(value)))[[index(word) for word in words]]
            seen.append(np.array(places))
            meant.append(vectors[:, list(axes)])
    assert np.all(np.diff([np.abs(places).max(axis=0) for places in meant], axis=0) > 0)
    # One scale for all times, to the right and up. The page has 16 bits for each number.
    for side, sign in ((0, 1), (1, -1)):
        slope, start = np.polyfit(meant[-1][:, side], seen[-1][:, side], 1)
        assert slope * sign > 0
        for on_screen, expected in zip(seen, meant, strict=True):
            off = slope * expected[:, side] + start - on_screen[:, side]
            assert np.abs(off).max() < 2 * PIXEL


def test_the_curves_follow_the_slider(opened: Chrome, model: Model) -> None:
    run = closed_form(model.spectrum, init_scale=1e-6)
    choose(opened, "time", 1.2, "input")
    value = float(opened.execute_script("return Number(replay.elements.time.value)"))
    assert value == pytest.approx(1.2, abs=0.01)
    shown = drawing(opened, "curves")
    strengths = run.singular_values(run.time(value))
    dots = shown.dots(named=False)
    heights = [float(dot["cy"]) for dot in dots]
    assert heights == pytest.approx(shown.up(strengths).tolist(), abs=PIXEL)
    now = shown.across(value)
    assert [float(dot["cx"]) for dot in dots] == pytest.approx([now] * len(dots), abs=PIXEL)
    last = float(opened.execute_script("return Number(replay.elements.time.max)"))
    grid = np.linspace(0, last, 161)
    first = shown.line(-1)  # the strongest feature is drawn on top
    assert np.abs(first[:, 0] - shown.across(grid)).max() < PIXEL
    expected = shown.up(run.singular_values(run.time(grid))[:, 0])
    assert np.abs(first[:, 1] - expected).max() < PIXEL
    learned = int(run.effective_rank(run.time(value)))
    assert f"{learned} of 10 features" in opened.find_element("id", "now").text


def test_play_moves_the_time_and_stops(opened: Chrome) -> None:
    time = "return Number(replay.elements.time.value)"
    choose(opened, "time", 0.5, "input")
    start = opened.execute_script(time)
    button = opened.find_element("name", "play")
    button.click()
    opened.execute_async_script(
        "const [start, done] = arguments;"
        "const look = () => (replay.elements.time.value > start ? done() : setTimeout(look, 20));"
        "look();",
        start,
    )
    assert "Pause" in button.text
    button.click()
    stopped = opened.execute_script(time)
    assert stopped > start
    opened.execute_async_script("setTimeout(arguments[0], 200)")
    assert opened.execute_script(time) == stopped


def test_a_followed_word_is_always_shown(opened: Chrome, model: Model) -> None:
    choose(opened, "follow", "word100")
    large = [text for text in drawing(opened, "latent").all("text") if text["font-size"] == "15"]
    assert [text["text"] for text in large] == ["word100"]


@pytest.mark.parametrize("which", ["model", "practical"])
def test_neighbours_are_the_librarys(
    which: str, browser: Chrome, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(which)
    page: Path = request.getfixturevalue("page" if which == "model" else "practical_page")
    embedding = model.embedding()
    with watched(browser, page):
        for word in ("word3", "it's", "</script><script>alert(1)</script>"):
            ask(browser, "neighbours", word=word)
            shown = found(browser, "neighbours")
            assert len(shown) == 10
            exact = dict(embedding.most_similar(word, topn=len(embedding)))
            assert [cosine for _, cosine in shown] == pytest.approx(
                [exact[other] for other, _ in shown], abs=0.02
            )
            assert min(exact[other] for other, _ in shown) >= sorted(exact.values())[-10] - 0.02


def test_analogies_are_the_librarys(opened: Chrome, model: Model) -> None:
    ask(opened, "analogy", a="word3", b="word5", c="word8")
    shown = found(opened, "analogy")
    exact = dict(model.embedding().analogy("word3", "word5", "word8", topn=200))
    assert len(shown) == 10
    assert not {"word3", "word5", "word8"} & {word for word, _ in shown}
    assert [cosine for _, cosine in shown] == pytest.approx(
        [exact[word] for word, _ in shown], abs=0.02
    )


def test_a_neighbour_leads_to_its_own_neighbours(opened: Chrome, model: Model) -> None:
    ask(opened, "neighbours", word="word3")
    nearest = found(opened, "neighbours")[0][0]
    opened.find_element("css selector", "#neighbours-found button.word").click()
    word = opened.find_element("css selector", "#neighbours input").get_property("value")
    assert word == nearest
    assert "word3" in [other for other, _ in found(opened, "neighbours")]


def test_an_unknown_word_is_said_to_be_unknown(opened: Chrome) -> None:
    ask(opened, "neighbours", word="wrd33")
    message = opened.find_element("id", "neighbours-found").text
    assert "“wrd33” is not among the words" in message
    assert "word33" in message
    ask(opened, "analogy", a="word3", b="<i>nothing</i>", c="word8")
    assert "<i>nothing</i>" in opened.find_element("id", "analogy-found").text


def test_words_are_suggested_while_typing(opened: Chrome) -> None:
    opened.find_element("css selector", "#neighbours input").clear()
    opened.find_element("css selector", "#neighbours input").send_keys("WORD10")
    offered = opened.execute_script(
        "return [...document.getElementById('suggestions').options].map(option => option.value)"
    )
    assert offered
    assert all(word.startswith("word10") for word in offered)


def test_a_chosen_relation_is_drawn(
    browser: Chrome, practical_page: Path, practical: Model, relations: Path
) -> None:
    with watched(browser, practical_page):
        for row, relation in enumerate(read_tasks(relations)):
            analysis = analyze_task(practical.spectrum.embedding(), relation)
            browser.execute_script(
                "const menu = document.getElementById('task').elements.task;"
                "menu.value = arguments[0];"
                "menu.dispatchEvent(new Event('change', { bubbles: true }));",
                row,
            )
            fit = analysis.fits[-1]
            gram, signal = drawing(browser, "gram"), drawing(browser, "snr")
            (spike,) = gram.dots(named=True)
            assert float(spike["cx"]) == pytest.approx(float(gram.across(fit.spike)), abs=PIXEL)
            xs, ys = page_data(browser)["tasks"][row]["density"]
            assert ys == pytest.approx(fit.distribution.density(xs).tolist())
            top = float(gram.up(0)) / float(np.diff(gram.up([1, 0]))[0])  # what is above is cut off
            low = np.array(ys) < top
            assert np.abs(gram.line(0)[low, 0] - gram.across(xs)[low]).max() < PIXEL
            assert np.abs(gram.line(0)[low, 1] - gram.up(ys)[low]).max() < PIXEL
            bars = gram.all("rect")
            area = sum(float(bar["height"]) * (float(bar["width"]) + 1) for bar in bars)
            unit = float(np.diff(gram.across([0, 1]))[0] * np.diff(gram.up([1, 0]))[0])
            assert area == pytest.approx(unit, rel=0.01)
            dots = signal.dots(named=True)
            assert [float(dot["cx"]) for dot in dots] == pytest.approx(
                signal.across(analysis.dims, log=True).tolist(), abs=PIXEL
            )
            assert [float(dot["cy"]) for dot in dots] == pytest.approx(
                signal.up(analysis.snr).tolist(), abs=PIXEL
            )
            assert "word1 → word" in browser.find_element("id", "task-words").text


def test_hostile_words_are_shown_and_nothing_else(opened: Chrome) -> None:
    assert opened.find_element("tag name", "h1").text == "A <model>"
    assert opened.execute_script("return document.scripts.length") == 2
    choose(opened, "follow", "<b>bold</b>")
    assert "<b>bold</b>" in [text["text"] for text in drawing(opened, "latent").all("text")]


def test_a_dot_says_its_name_when_it_is_pressed(opened: Chrome, model: Model) -> None:
    from selenium.webdriver import ActionChains

    dot = opened.find_elements("css selector", "#spectrum circle")[1]
    opened.execute_script("arguments[0].scrollIntoView({ block: 'center' })", dot)
    ActionChains(opened).move_to_element_with_offset(dot, 9, 7).click().perform()
    tip = opened.find_element("class name", "chart-tip")
    assert tip.text.startswith("Feature 2: |λ| = ")
    assert all(word in tip.text for word, _ in features(model.spectrum, 2).features[1].positive[:6])
    opened.execute_script("document.body.click()")
    assert not tip.is_displayed()


def test_dark_and_light(opened: Chrome) -> None:
    ink = "return getComputedStyle(document.querySelector('#curves text')).fill"
    before = opened.execute_script(PAPER), opened.execute_script(ink)
    opened.find_element("id", "theme").click()
    after = opened.execute_script(PAPER), opened.execute_script(ink)
    assert before[0] != after[0]
    assert before[1] != after[1]
    opened.find_element("id", "theme").click()
    assert (opened.execute_script(PAPER), opened.execute_script(ink)) == before


def test_the_system_chooses_dark_first(browser: Chrome, page: Path) -> None:
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    try:
        with watched(browser, page, afresh=True):
            assert browser.find_element("id", "theme").text == "Light"
            paper = browser.execute_script(PAPER)
            assert sum(map(int, re.findall(r"\d+", paper))) < 150
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_telephone_needs_no_sideways_scrolling(browser: Chrome, page: Path) -> None:
    with watched(browser, page, afresh=True, size=PHONE):
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width == PHONE[0]


def test_controls_have_names_and_take_keys(opened: Chrome) -> None:
    nameless = opened.execute_script(
        "return [...document.querySelectorAll('input, select, button')]"
        ".filter(e => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length"
    )
    assert nameless == 0
    slider = opened.find_element("name", "time")
    choose(opened, "time", 1.0, "input")
    slider.send_keys("\ue012" * 5)  # the left arrow key
    assert float(str(slider.get_property("value"))) < 1.0
    assert slider.get_attribute("aria-valuetext") == opened.find_element("id", "now").text[:11]


def test_the_page_can_be_printed_and_keeps_its_theme(opened: Chrome) -> None:
    opened.find_element("id", "theme").click()
    printed = opened.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    assert len(printed["data"]) > 20_000
    assert opened.execute_script("return document.documentElement.dataset.theme") == "dark"


def test_a_screenshot_is_not_blank(opened: Chrome, tmp_path: Path) -> None:
    file = tmp_path / "page.png"
    assert opened.save_screenshot(str(file))
    assert file.stat().st_size > 10_000
