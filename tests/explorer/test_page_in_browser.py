"""The explorer in a real browser, served and exported: it shows what the library computes."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from explorer.conftest import HOSTILE, TOKEN
from in_browser import PHONE, WIDE, entries, resize
from qwem.comparison import axis, stability
from qwem.dynamics import closed_form
from qwem.explorer import build_app, load_models, write_page
from qwem.explorer.server import listen
from qwem.interpretation import features
from qwem.training import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

    import qwem
    from qwem import Model
    from qwem.explorer import Explored

VIEWS = ("map", "time", "features", "word", "analogies", "concepts", "axes", "compare")
PAIRS = ",".join(f"word{i} word{i + 9}" for i in range(8))


@pytest.fixture(scope="module")
def opened(
    polished: Model,
    closed: Model,
    counts: qwem.Cooccurrence,
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Explored]:
    """Three models from disk: one with counts and a training run, another, and a stable one."""
    directory = tmp_path_factory.mktemp("models")
    polished.save(directory / "polished")
    closed.save(directory / "closed")
    run = closed_form(polished.spectrum, init_scale=1e-6)
    times = run.time(np.linspace(0, 2, 9))
    Trace(
        polished.vocabulary, {}, np.arange(9), times, run.loss(times), run.singular_values(times),
        np.full(9, np.nan), {8: (np.zeros((len(polished.vocabulary), 8)),)},
    ).save(directory / "run")  # fmt: skip
    texts = ["the king and the queen", "the duke and the lady", "a cat and a dog"] * 9
    stability(texts, folds=4, dim=2).save(directory / "stable")
    models = [directory / name for name in ("polished", "closed", "stable")]
    found = load_models(models, trace=directory / "run")
    found[0].counts = counts
    return found


@pytest.fixture(scope="module")
def address(opened: list[Explored]) -> Iterator[str]:
    """The address of a running server, with its token."""
    uvicorn = pytest.importorskip("uvicorn")
    with listen() as listening:
        port = int(listening.getsockname()[1])
        app = build_app(opened, token=TOKEN, port=port)
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="warning", lifespan="off", ws="none", access_log=False)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{port}/?token={TOKEN}"
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="module")
def exported(opened: list[Explored], tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_page(opened, tmp_path_factory.mktemp("page") / "page.html").as_uri()


@pytest.fixture
def served(browser: Chrome, address: str) -> Iterator[Page]:
    with watched(browser, address) as page:
        yield page


@pytest.fixture(params=["served", "exported"])
def page(request: pytest.FixtureRequest, browser: Chrome) -> Iterator[Page]:
    """The page from the server, and the page in a file."""
    which = "address" if request.param == "served" else "exported"
    with watched(browser, request.getfixturevalue(which)) as opened_page:
        yield opened_page


class Page:
    """The explorer in a browser."""

    def __init__(self, browser: Chrome, address: str) -> None:
        self.browser = browser
        self.address = address

    def run(self, script: str, *arguments: Any) -> Any:
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition: str, *arguments: Any) -> Any:
        """Wait until an expression is true, and return it."""
        return self.browser.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            f"const look = () => {{ const found = ({condition}); "
            "found ? done(found) : setTimeout(look, 20); };"
            "look();",
            *arguments,
        )

    def show(
        self, view: str, condition: str = "true", *arguments: Any, visible: str = "", **values: Any
    ) -> None:
        """Go to a view by its address, as somebody does who was sent it."""
        self.run(
            "const [view, values] = arguments;"
            "const given = new URLSearchParams(Object.entries(values));"
            "location.hash = `#${view}${given.size ? `?${given}` : ''}`;",
            view,
            {name: str(value) for name, value in values.items()},
        )
        visible = visible or view
        shown = f"document.querySelector('.view.{visible}:not([hidden])') && ({condition})"
        self.wait(shown, *arguments)

    def press(self, text: str, inside: str = "main") -> None:
        """Press the visible button of that text."""
        self.run(
            "const [text, inside] = arguments;"
            "[...document.querySelectorAll(`${inside} button`)]"
            ".find((each) => each.textContent === text && each.offsetParent).click();",
            text,
            inside,
        )

    def enter(self, selector: str, value: object, event: str = "change") -> None:
        """Set a control as a user's hand would."""
        self.run(
            "const [selector, value, event] = arguments;"
            "const control = document.querySelector(selector);"
            "control.value = value;"
            "control.dispatchEvent(new Event(event, { bubbles: true }));",
            selector,
            str(value),
            event,
        )

    def text(self, selector: str) -> str:
        return self.run("return document.querySelector(arguments[0]).innerText", selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)",
            selector,
        )

    def drawn(self, view: str, key: str = "") -> dict[str, Any]:
        """What the map of a view draws next, perhaps after a key."""
        return self.browser.execute_async_script(
            "const [view, key, done] = arguments;"
            "const box = document.querySelector(`.${view} .words`);"
            "box.addEventListener('drawn', ({ detail: map }) => done({"
            "  words: map.words, positions: [...map.positions], sight: map.sight,"
            "  labels: map.labels.map((each) => ({ ...each, word: map.words[each.row] })),"
            "  pixels: map.words.map((_, row) => map.pixel(row)),"
            "}), { once: true });"
            "box.dispatchEvent(new KeyboardEvent('keydown', { key: key || '0' }));",
            view,
            key,
        )

    def saved(self, text: str, view: str) -> str:
        """Press a button that saves something, and return what would be saved."""
        return self.browser.execute_async_script(
            "const [text, view, done] = arguments;"
            "const { createObjectURL } = URL;"
            "URL.createObjectURL = (blob) => {"
            "  URL.createObjectURL = createObjectURL;"
            "  if (blob.type === 'image/png') done(`png ${blob.size}`);"
            "  else blob.text().then(done);"
            "  return 'data:,';"
            "};"
            "[...document.querySelectorAll(`.${view} .save button`)]"
            ".find((each) => each.textContent === text).click();",
            text,
            view,
        )


