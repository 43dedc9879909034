"""Words are printed without doing anything to the terminal."""

from __future__ import annotations

import json

import pytest

from qwem._internal.text import printable


@pytest.mark.parametrize("word", ["\x1b[2J", "\x9b31m", "\r", "\x7f", "\u202e", "\ud800", "\u2028"])
def test_unsafe_characters_are_escaped(word: str) -> None:
    shown = printable(f"a{word}b\tc\n", "utf-8")
    assert shown.isascii()
    assert shown.endswith("b\tc\n")
    assert f"\\u{ord(word[0]):04x}" in shown


def test_ordinary_words_stay() -> None:
    text = "naïve 東京 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩‍🚀\n"
    assert printable(text, "utf-8") == text
    assert printable(text, None) == text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_what_the_terminal_can_not_encode_is_escaped(encoding: str) -> None:
    data = {"word": "naïve 東京 👩‍🚀 \x9b \ud800"}
    shown = printable(json.dumps(data, ensure_ascii=False), encoding)
    shown.encode(encoding)
    assert json.loads(shown) == data
