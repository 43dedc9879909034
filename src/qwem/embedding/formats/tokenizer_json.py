"""Tokenizers of qwem as ``tokenizer.json``, the file format of Hugging Face's `tokenizers`."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TOKENIZERS = ("letters", "ascii", "whitespace")
"""Tokenizers that can be described in ``tokenizer.json`` exactly."""


def tokenizer_json(words: Sequence[str], tokenizer: str, unknown: str) -> dict[str, Any]:
    """Return the contents of ``tokenizer.json``: word i has the id i, and `unknown` the next.

    >>> tokenizer_json(["the", "king"], "ascii", "[UNK]")["model"]["vocab"]
    {'the': 0, 'king': 1, '[UNK]': 2}
    """
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(tokenizer)},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate([*words, unknown])},
            "unk_token": unknown,
        },
    }


def _normalizers(tokenizer: str) -> list[dict[str, Any]]:
    """Return the steps that leave the words of a text with spaces between them."""
    if tokenizer == "letters":
        letters, final_sigma = _patterns()
        return [
            _replace(f"[^{letters}]+", " "),
            _replace(final_sigma, "ς"),
            {"type": "Lowercase"},
        ]
    if tokenizer == "ascii":
        return [_replace("[^A-Za-z]+", " "), {"type": "Lowercase"}]
    if tokenizer == "whitespace":
        # Characters at which Python's `str.split` splits, and `tokenizers` does not.
        return [_replace(r"[\x{1c}-\x{1f}]+", " ")]
    raise SettingError(
        f"The tokenizer {tokenizer!r} can't be exported exactly; pass `tokenizer` one of "
        f"{', '.join(TOKENIZERS)}."
    )


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


@cache
def _patterns() -> tuple[str, str]:
    """Return the letters of Unicode as a character class, and a pattern of final capital sigmas.

    Both follow Python's own `str`, whatever version of Unicode it has. The letter Σ has two lower
    cases, and `tokenizers` knows only one of them. Python writes ς after a cased letter and before
    none, where letters that are "case-ignorable" are passed over.
    """
    letters = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isalpha()]
    cased = [c for c in letters if f"{c}Σ".lower().endswith("ς")]
    known = set(cased)
    ignorable = [c for c in letters if f"a{c}Σ".lower().endswith("ς") and c not in known]
    one, skipped = f"[{_ranges(cased)}]", f"[{_ranges(ignorable)}]"
    return _ranges(letters), rf"(?<={one}{skipped}*)Σ(?!{skipped}*{one})"


def _ranges(characters: Iterable[str]) -> str:
    r"""Return the inside of a character class of a regular expression, as ranges.

    >>> print(_ranges("abcx"))
    \x{61}-\x{63}\x{78}-\x{78}
    """
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in runs)
