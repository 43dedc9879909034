# mypy: allow-untyped-defs, allow-untyped-calls
"""Compiled loops over text: find words, number them, and renumber them to a vocabulary.

Words are numbered in the order in which they are first met. `entries` has a row for each of them:
two numbers that stand for its spelling (see `_keys`), its count, and where its spelling ends in
`arena`, which holds all spellings contiguously; the bytes after the last one are scratch space for
the word being read. `table` is an open-addressing hash table of their numbers.

English text takes two passes for each block of words: first find them, eight bytes at a time, then
look them up. Kept apart, the two don't wait for each other's cache misses and branches. A word with
a letter outside a–z is folded to lower case letter by letter. UTF-8 must be valid already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from qwem._internal.compilation import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Integers = NDArray[np.int64]

# Columns of `entries`, and the state kept between a call that stopped early and the next.
KEY, REST, COUNT, END = range(4)
SLOT, LENGTH = 2, 3  # the same columns in a block of words not yet looked up
WORDS, DOCUMENT, POSITION, TOKENS = range(4)

# An entry of the letter table: the lower case in the low bits; above them what the letter does to a
# capital sigma next to it (Unicode's "cased", or passed over as "case-ignorable", or neither).
CODE_POINT = 0x1FFFFF
CASED = 1 << 21
IGNORABLE = 1 << 22

DROPPED = 0xFFFFFFFF  # the new number of a word that is left out
BLOCK = 256  # words that are found before they are looked up

_CAPITAL_SIGMA = 0x3A3
DOTTED_CAPITAL_I = 0x130  # the one letter whose lower case is two code points: i and
_DOT_ABOVE = 0x307
_FINAL_SIGMA_BYTE = 0x82  # σ is CF 83 and ς is CF 82

_SHORT = 15  # the longest word, in bytes, that its two keys spell out in full
_LONG = np.uint64(1 << 63)  # marks the second key of all others
_HIGH_BITS = np.uint64(0x8080808080808080)
_CASE_BITS = np.uint64(0x2020202020202020)
_FROM_A = np.uint64(0x1F1F1F1F1F1F1F1F)  # added to bytes below 0x80, carries "a" and above to 0x80
_FROM_BRACE = np.uint64(0x0505050505050505)  # and this what comes after "z"
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_NUMBER = np.uint64(0xFFFFFFFF)


@intrinsic
def _load8(typing_context, array, index):
    """Return the eight bytes of an array from any index on, the first in the lowest bits."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        word = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(array, types.int64), generate


@intrinsic
def _first_byte(typing_context, flags):
    """Return the number of the first byte that has a bit set, or 8 where none has."""

    def generate(context, builder, signature, arguments):
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.uint64), generate


@njit(nogil=True, cache=True)
def _load8_within(text, position):
    """Return eight bytes of `text`, with zeros for those after its end."""
    if position + 8 <= text.size:
        return _load8(text, position)
    word = np.uint64(0)
    for i in range(text.size - 1, position - 1, -1):
        word = (word << np.uint64(8)) | np.uint64(text[i])
    return word


@njit(nogil=True, cache=True)
def _letters(word):
    """Return the high bit of each of eight bytes that is an ASCII letter."""
    folded = (word | _CASE_BITS) & ~_HIGH_BITS
    return (folded + _FROM_A) & ~(folded + _FROM_BRACE) & ~word & _HIGH_BITS


@njit(nogil=True, cache=True)
def _leading_letters(word):
    """Return how many of eight bytes are ASCII letters before the first that is not."""
    return _first_byte(~_letters(word) & _HIGH_BITS)


@njit(nogil=True, cache=True)
def _head(word, count):
    """Return the first `count` bytes of eight, the others zero."""
    if count >= 8:
        return word
    return word & ((np.uint64(1) << np.uint64(8 * count)) - np.uint64(1))


@njit(nogil=True, cache=True)
def _hash(key, rest):
    mixed = (key ^ (rest * _MIX_2)) * _MIX_1
    return mixed ^ (mixed >> np.uint64(32))


@njit(nogil=True, cache=True)
def _keys(arena, start, length):
    """Return two numbers for the spelling at `start`.

    They are its bytes where there are at most 15 and none is zero. Otherwise they are a hash and
    the length, marked as `_LONG`, and equal keys leave the bytes to be compared.
    """
    has_zero = False
    for i in range(start, start + length):
        has_zero |= arena[i] == 0
    if length <= _SHORT and not has_zero:
        key = _head(_load8(arena, start), length)
        return key, _head(_load8(arena, start + 8), max(length - 8, 0))
    mixed = np.uint64(length)
    for i in range(0, length, 8):
        mixed = (mixed ^ _head(_load8(arena, start + i), length - i)) * _MIX_1
        mixed ^= mixed >> np.uint64(32)
    return mixed, np.uint64(length) | _LONG


