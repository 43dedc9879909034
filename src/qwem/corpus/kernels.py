# mypy: allow-untyped-defs, allow-untyped-calls
"""Compiled loops over text and tokens: find words, renumber them, count and join phrases.

English text takes two passes for each block of words: first find them, eight bytes at a time, then
look them up. Separate passes are faster, because neither waits for the cache misses and branches of
the other. A word with a letter outside a–z is converted to lower case letter by letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.kernels import lower_bound, njit
from qwem.corpus._word_table import (
    APOSTROPHE,
    CASE_BITS,
    END,
    HIGH_BITS,
    KEY,
    LENGTH,
    REST,
    SHORT,
    ascii_letters,
    find,
    find_block,
    first_byte,
    fold_word,
    head,
    keep_state,
    keys,
    leading_letters,
    load8_within,
)  # fmt: skip

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.corpus._word_table import Bytes, Integers

Array = np.ndarray[Any, Any]

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
    continues in the next batch. Word numbers are written to `ids`, and the number of words up to
    the end of document d to ``token_ends[d]``. `letters` is the tokenizer's letter table; if it is
    empty, only a–z are letters. Returns False if the hash table is half full: make room and call
    again with the same `state` to continue.
    """
    words, document, position, tokens = state
    limit = entries.shape[0] - BLOCK
    beyond_ascii = HIGH_BITS if letters.size else np.uint64(0)
    apostrophes = letters.size > APOSTROPHE and letters[APOSTROPHE] != 0
    block = np.empty((BLOCK, 4), np.uint64)
    size = np.int64(0)  # a plain 0 would be a type of its own to the compiler
    while document <= ends.size:
        end = ends[document] if document < ends.size else text.size
        while position < end:
            eight = load8_within(text, position)
            position += first_byte(ascii_letters(eight) | (eight & beyond_ascii))
            if position >= end:
                break
            if size == 0 and words >= limit:
                keep_state(state, words, document, position, tokens)
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
                after = position + length
                folding = beyond_ascii != 0 and text[after] >= 0x80
                if apostrophes and text[after] == APOSTROPHE and length:
                    eight = load8_within(text, after + 1)
                    more = min(leading_letters(eight), end - after - 1)
                    folding = after + 1 < end and (more > 0 or text[after + 1] >= 0x80)
                    joined = length + 1 + more
                    last = position + joined
                    ascii_end = last >= end or (text[last] < 0x80 and text[last] != APOSTROPHE)
                    if ascii_end and more == 1 and text[after + 1] | 0x20 == ord("s"):
                        folding = False  # the word ends before 's
                    elif ascii_end and 0 < more < 8 and joined <= SHORT:  # all of it is short
                        folding, length = False, joined
                        key = head(load8_within(text, position) | CASE_BITS, length)
                        rest = load8_within(text, position + 8) | CASE_BITS
                        rest = head(rest, length - 8) if length > 8 else np.uint64(0)
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
            size = np.int64(0)
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
            number = find(table, entries, arena, words, key, rest, length, np.int64(1))
            words += number == words
            ids[tokens] = number
            tokens += 1
        position = end
        if document < ends.size:
            token_ends[document] = tokens + size
        document += 1
    words = find_block(table, entries, arena, words, block, size, ids, tokens)
    keep_state(state, words, document, position, tokens + size)
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

    ``numbers[i]`` is the new number of word i, or `DROPPED`. The count written up to the end of
    document d goes to ``out_ends[d]``. `out` needs room for one more number than `ids` has, and
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


@njit(nogil=True, cache=True)
def count_words(tokens: Array, counts: Array) -> None:
    """Add how often each word occurs among some tokens."""
    for t in range(tokens.size):
        counts[tokens[t]] += 1


@njit(nogil=True, cache=True)
def count_firsts(
    tokens: Array, offsets: Array, start: int, stop: int, low: int, high: int, counts: Array
) -> None:
    """Add how often each word from `low` up to `high` is followed by a word, in some documents."""
    for document in range(start, stop):
        for t in range(offsets[document], offsets[document + 1] - 1):
            word = np.int64(tokens[t])
            if low <= word < high:
                counts[word - low] += 1


@njit(nogil=True, cache=True)
def group_next(
    tokens: Array, offsets: Array, start: int, stop: int, low: int, high: int,
    free: Array, after: Array,
) -> None:  # fmt: skip
    """Gather the words that follow each word from `low` up to `high`, contiguously per word.

    ``free[word - low]`` is the position in `after` of the next word to write.
    """
    for document in range(start, stop):
        for t in range(offsets[document], offsets[document + 1] - 1):
            word = np.int64(tokens[t])
            if low <= word < high:
                after[free[word - low]] = tokens[t + 1]
                free[word - low] += 1


@njit(nogil=True, cache=True)
def count_pairs(
    after: Array, starts: Array, start: int, stop: int, least: int,
    counter: Array, touched: Array, firsts: Array, seconds: Array, counts: Array,
) -> tuple[int, int]:  # fmt: skip
    """Count the pairs whose first word is one of those from `start` up to `stop`.

    `after` is what `group_next` wrote; the words that follow word w begin at ``starts[w]``.
    `counter` is zero for every word, before and after the call. Pairs that occur at least `least`
    times are written. Returns how many were written, and how many different pairs there are.
    """
    written, different = 0, 0
    for word in range(start, stop):
        found = 0
        for place in range(starts[word], starts[word + 1]):
            second = after[place]
            if counter[second] == 0:
                touched[found] = second
                found += 1
            counter[second] += 1
        different += found
        for k in range(found):
            second = touched[k]
            if counter[second] >= least:
                firsts[written], seconds[written] = word, second
                counts[written] = counter[second]
                written += 1
            counter[second] = 0
    return written, different


@njit(nogil=True, cache=True)
def join_pairs(
    tokens: Array, offsets: Array, start: int, stop: int,
    indptr: Array, seconds: Array, joined: Array, out: Array, ends: Array,
) -> int:  # fmt: skip
    """Write the tokens of some documents with each listed pair as one token, from left to right.

    The pairs of first word w are ``seconds[indptr[w]:indptr[w + 1]]``, sorted, and become the same
    entries of `joined`. The end of each document in `out` is written to `ends`. Returns how many
    tokens were written.
    """
    written = 0
    for document in range(start, stop):
        t, end = offsets[document], offsets[document + 1]
        while t < end:
            word = tokens[t]
            token = np.int64(word)
            if t + 1 < end:
                following, last = tokens[t + 1], indptr[word + 1]
                pair = lower_bound(seconds, indptr[word], last, following)
                if pair < last and seconds[pair] == following:
                    token = joined[pair]
                    t += 1
            out[written] = token
            written += 1
            t += 1
        ends[document - start] = written
    return written
