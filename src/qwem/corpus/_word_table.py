# mypy: allow-untyped-defs, allow-untyped-calls
"""Compiled loops over letters, and a hash table that numbers words by first occurrence.

ASCII letters are read eight bytes at a time, others one by one; the text must be valid UTF-8.

`entries` has a row for each word: two keys made from its spelling (see `keys`), its count, and
where its spelling ends in `arena`. The arena holds all spellings contiguously, and the bytes after
the last one are scratch space for the word being read. `table` is an open-addressing hash table of
word numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from qwem._internal.kernels import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Integers = NDArray[np.int64]

# An entry of the letter table has the lower case in its low bits, or 0 if the character is left
# out of the word. Flags above them: Unicode's "cased" and "case-ignorable", which decide the form
# of a sigma next to it; not a letter, but may follow one in a word (a combining mark); and may do
# so only if another letter comes after it (an apostrophe).
CODE_POINT = 0x1FFFFF
CASED = 1 << 21
IGNORABLE = 1 << 22
INNER = 1 << 23
JOINING = 1 << 24

APOSTROPHE, _S = ord("'"), ord("s")
_CAPITAL_SIGMA = 0x3A3
DOTTED_CAPITAL_I = 0x130  # the only letter whose lower case is two code points: i, dot above
_DOT_ABOVE = 0x307
_FINAL_SIGMA_BYTE = 0x82  # σ is CF 83 and ς is CF 82

HIGH_BITS = np.uint64(0x8080808080808080)
CASE_BITS = np.uint64(0x2020202020202020)
_FROM_A = np.uint64(0x1F1F1F1F1F1F1F1F)  # added to a byte, sets its high bit from "a" on
_FROM_BRACE = np.uint64(0x0505050505050505)  # the same from "{" on, the character after "z"


@intrinsic
def load8(typing_context, array, index):
    """Return eight bytes of an array from `index` on, the first in the lowest bits."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        word = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(array, types.int64), generate


@intrinsic
def first_byte(typing_context, flags):
    """Return the index of the first byte that has a bit set, or 8 if none has."""

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
    """Return eight bytes with the high bit set where `word` has an ASCII letter, all else zero."""
    folded = (word | CASE_BITS) & ~HIGH_BITS
    return (folded + _FROM_A) & ~(folded + _FROM_BRACE) & ~word & HIGH_BITS


@njit(nogil=True, cache=True)
def leading_letters(word):
    """Return how many of eight bytes are ASCII letters, up to the first that is not."""
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
def _letter_at(text, position, letters):
    """Return the letter-table entry of the character at `position`, its code point and size."""
    code_point, size = _decode(text, position)
    return (np.int64(letters[code_point]) if code_point < letters.size else 0), code_point, size


@njit(nogil=True, cache=True)
def _letter_follows(text, position, end, letters):
    """Return whether the next character is a letter, skipping characters that are left out."""
    while position < end:
        letter, _, size = _letter_at(text, position, letters)
        if letter & CODE_POINT or not letter:
            return letter != 0 and not letter & INNER
        position += size
    return False


@njit(nogil=True, cache=True)
def _final_s_follows(text, position, end, letters):
    """Return whether s is all that is left of the word, skipping characters that are left out."""
    found = False
    while position < end:
        letter, _, size = _letter_at(text, position, letters)
        position += size
        if letter and not letter & CODE_POINT:
            continue
        if found:
            joins = letter & JOINING and _letter_follows(text, position, end, letters)
            return not joins and (letter == 0 or letter & JOINING != 0)
        if letter & CODE_POINT != _S:
            return False
        found = True
    return found


@njit(nogil=True, cache=True)
def fold_word(text, position, end, letters, arena, tail):
    """Write the word at `position` of `text` in lower case to `arena`, from `tail` on.

    Returns where it ends in `text` and in `arena`. If there is no letter at `position`, nothing is
    written and that character is skipped. A word ends before 's. A capital sigma becomes ς at the
    end of a word and σ elsewhere, by the rule of `str.lower`: it is final if a cased letter comes
    before it and none after it, ignoring case-ignorable characters.
    """
    at = tail
    sigma = -1  # position of a sigma that is final unless a cased letter follows
    cased = False  # whether the last letter that is not case-ignorable was cased
    while position < end:
        letter, code_point, size = _letter_at(text, position, letters)
        if (
            letter == 0
            or (letter & INNER and at == tail)
            or (letter & JOINING and not _letter_follows(text, position + size, end, letters))
            or (
                letter & CODE_POINT == APOSTROPHE
                and _final_s_follows(text, position + size, end, letters)
            )
        ):
            if at == tail:
                position += size
            break
        position += size
        if not letter & IGNORABLE:
            if sigma >= 0 and not letter & CASED:
                arena[sigma + 1] = _FINAL_SIGMA_BYTE
            sigma = at if code_point == _CAPITAL_SIGMA and cased else -1
            cased = letter & CASED != 0
        if letter & CODE_POINT:
            at = _encode(letter & CODE_POINT, arena, at)
        if code_point == DOTTED_CAPITAL_I:
            at = _encode(np.int64(_DOT_ABOVE), arena, at)
    if sigma >= 0:
        arena[sigma + 1] = _FINAL_SIGMA_BYTE
    return position, at


