"""The look: enough contrast to read, by day and by night."""

from __future__ import annotations

import re

import pytest

from qwem.report.assets import asset

THEMES = re.findall(r":root[^{]*\{([^}]*--paper[^}]*)\}", asset("style.css"))


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_there_are_two_looks_and_dark_is_written_twice_alike() -> None:
    colours = [dict(re.findall(r"--(\w+): (#\w{6})", theme)) for theme in THEMES]
    assert len(colours) == 3
    assert colours[0] != colours[1] == colours[2]


@pytest.mark.parametrize("theme", THEMES[:2], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "back"),
    [("ink", "paper"), ("ink", "card"), ("muted", "paper"), ("muted", "card"), ("cool", "paper"),
     ("warm", "paper"), ("warm", "card"), ("ink", "wash")],
)  # fmt: skip
def test_text_can_be_read(theme: str, front: str, back: str) -> None:
    colours = dict(re.findall(r"--(\w+): (#\w{6})", theme))
    assert contrast(colours[front], colours[back]) >= 4.5
