"""The words of a text, found one character at a time: what the tokenizer "words" promises."""

from __future__ import annotations

import unicodedata

JOINERS = "'’·\u200c\u200d"


def unicode_words(text: str) -> list[str]:
    """Letters with the marks on them, joined by an apostrophe or the like between letters."""
    text = text.replace("\u00ad", "")
    words, word = [], ""
    for character, following in zip(text, [*text[1:], " "], strict=False):
        mark = unicodedata.category(character).startswith("M")
        joins = character in JOINERS and following.isalpha()
        if character.isalpha() or (word and (mark or joins)):
            word += character
        else:
            words.append(word)
            word = ""
    return [
        unicodedata.normalize("NFC", word.lower().replace("’", "'"))
        for word in [*words, word]
        if word
    ]
