"""Checks that a file format can hold the words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_words(words: Iterable[str], forbidden: str, where: str) -> None:
    """Refuse words that contain a forbidden character or can't be encoded in UTF-8."""
    barred = set(forbidden)
    for word in words:
        if not barred.isdisjoint(word):
            raise SettingError(f"The word {word!r} can't be part of {where}; rename or drop it.")
        if not word.isascii():
            try:
                word.encode("utf-8")
            except UnicodeEncodeError as error:
                raise SettingError(
                    f"The word {word!r} can't be written in UTF-8 ({error.reason}); "
                    "rename or drop it."
                ) from error
