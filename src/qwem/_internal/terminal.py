"""Text that a terminal can show: no control sequences, and no character that it can't encode."""

from __future__ import annotations

import json
import re

_UNSAFE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except line breaks and tabs, line and paragraph separators, characters that
turn the direction of writing, and halves of surrogate pairs."""


def printable(text: str, encoding: str | None) -> str:
    r"""Return `text` with everything that is unsafe or can't be encoded as ``\u`` and a number.

    Valid JSON stays valid and means the same.

    >>> print(printable("a red \x1b[31mword, an é", "ascii"))
    a red \u001b[31mword, an \u00e9
    """
    text = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        unknown = {ord(c): json.dumps(c)[1:-1] for c in set(text) if not _is_known(c, encoding)}
        text = text.translate(unknown)
    return text


def _is_known(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
