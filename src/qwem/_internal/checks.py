"""Checks of settings: each raises `SettingError` with the name, the rule and the value."""

from __future__ import annotations

from typing import Any

from qwem.errors import SettingError


def require_whole(name: str, value: Any, *, least: int, otherwise: str = "") -> None:
    """Raise unless `value` is a whole number of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        choices = f"a whole number of at least {least}" + (f", or {otherwise}" if otherwise else "")
        raise SettingError(f"{name} must be {choices}, not {value!r}.")


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        *others, last = map(repr, choices)
        raise SettingError(f"{name} must be {', '.join(others)} or {last}, not {value!r}.")