@njit(nogil=True, cache=True)
def _same_spelling(entries, arena, number, words, length):
    """Return whether a long word has the same spelling as the one in scratch space."""
    start = np.int64(entries[number, END]) - length
    tail = np.int64(entries[words - 1, END])
    same = True
    for i in range(length):
        same &= arena[start + i] == arena[tail + i]
    return same


@njit(nogil=True, cache=True)
def _find(table, entries, arena, words, key, rest, length, amount):
    """Return the number of the word with these keys, which is `words` where it is new.

    Its count grows by `amount`. The spelling of a long word must be in scratch space.
    """
    mask = np.uint64(table.size - 1)
    hashed = _hash(key, rest)
    slot = hashed & mask
    tag = hashed & ~_NUMBER
    while table[slot] != 0:
        number = np.int64(table[slot] & _NUMBER) - 1
        if (
            table[slot] & ~_NUMBER == tag
            and entries[number, KEY] == key
            and entries[number, REST] == rest
            and (not rest & _LONG or _same_spelling(entries, arena, number, words, length))
        ):
            entries[number, COUNT] += np.uint64(amount)
            return number
        slot = (slot + np.uint64(1)) & mask
    table[slot] = tag | np.uint64(words + 1)
    tail = np.int64(entries[words - 1, END]) if words else 0
    entries[words, KEY] = key
    entries[words, REST] = rest
    entries[words, COUNT] = np.uint64(amount)
    entries[words, END] = np.uint64(tail + length)
    if not rest & _LONG:
        for i in range(length):
            part = key if i < 8 else rest
            arena[tail + i] = np.uint8((part >> np.uint64(8 * (i & 7))) & np.uint64(0xFF))
    return words


@njit(nogil=True, cache=True)
def _find_block(table, entries, arena, words, block, size, ids, tokens):
    """Look up the short words of a block, and return how many words are known afterwards."""
    mask = np.uint64(table.size - 1)
    for i in range(size):
        block[i, SLOT] = table[_hash(block[i, KEY], block[i, REST]) & mask]
    for i in range(size):
        key = block[i, KEY]
        rest = block[i, REST]
        number = np.int64(block[i, SLOT] & _NUMBER) - 1
        if number >= 0 and entries[number, KEY] == key and entries[number, REST] == rest:
            entries[number, COUNT] += np.uint64(1)
        else:
            length = np.int64(block[i, LENGTH])
            number = _find(table, entries, arena, words, key, rest, length, 1)
            words += number == words
        ids[tokens + i] = number
    return words


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
def _fold_word(text, position, end, letters, arena, tail):
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


@njit(nogil=True, cache=True)
def tokenize(
    text: Bytes,
    ends: Integers,
    letters: NDArray[np.int32],
    table: NDArray[np.uint64],
    entries: NDArray[np.uint64],
    arena: Bytes,
    ids: NDArray[np.uint32],
    token_ends: Integers,
    state: Integers,
) -> bool:
    """Find and number the words of the contiguous documents in `text`.

    ``ends[d]`` is where document d ends; text after the last end belongs to a document that
    continues in the next batch. Word numbers go to `ids`, and how many there are up to the end of
    document d to ``token_ends[d]``. `letters` is `tokenizer.letter_table()`; where it is empty only
    a–z are letters. Returns False where the hash table is half full: make room and call again with
    the same `state`, and the work continues where it stopped.
    """
    words, document, position, tokens = state
    limit = entries.shape[0] - BLOCK
    beyond_ascii = _HIGH_BITS if letters.size else np.uint64(0)
    block = np.empty((BLOCK, 4), np.uint64)
    size = 0
    while document <= ends.size:
        end = ends[document] if document < ends.size else text.size
        while position < end:
            eight = _load8_within(text, position)
            position += _first_byte(_letters(eight) | (eight & beyond_ascii))
            if position >= end:
                break
            if size == 0 and words >= limit:
                state[:] = words, document, position, tokens
                return False

            eight = _load8_within(text, position)
            length = _leading_letters(eight)
            key = _head(eight | _CASE_BITS, length)
            rest = np.uint64(0)
            if length == 8:
                eight = _load8_within(text, position + 8)
                more = _leading_letters(eight)
                rest = _head(eight | _CASE_BITS, more)
                length += more
                while more == 8:
                    more = _leading_letters(_load8_within(text, position + length))
                    length += more
            folding = False
            if position + length < end:
                folding = beyond_ascii != 0 and text[position + length] >= 0x80
                if length == 0 and not folding:
                    continue
            elif position + length > end:
                length = end - position
                key = _head(key, length)
                rest = _head(rest, max(length - 8, 0))

            if length <= _SHORT and not folding:
                block[size, KEY] = key
                block[size, REST] = rest
                block[size, LENGTH] = length
                size += 1
                position += length
                if size < BLOCK:
                    continue
            words = _find_block(table, entries, arena, words, block, size, ids, tokens)
            tokens += size
            size = 0
            if length <= _SHORT and not folding:
                continue

            tail = np.int64(entries[words - 1, END]) if words else 0
            if folding:
                position, tail_end = _fold_word(text, position, end, letters, arena, tail)
                length = tail_end - tail
                if length == 0:
                    continue
            else:
                for i in range(length):
                    arena[tail + i] = text[position + i] | 0x20
                position += length
            key, rest = _keys(arena, tail, length)
            number = _find(table, entries, arena, words, key, rest, length, 1)
            words += number == words
            ids[tokens] = number
            tokens += 1
        position = end
        if document < ends.size:
            token_ends[document] = tokens + size
        document += 1
    words = _find_block(table, entries, arena, words, block, size, ids, tokens)
    state[:] = words, document, position, tokens + size
    return True


