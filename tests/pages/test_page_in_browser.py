"""The pages in a real browser, served and in a file: they show what the library computes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from in_browser import PHONE, WIDE, resize
from pages.conftest import HOSTILE
from pages.page import TOPICS, watched
from qwem import Model
from qwem.cli import main
from qwem.comparison import axis
from qwem.corpus.vocabulary import close_spellings
from qwem.dynamics import closed_form
from qwem.interpretation import features
from qwem.pages.writing import join_modules

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from pages.page import Page
    from qwem.pages.models import PageModel

VIEWS = ("overview", "map", "word", "analogies", "relations", "axes", "features", "training")
PAIRS = ",".join(f"word{i} word{i + 9}" for i in range(8))


def test_the_overview_has_its_parts(page: Page) -> None:
    page.show("overview", "document.querySelector('.overview .words').dataset.shown === 'topics'")
    assert page.text(".overview h1") == "Words"
    headings = page.texts(".overview .part > h2")
    assert headings[0] == "The topics of the text"
    assert headings[-1] == "How it was made"
    page.wait("document.querySelector('.overview #different .word')")
    page.wait("!document.querySelector('.overview .waiting')")
    assert "function words" in page.text(".overview .lead")


def test_features_read_the_same_in_four_places(
    page: Page, opened: list[PageModel], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(opened[0].path)
    table = features(Model.load(path), 8).features
    assert main(["features", path, "--count", "8", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["features"]
    assert [each["title"] for each in printed] == [each.title for each in table]
    for view in ("overview", "features"):
        page.show(view, f"document.querySelector('.{view} .card[data-rank]')")
        if view == "features":
            page.run("const box = document.querySelector('.features [type=checkbox]');"
                     "if (box.checked) box.click()")  # fmt: skip
        for rank in page.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.dataset.rank)",
            f".{view} .card[data-rank]",
        ):
            card = f".{view} .card[data-rank='{rank}']"
            feature = table[int(rank) - 1]
            assert page.texts(f"{card} .positive .word") == [word for word, _ in feature.positive]
            assert page.texts(f"{card} .negative .word") == [word for word, _ in feature.negative]
            assert page.texts(f"{card} .positive .cosine") == [
                f"{c:.2f}" for _, c in feature.positive
            ]
            assert page.texts(f"{card} h3") == [feature.title]
            (facts,) = page.texts(f"{card} .facts")
            assert f"{feature.share:.1%} of the spectrum" in facts
            assert f"carried by {feature.participation:,.0f} words" in facts
            assert feature.learning_time is not None
            assert f"t = {feature.learning_time:.3g}," in facts
    assert page.run("return document.querySelectorAll('.features .card').length") == 8


def test_features_are_found_by_their_words_and_shown_on_the_map(
    page: Page, polished: Model
) -> None:
    page.show("features", "document.querySelector('.features .card')")
    page.enter(
        ".features input[type=search]", features(polished, 1).features[0].positive[0][0], "input"
    )
    assert 1 <= page.run("return document.querySelectorAll('.features .card').length") <= 8
    page.enter(".features input[type=search]", "", "input")
    page.run("document.querySelector('.features .card[data-rank=\"4\"] .save button').click()")
    page.wait("document.querySelector('.map .axis.across')?.textContent.includes('feature 4')")


def test_a_name_is_kept_with_the_model(served: Page) -> None:
    card = ".features .card[data-rank='2']"
    served.show("features", f'document.querySelector("{card}")')
    name = "<b>people</b>"
    served.enter(f"{card} .naming input", name)
    served.run("document.querySelector(arguments[0]).click()", f"{card} .naming button")
    served.wait(
        "document.querySelector(arguments[0]).textContent === arguments[1]", f"{card} h3", name
    )
    assert served.texts(".card b") == []
    served.browser.refresh()
    served.wait(f'document.querySelector("{card}")')
    assert served.texts(f"{card} h3") == [name]
    served.enter(f"{card} .naming input", "")
    served.run("document.querySelector(arguments[0]).click()", f"{card} .naming button")
    served.wait(
        "document.querySelector(arguments[0]).textContent !== arguments[1]", f"{card} h3", name
    )


def test_names_can_not_be_changed_in_a_file(browser: Chrome, exported: str) -> None:
    with watched(browser, exported) as page:
        page.show("features", "document.querySelector('.features .card')")
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


def test_reasons_add_up_to_the_similarity(page: Page, polished: Model) -> None:
    page.show(
        "word", "document.querySelectorAll('.word .chart svg').length === 2",
        **{"word": "word7", "with": "word8"},
    )  # fmt: skip
    page.wait("document.querySelector('.word .answer').textContent.includes('word8')")
    cosine = polished.embedding().similarity("word7", "word8")
    found = re.search(r"is (−?[\d.]+)\. Both", page.text(".word .answer"))
    assert found is not None
    assert float(found[1].replace("−", "-")) == pytest.approx(cosine, abs=0.02)
    bars = ".word section[aria-label^=Why] svg text"
    texts = page.texts(bars)
    parts = [float(text.replace("−", "-")) for text in texts[1::2]]
    assert texts[-2] == "the rest"
    assert sum(parts) == pytest.approx(float(found[1].replace("−", "-")), abs=0.006)
    assert {"word7", "word8"}.isdisjoint(texts[::2])


def test_a_word_has_collocates_features_and_sentences(page: Page) -> None:
    ready = "document.querySelectorAll('#word-collocates .word').length > 2"
    page.show("word", ready, word="word7")
    page.wait("document.querySelector('.word .chart svg')")
    page.wait("document.querySelector('#word-sentences').dataset.shown === 'word7'")
    rows = page.saved("Save table", "word").splitlines()
    first, last = (rows.index(head) for head in ("feature,coordinate,share", "before,word,after"))
    shares = [row.split(",") for row in rows[first + 1 : last]]
    assert len(rows) > last + 1
    assert sum(float(row[2]) for row in shares) == pytest.approx(1, abs=0.02)
    assert "<svg" in page.saved("Save SVG", "word")
    assert set(page.texts("#word-sentences b")) == {"word7"}
    ready = "document.querySelector('#word-sentences').dataset.shown === 'word7 word8'"
    page.show("word", ready, **{"word": "word7", "with": "word8"})
    for line in page.texts("#word-sentences li"):
        assert "word7" in line


def test_an_unknown_word_has_close_spellings_to_press(page: Page) -> None:
    page.show("word", "document.querySelector('#word-neighbours .unknown .word')", word="wrd33")
    assert page.text("#word-neighbours").count("wrd33") == 1
    page.run("document.querySelector('#word-neighbours .unknown .word').click()")
    page.wait("document.querySelector('.theword').textContent.startsWith('word')")


@pytest.mark.parametrize("typed", ["wrd33", "Wrd33", "wodr5", "wxyd12", "rod7", "w1ord2x", "qqqq"])
def test_close_spellings_are_those_of_the_command_line(
    page: Page, opened: list[PageModel], typed: str
) -> None:
    words = Model.load(str(opened[0].path)).vocabulary
    page.show(
        "word",
        f"document.querySelector('#word-neighbours')?.textContent.includes('“{typed}”')",
        word=typed,
    )
    shown = page.texts("#word-neighbours .unknown .word")
    assert shown == close_spellings(typed, {word: place for place, word in enumerate(words)})


def test_the_typed_word_is_suggested_first(page: Page) -> None:
    page.show("word", "document.querySelector('.word form input')")
    page.enter(".word form input", "word1", "input")
    options = page.run(
        "return [...document.querySelectorAll('#suggestions option')].map((o) => o.value)"
    )
    assert options[0] == "word1"
    assert {option[:5] for option in options} == {"word1"}


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
    words = page.texts(".analogies .follow")
    exact = dict(polished.embedding().analogy("word3", "word5", "word8", topn=90))
    cosines = [float(text) for text in page.texts(".analogies .chart text:not(.follow)")]
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
    served.show("relations", "document.querySelectorAll('.relation svg').length === 3", pairs=PAIRS)
    assert served.text(".relation .verdict")
    assert "p = " in served.text(".relation")
    assert served.run("return document.querySelectorAll('.relation tbody tr').length") == 8
    assert "NaN" not in served.run("return document.querySelector('.relation').innerHTML")
    served.show("relations", "document.querySelector('.relation .unknown')", pairs="word1 word2")
    assert served.text(".relation .unknown")


def test_a_shape_is_drawn_with_its_prediction(served: Page) -> None:
    ready = "document.querySelector('.relation')?.dataset.shown === 'months'"
    served.show("relations", ready, model=3, name="months")
    assert served.text(".relation .verdict") == "months: a circle"
    assert served.run("return document.querySelectorAll('.relation circle').length") == 24
    rows = served.saved("Save table", "relations").splitlines()
    for row in rows[1:]:
        _, x, y, right, up = row.split(",")
        assert (float(x), float(y)) == pytest.approx((float(right), float(up)), abs=1e-4)
    assert "months" in served.saved("Save SVG", "relations")
    served.show("map", "document.querySelector('#which select').value === '0'")


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
    page.wait("document.querySelectorAll('.compare .chart svg g rect').length === 64")
    assert "90 words are in both" in page.text(".compare")
    word = page.texts(".compare td .word")[2]
    page.run("document.querySelectorAll('.compare td .word')[2].click()")
    page.wait(
        "document.querySelector('.compare .split .columns').dataset.shown === arguments[0]", word
    )
    assert len(page.texts(".compare .split .columns .found li")) == 20


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
        f"document.querySelector('.map .aside h2')?.textContent === arguments[0] && {TOPICS}",
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
    for view in (*VIEWS, "compare"):
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
        "map",
        "document.querySelector('.map .words').dataset.shown?.includes('3,4')",
        by="features",
        x=3,
        y=4,
    )
    served.drawn("map", "+")
    served.enter(".map input[type=search]", "word2", "input")
    served.wait("location.hash.includes('at=1.5') && location.hash.includes('find=word2')")
    served.browser.refresh()
    served.wait("document.querySelector('.map .words')?.dataset.shown?.includes('3,4')")
    assert served.drawn("map", "-")["position"][0] == pytest.approx(1.0)
    assert served.run("return document.querySelector('.map input[type=search]').value") == "word2"


def test_a_view_is_found_as_it_was_left(page: Page) -> None:
    shown = "document.querySelector('.map .words').dataset.shown?.includes('4,5')"
    page.show("map", shown, by="features", x=4, y=5)
    page.enter(".map input[type=search]", "word3", "input")
    page.wait("location.hash.includes('find=word3')")
    page.run("document.querySelector('#views a[href=\"#axes\"]').click()")
    page.wait("document.querySelector('.view.axes:not([hidden])')")
    page.run("document.querySelector('#views a[href=\"#map\"]').click()")
    page.wait("document.querySelector('.view.map:not([hidden])')")
    assert page.run("return document.querySelector('.map input[type=search]').value") == "word3"
    assert "find=word3" in page.run("return location.hash")
    page.show("constructor", visible="overview")


def test_a_search_can_be_followed_by_enter(page: Page) -> None:
    page.show("map", TOPICS)
    field = page.browser.find_element("css selector", ".map input[type=search]")
    field.send_keys("word33\ue007")
    page.wait("document.querySelector('.map .aside h2')")
    assert page.text(".map .aside h2") == "word33"


def test_pictures_are_saved_with_their_labels(page: Page) -> None:
    page.show("map", TOPICS)
    picture = page.saved("Save SVG", "map")
    assert "<image" in picture
    assert "Topics. Pale dots are function words" in picture, "it has its legend"
    assert picture.count("<circle") == len(page.texts(".map .chip"))
    kind, size = page.saved("Save PNG", "map").split()
    assert kind == "png"
    assert int(size) > 5_000
    page.show("features", "document.querySelector('.features svg')")
    assert "eigenvalue" in page.saved("Save SVG", "features")


def test_a_fine_screen_gets_a_fine_picture(served: Page) -> None:
    served.show("map", TOPICS)
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
        page.show("map", TOPICS)
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


def test_cells_that_look_like_formulas_are_neutralized(page: Page) -> None:
    csv = re.search(r"function csv\(.*?\n\}", join_modules("saving.js"), re.DOTALL)
    assert csv is not None
    rows = page.run(f"{csv[0]}; return csv([['=1+1', '@x', -1.5, 'a,b']])")
    assert rows.strip() == "'=1+1,'@x,-1.5,\"a,b\""
