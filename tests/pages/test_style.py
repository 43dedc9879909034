"""Colours of the page: enough contrast to read in the light and in the dark theme."""

from __future__ import annotations

import re

import pytest

from qwem.pages.writing import app_file

STYLE = (app_file("style.css") or b"").decode()

COLOURS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)",
        STYLE,
    )
}
"""Each colour by name, for the light and the dark theme."""


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_every_colour_has_a_light_and_a_dark_form() -> None:
    names = set(re.findall(r"var\(--(\w+)\)", STYLE)) - {"serif", "sans", "part", "height"}
    assert names <= COLOURS.keys()
    assert all(light != dark for light, dark in COLOURS.values())


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back"),
    [("ink", "paper"), ("ink", "card"), ("muted", "paper"), ("muted", "card"), ("cool", "paper"),
     ("warm", "paper"), ("warm", "card"), ("ink", "wash")],
)  # fmt: skip
def test_text_can_be_read(theme: int, front: str, back: str) -> None:
    assert contrast(COLOURS[front][theme], COLOURS[back][theme]) >= 4.5
