"""The words of a text, found one character at a time: what the tokenizer "words" promises."""

from __future__ import annotations

import unicodedata

JOINERS = "'’·\u200c\u200d"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def unicode_words(text: str) -> list[str]:
    """Letters with the marks on them, joined by an apostrophe or the like between letters.

    An apostrophe before a last s does not join.
    """
    text = text.replace("\u00ad", "")
    words, word = [], ""
    for place, character in enumerate(text):
        following, second, third = list(text[place + 1 : place + 4].ljust(3))
        goes_on = second.isalpha() or _is_mark(second) or (second in JOINERS and third.isalpha())
        final_s = character in "'’" and following in "sS" and not goes_on
        joins = character in JOINERS and following.isalpha() and not final_s
        if character.isalpha() or (word and (_is_mark(character) or joins)):
            word += character
        else:
            words.append(word)
            word = ""
    return [
        unicodedata.normalize("NFC", word.lower().replace("’", "'"))
        for word in [*words, word]
        if word
    ]
