"""The pages in a real browser: what a test does with it, and what nothing may do."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from in_browser import WIDE, entries, resize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

TOPICS = "document.querySelector('.map .words').dataset.shown === '[\"topics\"]'"
"""Whether the map shows words by topic."""


class Page:
    """The pages in a browser."""

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
            "  words: map.words, positions: [...map.positions], position: map.position,"
            "  labels: map.labels.map((each) => ({ ...each, word: each.text })),"
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
            "  if (text === 'Save PNG' && blob.type !== 'image/png')"
            "    return createObjectURL.call(URL, blob);"
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
    """Open the page, and look at the end that nothing complained and nothing went elsewhere."""
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