@contextmanager
def watched(
    browser: Chrome, address: str, *, size: tuple[int, int] = WIDE, dark: bool = False
) -> Iterator[Page]:
    """Open the explorer, and look at the end that nothing complained and nothing went elsewhere."""
    browser.set_script_timeout(120)
    resize(browser, *size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    home = address.partition("?")[0]
    if browser.current_url.partition("#")[0] != home:
        for kind in ("browser", "performance"):
            entries(browser, kind)
        browser.get(address)
    found = Page(browser, address)
    found.wait("document.querySelector('.view')")
    found.run("document.documentElement.removeAttribute('data-theme')")
    yield found
    # The browser tells of every refusal of the server, which the page shows as a sentence.
    assert [each for each in entries(browser, "browser") if each["source"] != "network"] == []
    messages = [json.loads(each["message"])["message"] for each in entries(browser, "performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    elsewhere = {each["request"]["url"] for each in sent}
    assert not [each for each in elsewhere if not each.startswith((home, "data:", "blob:"))]


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


def test_cards_have_the_words_of_features(page: Page, polished: Model) -> None:
    page.show("features", "document.querySelectorAll('.card').length === 8", space="closed")
    table = features(polished.spectrum, 8).features
    for feature in (table[0], table[5]):
        selector = f".card[data-rank='{feature.rank}'] .positive .word"
        assert page.texts(selector) == [word for word, _ in feature.positive][:10]
    page.enter(".features input[type=search]", table[0].positive[0][0], "input")
    assert 1 <= page.run("return document.querySelectorAll('.card').length") <= 8
    page.enter(".features input[type=search]", "", "input")
    page.run("document.querySelector('.card[data-rank=\"4\"] .save button').click()")
    page.wait("document.querySelector('.map .axis.across')?.textContent.includes('feature 4')")
    page.show(
        "map", "document.querySelector('#which label:last-child select').value === 'polished'"
    )


def test_a_name_is_kept_with_the_model(served: Page, opened: list[Explored]) -> None:
    served.show("features", "document.querySelectorAll('.card').length === 8")
    name = "<b>people</b>"
    served.enter(".card[data-rank='2'] .naming input", name)
    served.run("document.querySelector('.card[data-rank=\"2\"] .naming button').click()")
    served.wait(
        "document.querySelector('.card[data-rank=\"2\"] h2').textContent === arguments[0]",
        f"2: {name}",
    )
    assert served.texts(".card b") == []
    served.browser.refresh()
    served.wait("document.querySelectorAll('.card').length === 8")
    assert served.texts(".card[data-rank='2'] h2") == [f"2: {name}"]


def test_names_can_not_be_changed_in_a_file(browser: Chrome, exported: str) -> None:
    with watched(browser, exported) as page:
        page.show("features", "document.querySelectorAll('.card').length === 8")
        assert page.texts(".naming") == []


def test_neighbours_change_with_the_dials(page: Page, polished: Model) -> None:
    run = closed_form(polished.spectrum, init_scale=1e-6)
    for dim, moment in ((8, None), (3, None), (5, 1.1)):
        given: dict[str, Any] = {"word": "word7", "space": "closed"}
        given |= {} if dim == 8 else {"d": dim}
        given |= {} if moment is None else {"t": moment}
        shown = json.dumps(["word7", dim, moment]).replace(" ", "")
        ready = "document.querySelector('#word-neighbours')?.dataset.shown === arguments[0]"
        page.show("word", ready, shown, **given)
        at = np.inf if moment is None else float(run.time(moment))
        embedding = run.embedding(at, dim)
        exact = dict(embedding.most_similar("word7", topn=len(embedding)))
        words = page.texts("#word-neighbours .word")
        cosines = [float(text) for text in page.texts("#word-neighbours .bar")]
        assert len(words) == 12
        assert cosines == pytest.approx([exact[word] for word in words], abs=0.02)
        assert min(cosines) >= sorted(exact.values())[-12] - 0.02
    page.show(
        "map", "document.querySelector('#which label:last-child select').value === 'polished'"
    )


def test_a_word_has_collocates_features_and_reasons(page: Page, polished: Model) -> None:
    page.show(
        "word", "document.querySelectorAll('.word .chart svg').length === 2",
        **{"word": "word7", "with": "word8"},
    )  # fmt: skip
    page.wait("document.querySelector('.word .answer').textContent.includes('word8')")
    cosine = polished.embedding().similarity("word7", "word8")
    found = re.search(r"is (−?[\d.]+)\. It", page.text(".word .answer"))
    assert found is not None
    assert float(found[1].replace("−", "-")) == pytest.approx(cosine, abs=0.01)
    page.wait("document.querySelectorAll('#word-collocates .word').length > 2")
    rows = page.saved("Save table", "word").splitlines()
    shares = [row.split(",") for row in rows[rows.index("feature,coordinate,share") + 1 :]]
    assert sum(float(row[2]) for row in shares) == pytest.approx(1)
    assert "<svg" in page.saved("Save picture", "word")


def test_neighbours_say_how_sure_they_are(served: Page) -> None:
    near = "document.querySelector('#word-neighbours .note')?.textContent.includes('4 replicates')"
    served.show("word", near, model=2, word="king")
    bars = served.texts("#word-neighbours .bar")
    assert bars
    for bar in bars:
        found = re.fullmatch(r"(-?[\d.]+) \((-?[\d.]+) to (-?[\d.]+)\)", bar)
        assert found is not None, bar
        cosine, low, high = map(float, found.groups())
        assert low <= cosine <= high
    served.show("map", "document.querySelector('#which select').value === '0'")


def test_analogies_are_the_librarys(page: Page, polished: Model) -> None:
    ready = "document.querySelector('#analogy-answers').dataset.shown === 'word3 word5 word8'"
    page.show("analogies", ready, a="word3", b="word5", c="word8")
    words = page.texts("#analogy-answers .found .word")
    exact = dict(polished.embedding().analogy("word3", "word5", "word8", topn=90))
    cosines = [float(text) for text in page.texts("#analogy-answers .bar")]
    assert len(words) == 10
    assert cosines == pytest.approx([exact[word] for word in words], abs=0.02)
    page.show(
        "analogies",
        "document.querySelector('#analogy-answers .unknown')",
        a="wrd33",
        b="word5",
        c="word8",
    )
    assert "word33" in page.text("#analogy-answers")


def test_a_relation_is_tested_and_drawn(served: Page) -> None:
    served.show("concepts", "document.querySelectorAll('.concept svg').length === 3", pairs=PAIRS)
    assert served.text(".concept .verdict")
    assert "p = " in served.text(".concept")
    assert served.run("return document.querySelectorAll('.concept tbody tr').length") == 8
    assert "NaN" not in served.run("return document.querySelector('.concept').innerHTML")
    served.show("concepts", "document.querySelector('.concept .unknown')", pairs="word1 word2")
    assert served.text(".concept .unknown")


def test_an_axis_has_words_at_both_ends(page: Page, polished: Model) -> None:
    ready = "document.querySelector('.axes [data-shown=\"word1 word2 → word3\"]')"
    page.show("axes", ready, **{"from": "word1 word2", "to": "word3"})
    found = axis(polished.embedding(), ["word3"], ["word1", "word2"]).ends(10)
    rows = [row.split(",") for row in page.saved("Save table", "axes").splitlines()[1:]]
    assert {row[0] for row in rows[:3]} <= {each.word for each in found.words}
    assert float(rows[0][1]) > 0 > float(rows[-1][1])
    page.press("Show across the map")
    page.wait("document.querySelector('.map .axis.across')?.textContent.includes('word3')")


def test_two_models_are_compared(page: Page) -> None:
    ready = "document.querySelector('.compare [data-shown=\"0\"] tbody tr')"
    page.show("compare", ready, least=0)
    page.wait("document.querySelectorAll('.compare svg rect').length === 64")
    assert "90 words are in both" in page.text(".compare")
    word = page.texts(".compare td .word")[2]
    page.run("document.querySelectorAll('.compare td .word')[2].click()")
    page.wait("document.querySelector('.compare .columns').dataset.shown === arguments[0]", word)
    assert len(page.texts(".compare .columns .found li")) == 20


def test_hostile_words_are_text_in_every_view(page: Page) -> None:
    image = HOSTILE[0]
    page.show(
        "word",
        "document.querySelector('.theword')?.textContent === arguments[0]",
        image,
        word=image,
    )
    page.show(
        "map",
        "document.querySelector('.map .aside h2')?.textContent === arguments[0]",
        image,
        word=image,
    )
    labels = {each["word"] for each in page.drawn("map")["labels"]}
    assert image in labels
    page.show(
        "analogies",
        "document.querySelector('#analogy-answers')?.dataset.shown?.includes('onerror')",
        a=image,
        b="word5",
        c="it's",
    )
    assert image in page.text("#analogy-answers")
    assert page.run("return document.querySelectorAll('main img, main script').length") == 0
    for name in ("constructor", "__proto__"):
        ready = "document.querySelector('.theword')?.textContent === arguments[0]"
        page.show("word", ready, name, word=name)
        page.wait("document.querySelectorAll('#word-collocates .word').length > 2")


def test_every_view_can_be_used_by_keyboard_and_on_a_telephone(page: Page) -> None:
    resize(page.browser, *PHONE)
    for view in VIEWS:
        page.show(view, "document.querySelector('.view:not([hidden]) h1')")
        nameless = page.run(
            "const controls = 'input, select, button, textarea, [tabindex=\"0\"]';"
            "return [...document.querySelectorAll(controls)]"
            ".filter((e) => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length"
        )
        assert nameless == 0, view
        assert page.run("return document.documentElement.scrollWidth") == PHONE[0], view
        assert page.run("return document.querySelectorAll('[aria-current=page]').length") == 1
    resize(page.browser, *WIDE)


def test_the_address_brings_back_what_was_shown(served: Page) -> None:
    served.show(
        "map", "document.querySelector('.map .words').dataset.shown?.includes('3,4')", x=3, y=4
    )
    served.drawn("map", "+")
    served.enter(".map input[type=search]", "word2", "input")
    served.wait("location.hash.includes('at=1.5') && location.hash.includes('find=word2')")
    served.browser.refresh()
    served.wait("document.querySelector('.map .words')?.dataset.shown?.includes('3,4')")
    assert served.drawn("map", "-")["sight"][0] == pytest.approx(1.0)
    assert served.run("return document.querySelector('.map input[type=search]').value") == "word2"


def test_a_view_is_found_as_it_was_left(page: Page) -> None:
    shown = "document.querySelector('.map .words').dataset.shown?.includes('4,5')"
    page.show("map", shown, x=4, y=5)
    page.enter(".map input[type=search]", "word3", "input")
    page.wait("location.hash.includes('find=word3')")
    page.run("document.querySelector('#views a[href=\"#axes\"]').click()")
    page.wait("document.querySelector('.view.axes:not([hidden])')")
    page.run("document.querySelector('#views a[href=\"#map\"]').click()")
    page.wait("document.querySelector('.view.map:not([hidden])')")
    assert page.run("return document.querySelector('.map input[type=search]').value") == "word3"
    assert "find=word3" in page.run("return location.hash")
    page.show("constructor", "document.querySelector('.view.map:not([hidden])')", visible="map")


def test_a_search_can_be_followed_by_enter(page: Page) -> None:
    page.show("map", "document.querySelector('.map .words').dataset.shown")
    field = page.browser.find_element("css selector", ".map input[type=search]")
    field.send_keys("word33\ue007")
    page.wait("document.querySelector('.map .aside h2')?.textContent === 'word33'")


def test_pictures_are_saved_with_their_labels(page: Page) -> None:
    page.show("map", "document.querySelector('.map .words').dataset.shown")
    kind, size = page.saved("Save picture", "map").split()
    assert kind == "png"
    assert int(size) > 5_000
    page.show("features", "document.querySelector('.features svg')")
    assert "eigenvalue" in page.saved("Save picture", "features")


def test_a_fine_screen_gets_a_fine_picture(served: Page) -> None:
    served.show("map", "document.querySelector('.map .words').dataset.shown")
    wide, tall = WIDE
    screen = {"width": wide, "height": tall, "deviceScaleFactor": 2, "mobile": False}
    served.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    served.run("document.querySelector('.map .words').style.width = '400px'")
    served.drawn("map", "+")
    # Where drawing is slow, a picture in motion is coarse, and the one at rest is fine.
    served.wait("document.querySelector('.map .words canvas').width === 800")
    assert served.run("return document.querySelectorAll('.map .words canvas')[1].width") == 800
    served.run("document.querySelector('.map .words').style.width = ''")
    resize(served.browser, *WIDE)
    served.drawn("map")


def test_dark_and_light(browser: Chrome, exported: str) -> None:
    paper = "return getComputedStyle(document.body).backgroundColor"
    with watched(browser, exported, dark=True) as page:
        page.show("map", "document.querySelector('.map .words').dataset.shown")
        dark = page.run(paper)
        assert page.text("#theme") == "Light"
        page.run("document.getElementById('theme').click()")
        assert page.run(paper) != dark
        pixel = page.browser.execute_async_script(
            "const [done] = arguments;"
            "const box = document.querySelector('.map .words');"
            "const look = () => done([...box.querySelector('canvas').getContext('2d')"
            "  .getImageData(2, 2, 1, 1).data]);"
            "box.addEventListener('drawn', look, { once: true });"
            "box.dispatchEvent(new KeyboardEvent('keydown', { key: '0' }));"
        )
        assert min(pixel) > 200
