"""Checks of settings: each raises `SettingError` with the name, the rule and the value."""

from __future__ import annotations

from typing import Any

from qwem.errors import SettingError


def require_whole(
    name: str, value: Any, *, least: int, most: int | None = None, otherwise: str = ""
) -> None:
    """Raise unless `value` is a whole number of at least `least`, and at most `most`."""
    whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"of at least {least}" if most is None else f"from {least:,} to {most:,}"
        choices = f"a whole number {limits}" + (f", or {otherwise}" if otherwise else "")
        raise SettingError(f"{name} must be {choices}, not {value!r}.")


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless `value` is one of `choices`."""
    if value not in choices:
        *others, last = map(repr, choices)
        raise SettingError(f"{name} must be {', '.join(others)} or {last}, not {value!r}.")