@njit(nogil=True, cache=True)
def intern(
    text: Bytes,
    ends: Integers,
    amount: int,
    table: NDArray[np.uint64],
    entries: NDArray[np.uint64],
    arena: Bytes,
    ids: NDArray[np.uint32],
    state: Integers,
) -> bool:
    """Look up words that are given one by one: word i is ``text[ends[i - 1]:ends[i]]``.

    Their counts grow by `amount`. Returns False where the hash table is half full, as `tokenize`.
    """
    words, _, position, tokens = state
    while tokens < ends.size:
        if words >= entries.shape[0]:
            state[:] = words, 0, position, tokens
            return False
        length = ends[tokens] - position
        tail = np.int64(entries[words - 1, END]) if words else 0
        for i in range(length):
            arena[tail + i] = text[position + i]
        key, rest = _keys(arena, tail, length)
        number = _find(table, entries, arena, words, key, rest, length, amount)
        words += number == words
        ids[tokens] = number
        tokens += 1
        position += length
    state[:] = words, 0, position, tokens
    return True


@njit(nogil=True, cache=True)
def rehash(entries: NDArray[np.uint64], words: int, table: NDArray[np.uint64]) -> None:
    """Enter the first `words` words into an empty hash table."""
    mask = np.uint64(table.size - 1)
    for number in range(words):
        hashed = _hash(entries[number, KEY], entries[number, REST])
        slot = hashed & mask
        while table[slot] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = (hashed & ~_NUMBER) | np.uint64(number + 1)


@njit(nogil=True, cache=True)
def subtract_documents(
    ids: NDArray[np.uint32],
    token_ends: Integers,
    dropped: NDArray[np.bool_],
    counts: Integers,
) -> None:
    """Subtract the words of `dropped` documents from the counts.

    `dropped` has one more entry than `token_ends`, for the document that continues after the last.
    """
    start = 0
    for document in range(dropped.size):
        end = token_ends[document] if document < token_ends.size else ids.size
        if dropped[document]:
            for i in range(start, end):
                counts[ids[i]] -= 1
        start = end


@njit(nogil=True, cache=True)
def renumber(
    ids: NDArray[np.uint32],
    token_ends: Integers,
    kept: NDArray[np.bool_],
    numbers: NDArray[np.uint32],
    out: NDArray[Any],
    out_ends: Integers,
) -> int:
    """Write the new numbers of the words in documents that are `kept`; return how many there are.

    ``numbers[i]`` is the new number of word i, or `DROPPED`. ``out_ends[d]`` gets how many were
    written up to the end of document d. `out` needs room for one more number than `ids` has, and
    `kept` has one more entry than `token_ends`, for the document that continues after the last.
    """
    start = 0
    written = 0
    for document in range(kept.size):
        end = token_ends[document] if document < token_ends.size else ids.size
        if kept[document]:
            for i in range(start, end):
                number = numbers[ids[i]]
                out[written] = number
                written += number != DROPPED
        if document < out_ends.size:
            out_ends[document] = written
        start = end
    return written
