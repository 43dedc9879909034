"""What is drawn in a figure of the page, read from its SVG."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from selenium.webdriver import Chrome

PIXEL = 0.06
"""Places are written with one decimal."""
_READ = """
const svg = document.querySelector(`#${arguments[0]} svg`);
return [...svg.querySelectorAll("text, circle, path, g > rect")].map((element) => ({
  tag: element.tagName,
  name: element.querySelector("title")?.textContent ?? "",
  text: element.tagName === "text" ? element.textContent : "",
  ...Object.fromEntries([...element.attributes].map(({ name, value }) => [name, value])),
}));
"""


@dataclass(frozen=True)
class Drawing:
    """The elements of one figure."""

    elements: list[dict[str, str]]

    def all(self, tag: str) -> list[dict[str, str]]:
        """The elements of a kind, in the order in which they are drawn."""
        return [element for element in self.elements if element["tag"] == tag]

    def dots(self, *, named: bool) -> list[dict[str, str]]:
        """The dots with or without a name."""
        return [dot for dot in self.all("circle") if bool(dot["name"]) == named]

    def line(self, place: int) -> NDArray[np.float64]:
        """The points of a line on the screen."""
        numbers = re.findall(r"-?[\d.]+", self.all("path")[place]["d"])
        return np.array(numbers, dtype=float).reshape(-1, 2)

    def across(self, values: ArrayLike, *, log: bool = False) -> NDArray[np.float64]:
        """Where numbers of the horizontal axis are on the screen, by the numbers written there."""
        low = max(float(text["y"]) for text in self._ticks("middle"))
        ticks = [text for text in self._ticks("middle") if float(text["y"]) == low]
        return _placed(ticks, "x", 0.0, values, log)

    def up(self, values: ArrayLike) -> NDArray[np.float64]:
        """Where numbers of the vertical axis are on the screen."""
        return _placed(self._ticks("end"), "y", -4.0, values, False)

    def _ticks(self, anchor: str) -> list[dict[str, str]]:
        number = re.compile(r"[\d.−]+")
        return [
            text
            for text in self._texts
            if text.get("text-anchor") == anchor and number.fullmatch(text["text"])
        ]

    @cached_property
    def _texts(self) -> list[dict[str, str]]:
        return self.all("text")


def drawing(browser: Chrome, figure: str) -> Drawing:
    """Read the figure with this id."""
    elements: Any = browser.execute_script(_READ, figure)
    return Drawing(elements)


def _placed(
    ticks: list[dict[str, str]], side: str, shift: float, values: ArrayLike, log: bool
) -> NDArray[np.float64]:
    assert len(ticks) >= 2, "an axis needs numbers to be read"
    numbers = np.array([float(tick["text"].replace("−", "-")) for tick in ticks])
    places = np.array([float(tick[side]) for tick in ticks]) + shift
    wanted = np.asarray(values, dtype=float)
    if log:
        numbers, wanted = np.log(numbers), np.log(wanted)
    slope, start = np.polyfit(numbers, places, 1)
    assert np.allclose(slope * numbers + start, places, atol=1e-6)
    found: NDArray[np.float64] = slope * wanted + start
    return found
