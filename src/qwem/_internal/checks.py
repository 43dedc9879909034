"""Checks of values: each raises `SettingError` with the name, the rule and the value."""

from __future__ import annotations

from typing import Any

from qwem._internal.settings import Option, Whole


def require_whole(name: str, value: Any, *, least: int, most: int | None = None) -> None:
    """Raise unless `value` is a whole number of at least `least`, and at most `most`."""
    Option(help="", takes=Whole(least, most)).check(name, value)


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    Option(help="", takes=choices).check(name, value)
