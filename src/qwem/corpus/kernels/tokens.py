# mypy: allow-untyped-defs, allow-untyped-calls
"""Compiled loops over text: find words, number them, and renumber them to a vocabulary.

English text takes two passes for each block of words: first find them, eight bytes at a time, then
look them up. Kept apart, the two don't wait for each other's cache misses and branches. A word with
a letter outside a–z is folded to lower case letter by letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.kernels import njit
from qwem.corpus.kernels.letters import (
    CASE_BITS,
    HIGH_BITS,
    ascii_letters,
    first_byte,
    fold_word,
    head,
    leading_letters,
    load8_within,
)
from qwem.corpus.kernels.word_table import END, KEY, LENGTH, REST, SHORT, find, find_block, keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.corpus.kernels.word_table import Bytes, Integers

# What is kept between a call that stopped early and the next.
WORDS, DOCUMENT, POSITION, TOKENS = range(4)

DROPPED = 0xFFFFFFFF  # the new number of a word that is left out
BLOCK = 256  # words that are found before they are looked up


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
    beyond_ascii = HIGH_BITS if letters.size else np.uint64(0)
    block = np.empty((BLOCK, 4), np.uint64)
    size = 0
    while document <= ends.size:
        end = ends[document] if document < ends.size else text.size
        while position < end:
            eight = load8_within(text, position)
            position += first_byte(ascii_letters(eight) | (eight & beyond_ascii))
            if position >= end:
                break
            if size == 0 and words >= limit:
                state[:] = words, document, position, tokens
                return False

            eight = load8_within(text, position)
            length = leading_letters(eight)
            key = head(eight | CASE_BITS, length)
            rest = np.uint64(0)
            if length == 8:
                eight = load8_within(text, position + 8)
                more = leading_letters(eight)
                rest = head(eight | CASE_BITS, more)
                length += more
                while more == 8:
                    more = leading_letters(load8_within(text, position + length))
                    length += more
            folding = False
            if position + length < end:
                folding = beyond_ascii != 0 and text[position + length] >= 0x80
                if length == 0 and not folding:
                    continue
            elif position + length > end:
                length = end - position
                key = head(key, length)
                rest = head(rest, max(length - 8, 0))

            if length <= SHORT and not folding:
                block[size, KEY] = key
                block[size, REST] = rest
                block[size, LENGTH] = length
                size += 1
                position += length
                if size < BLOCK:
                    continue
            words = find_block(table, entries, arena, words, block, size, ids, tokens)
            tokens += size
            size = 0
            if length <= SHORT and not folding:
                continue

            tail = np.int64(entries[words - 1, END]) if words else 0
            if folding:
                position, tail_end = fold_word(text, position, end, letters, arena, tail)
                length = tail_end - tail
                if length == 0:
                    continue
            else:
                for i in range(length):
                    arena[tail + i] = text[position + i] | 0x20
                position += length
            key, rest = keys(arena, tail, length)
            number = find(table, entries, arena, words, key, rest, length, 1)
            words += number == words
            ids[tokens] = number
            tokens += 1
        position = end
        if document < ends.size:
            token_ends[document] = tokens + size
        document += 1
    words = find_block(table, entries, arena, words, block, size, ids, tokens)
    state[:] = words, document, position, tokens + size
    return True


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
