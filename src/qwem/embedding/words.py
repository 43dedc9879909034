"""Which words a file format can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_words(words: Iterable[str], forbidden: str, where: str) -> None:
    """Refuse words that hold a forbidden character or that UTF-8 can't write."""
    barred = set(forbidden)
    for word in words:
        if not barred.isdisjoint(word):
            raise SettingError(f"The word {word!r} can't stand in {where}; rename or drop it.")
        if not word.isascii():
            try:
                word.encode("utf-8")
            except UnicodeEncodeError as error:
                raise SettingError(
                    f"The word {word!r} can't be written in UTF-8 ({error.reason}); "
                    "rename or drop it."
                ) from error
