# mypy: allow-untyped-defs, allow-untyped-calls
"""Letters in UTF-8 bytes: eight of them at a time where they are ASCII, otherwise one by one.

UTF-8 must be valid already.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from qwem._internal.kernels import njit

# An entry of the letter table: the lower case in the low bits; above them what the letter does to a
# capital sigma next to it (Unicode's "cased", or passed over as "case-ignorable", or neither).
CODE_POINT = 0x1FFFFF
CASED = 1 << 21
IGNORABLE = 1 << 22

_CAPITAL_SIGMA = 0x3A3
DOTTED_CAPITAL_I = 0x130  # the one letter whose lower case is two code points: i and
_DOT_ABOVE = 0x307
_FINAL_SIGMA_BYTE = 0x82  # σ is CF 83 and ς is CF 82

HIGH_BITS = np.uint64(0x8080808080808080)
CASE_BITS = np.uint64(0x2020202020202020)
_FROM_A = np.uint64(0x1F1F1F1F1F1F1F1F)  # added to bytes below 0x80, carries "a" and above to 0x80
_FROM_BRACE = np.uint64(0x0505050505050505)  # and this what comes after "z"


@intrinsic
def load8(typing_context, array, index):
    """Return the eight bytes of an array from any index on, the first in the lowest bits."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        word = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(array, types.int64), generate


@intrinsic
def first_byte(typing_context, flags):
    """Return the number of the first byte that has a bit set, or 8 where none has."""

    def generate(context, builder, signature, arguments):
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.uint64), generate


@njit(nogil=True, cache=True)
def load8_within(text, position):
    """Return eight bytes of `text`, with zeros for those after its end."""
    if position + 8 <= text.size:
        return load8(text, position)
    word = np.uint64(0)
    for i in range(text.size - 1, position - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(text[i])
    return word


@njit(nogil=True, cache=True)
def ascii_letters(word):
    """Return the high bit of each of eight bytes that is an ASCII letter."""
    folded = (word | CASE_BITS) & ~HIGH_BITS
    return (folded + _FROM_A) & ~(folded + _FROM_BRACE) & ~word & HIGH_BITS


@njit(nogil=True, cache=True)
def leading_letters(word):
    """Return how many of eight bytes are ASCII letters before the first that is not."""
    return first_byte(~ascii_letters(word) & HIGH_BITS)


@njit(nogil=True, cache=True)
def head(word, count):
    """Return the first `count` bytes of eight, the others zero."""
    if count >= 8:
        return word
    return word & ((np.uint64(1) << np.uint64(8 * count)) - np.uint64(1))


@njit(nogil=True, cache=True)
def _encode(code_point, arena, at):
    """Write a code point as UTF-8 and return the position after it."""
    if code_point < 0x80:
        arena[at] = code_point
        return at + 1
    if code_point < 0x800:
        arena[at] = 0xC0 | (code_point >> 6)
    else:
        if code_point < 0x10000:
            arena[at] = 0xE0 | (code_point >> 12)
        else:
            arena[at] = 0xF0 | (code_point >> 18)
            at += 1
            arena[at] = 0x80 | ((code_point >> 12) & 0x3F)
        at += 1
        arena[at] = 0x80 | ((code_point >> 6) & 0x3F)
    arena[at + 1] = 0x80 | (code_point & 0x3F)
    return at + 2


@njit(nogil=True, cache=True)
def _decode(text, position):
    """Return the code point at `position` and the number of its bytes."""
    byte = np.int64(text[position])
    if byte < 0x80:
        return byte, 1
    size = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
    code_point = byte & (0x7F >> size)
    for i in range(1, size):
        code_point = code_point << 6 | np.int64(text[position + i] & 0x3F)
    return code_point, size


@njit(nogil=True, cache=True)
def fold_word(text, position, end, letters, arena, tail):
    """Write the word at `position` in lower case at `tail`; return where it ends, here and there.

    Where there is no letter at `position`, nothing is written and that character is skipped.
    A capital sigma becomes ς where it ends a word and σ elsewhere, by the rule of `str.lower`: it
    is final if a cased letter comes before it and none after it, case-ignorable ones apart.
    """
    at = tail
    sigma = -1  # where a sigma was written that is final unless a cased letter follows
    cased = False  # whether the last letter that is not case-ignorable was cased
    while position < end:
        code_point, size = _decode(text, position)
        letter = np.int64(letters[code_point]) if code_point < letters.size else 0
        if letter == 0:
            if at == tail:
                position += size
            break
        position += size
        if not letter & IGNORABLE:
            if sigma >= 0 and not letter & CASED:
                arena[sigma + 1] = _FINAL_SIGMA_BYTE
            sigma = at if code_point == _CAPITAL_SIGMA and cased else -1
            cased = letter & CASED != 0
        at = _encode(letter & CODE_POINT, arena, at)
        if code_point == DOTTED_CAPITAL_I:
            at = _encode(_DOT_ABOVE, arena, at)
    if sigma >= 0:
        arena[sigma + 1] = _FINAL_SIGMA_BYTE
    return position, at