# Entries of `state`, with which a call continues one that stopped early.
WORDS, DOCUMENT, POSITION, TOKENS = range(4)


@njit(nogil=True, cache=True)
def keep_state(state, words, document, position, tokens):
    """Write all entries of `state`; assigning them at once takes two seconds to compile."""
    state[WORDS], state[DOCUMENT], state[POSITION], state[TOKENS] = (
        words,
        document,
        position,
        tokens,
    )


# Columns of `entries`.
KEY, REST, COUNT, END = range(4)
SLOT, LENGTH = 2, 3  # the same columns in a block of words not yet looked up

SHORT = 15  # the longest word, in bytes, that its two keys spell out in full
_LONG = np.uint64(1 << 63)  # marks the second key of all longer words
_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_NUMBER = np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True)
def _hash(key, rest):
    mixed = (key ^ (rest * _MIX_2)) * _MIX_1
    return mixed ^ (mixed >> np.uint64(32))


@njit(nogil=True, cache=True)
def keys(arena, start, length):
    """Return the two keys of the spelling at `start`.

    They are its bytes if there are at most 15 and none is zero. Otherwise they are a hash and the
    length, marked as `_LONG`, and words with equal keys must be compared byte by byte.
    """
    has_zero = False
    for i in range(start, start + length):
        has_zero |= arena[i] == 0
    if length <= SHORT and not has_zero:
        key = head(load8(arena, start), length)
        return key, head(load8(arena, start + 8), max(length - 8, 0))
    mixed = np.uint64(length)
    for i in range(0, length, 8):
        mixed = (mixed ^ head(load8(arena, start + i), length - i)) * _MIX_1
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
def _slot_of(table, entries, arena, words, key, rest, length):
    """Return the slot of the word with these keys, which is empty if the word is new.

    The spelling of a long word must be in scratch space.
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
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(nogil=True, cache=True)
def find(table, entries, arena, words, key, rest, length, amount):
    """Return the number of the word with these keys, entering it as number `words` if it is new.

    Its count grows by `amount`. The spelling of a long word must be in scratch space.
    """
    slot = _slot_of(table, entries, arena, words, key, rest, length)
    if table[slot] != 0:
        number = np.int64(table[slot] & _NUMBER) - 1
        entries[number, COUNT] += np.uint64(amount)
        return number
    table[slot] = (_hash(key, rest) & ~_NUMBER) | np.uint64(words + 1)
    tail = np.int64(entries[words - 1, END]) if words else 0
    entries[words, KEY] = key
    entries[words, REST] = rest
    entries[words, COUNT] = np.uint64(amount)
    entries[words, END] = np.uint64(tail + length)
    if not rest & _LONG:
        for i in range(length):
            eight = key if i < 8 else rest
            arena[tail + i] = np.uint8((eight >> np.uint64(8 * (i & 7))) & np.uint64(0xFF))
    return words


@njit(nogil=True, cache=True)
def find_block(table, entries, arena, words, block, size, ids, tokens):
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
            number = find(table, entries, arena, words, key, rest, length, np.int64(1))
            words += number == words
        ids[tokens + i] = number
    return words


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

    Their counts grow by `amount`. Returns False if the hash table is half full, as `tokenize` does.
    """
    words, _, position, tokens = state
    while tokens < ends.size:
        if words >= entries.shape[0]:
            keep_state(state, words, np.int64(0), position, tokens)
            return False
        length = ends[tokens] - position
        tail = np.int64(entries[words - 1, END]) if words else 0
        for i in range(length):
            arena[tail + i] = text[position + i]
        key, rest = keys(arena, tail, length)
        number = find(table, entries, arena, words, key, rest, length, amount)
        words += number == words
        ids[tokens] = number
        tokens += 1
        position += length
    keep_state(state, words, np.int64(0), position, tokens)
    return True


@njit(nogil=True, cache=True)
def look_up(
    text: Bytes,
    ends: Integers,
    unknown: int,
    table: NDArray[np.uint64],
    entries: NDArray[np.uint64],
    arena: Bytes,
    words: int,
    ids: NDArray[np.uint32],
) -> None:
    """Write the numbers of given words to `ids`, and `unknown` for words not in the table.

    Nothing is entered or counted. The arena needs room for the longest word.
    """
    tail = np.int64(entries[words - 1, END]) if words else 0
    position = 0
    for i in range(ends.size):
        length = ends[i] - position
        for k in range(length):
            arena[tail + k] = text[position + k]
        key, rest = keys(arena, tail, length)
        entry = table[_slot_of(table, entries, arena, words, key, rest, length)]
        ids[i] = np.int64(entry & _NUMBER) - 1 if entry != 0 else unknown
        position += length


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
