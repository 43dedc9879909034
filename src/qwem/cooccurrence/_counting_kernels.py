"""Counting kernels: plain arrays in, plain arrays out, no Python objects, no GIL.

A chunk of the corpus is first laid out as a *stream*: its word ids with `window` gaps after each
document, frequent words subsampled, so that the window of any position can be read without looking
up where the document ends. A gap has the id `vocab_size`, one past the last word; rows have one
more cell for it, which is thrown away. Then, for each word, its positions in the stream are walked
and their windows added into that word's row, which stays in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import GOLDEN, mix, njit, prefetch

AHEAD = 8
"""How many positions ahead to prefetch: windows are scattered over the stream, and waiting for
memory would otherwise take most of the time."""


@njit(nogil=True, cache=True)
def is_kept(word: Any, thresholds: Any, document_key: Any, position: Any) -> Any:
    """Return whether a token is kept, given its document's key and its position there.

    `thresholds` has one of every word, and one of gaps that no draw reaches; or it is empty.
    """
    if len(thresholds) == 0:
        return True
    draw = mix(document_key + np.uint64(position) * GOLDEN) >> np.uint64(11)
    return draw < thresholds[word]


@njit(nogil=True, cache=True)
def document_key(key: Any, document: Any) -> Any:
    """Return the key that decides which tokens of one document are kept."""
    return mix(key ^ mix(np.uint64(document) + GOLDEN))


@njit(nogil=True, cache=True)
def fill_stream(
    tokens: Any, offsets: Any, start: Any, stop: Any, gap: Any, window: Any,
    thresholds: Any, key: Any, first_document: Any, occurrences: Any, stream: Any, at: Any,
) -> Any:  # fmt: skip
    """Write the tokens from `start` to `stop` into `stream` from `at` on, and return their end.

    The words that are written are counted in `occurrences`. Every token is written, and the next
    one over it if it is not kept: a branch that can't be foreseen would take longer.
    """
    document = np.searchsorted(offsets, start, side="right") - 1
    while start < stop:
        end = min(stop, offsets[document + 1])
        draw_key = document_key(key, first_document + document)
        for t in range(start, end):
            word = tokens[t]
            keep = np.int64(is_kept(word, thresholds, draw_key, t - offsets[document]))
            stream[at] = word
            occurrences[word] += keep
            at += keep
        if end == offsets[document + 1] and end > offsets[document]:
            stream[at : at + window] = gap
            at += window
        start = end
        document += 1
    return at


@njit(nogil=True, cache=True)
def move_left(stream: Any, source: Any, target: Any, size: Any) -> None:
    """Move some tokens of the stream from `source` to `target`, which is not after it."""
    for i in range(size):
        stream[target + i] = stream[source + i]


@njit(nogil=True, cache=True)
def fill_margins(
    tokens: Any, offsets: Any, start: Any, stop: Any, gap: Any, window: Any,
    thresholds: Any, key: Any, first_document: Any, stream: Any,
) -> None:  # fmt: skip
    """Write what lies within `window` before `start` and after `stop` to the ends of `stream`.

    Where the chunk begins or ends inside a document, its first and last windows reach out of it.
    """
    length = len(stream)
    for i in range(window):
        stream[i] = gap
        stream[length - 1 - i] = gap

    document = np.searchsorted(offsets, start, side="right") - 1
    draw_key = document_key(key, first_document + document)
    t, at = start - 1, window - 1
    while t >= offsets[document] and at >= 0:
        word = tokens[t]
        if is_kept(word, thresholds, draw_key, t - offsets[document]):
            stream[at] = word
            at -= 1
        t -= 1

    document = np.searchsorted(offsets, stop, side="left") - 1
    draw_key = document_key(key, first_document + document)
    t, at = stop, length - window
    while t < offsets[document + 1] and at < length:
        word = tokens[t]
        if is_kept(word, thresholds, draw_key, t - offsets[document]):
            stream[at] = word
            at += 1
        t += 1


@njit(nogil=True, cache=True)
def count_words(tokens: Any, start: Any, stop: Any, occurrences: Any) -> None:
    """Count the words of a part of the text, gaps too."""
    for t in range(start, stop):
        occurrences[tokens[t]] += 1


@njit(nogil=True, cache=True)
def index_positions(stream: Any, start: Any, stop: Any, free: Any, positions: Any) -> None:
    """Write each position of a part of the stream to the next free place of its word."""
    words = len(free)
    for p in range(start, stop):
        word = stream[p]
        if word < words:
            positions[free[word]] = p
            free[word] += 1


@njit(nogil=True, cache=True)
def count_rows_after(
    stream: Any, positions: Any, starts: Any, weights: Any, spans: Any, first: Any, last: Any,
    counts: Any,
) -> None:  # fmt: skip
    """Add, for each word from `first` to `last`, what follows it, to the counts of each slot.

    ``weights[s, d]`` is what a pair at distance d + 1 counts for in slot s, and is zero unless d
    lies in ``spans[s]``.
    """
    slots, words = len(counts), counts.shape[2]
    window = weights.shape[1]
    indexed = len(positions)
    row = np.zeros((slots, words + 1), counts.dtype)
    for word in range(first, last):
        row[:] = 0
        for q in range(starts[word], starts[word + 1]):
            if q + AHEAD < indexed:
                prefetch(stream, positions[q + AHEAD])
                prefetch(stream, positions[q + AHEAD] + window)
            after = np.int64(positions[q]) + 1
            for slot in range(slots):
                for distance in range(spans[slot, 0], spans[slot, 1]):
                    row[slot, stream[after + distance]] += weights[slot, distance]
        for slot in range(slots):
            for other in range(words):
                counts[slot, word, other] += row[slot, other]


@njit(nogil=True, cache=True)
def count_rows_below(
    stream: Any, positions: Any, starts: Any, weights: Any, spans: Any, sides: Any, channels: Any,
    head: Any, first: Any, last: Any,
    row: Any, touched: Any, touched_words: Any, stretches: Any, stretch_words: Any,
    before_starts: Any, before_lengths: Any, before_columns: Any, before_values: Any,
    row_starts: Any, row_lengths: Any, columns: Any, values: Any, at: Any,
) -> None:  # fmt: skip
    """Write each rare word's neighbours of equal or higher frequency, from `at` on.

    Row r is that of word ``head + r``, and goes on from what was counted before. A neighbour has
    `channels` columns, one for each slot and side: ``sides[s]`` are the channels of what comes
    after the word and of what comes before it in slot s, which are the same if the slot is
    symmetric. A word that follows itself is counted from its first place, and in a symmetric slot
    from both.

    `row`, `touched` and `stretches` are all zero on entry and on return. A byte of `touched` tells
    that one of the 8 cells of a group has been added to, a byte of `stretches` that one of 512 has,
    so that a rare word's row need not be searched from end to end; `touched_words` and
    `stretch_words` are the memory of these two, read 8 bytes at a time.
    """
    slots, window = weights.shape
    indexed = len(positions)
    for r in range(first, last):
        word = head + r
        for k in range(before_starts[r], before_starts[r] + before_lengths[r]):
            row[before_columns[k]] = before_values[k]
            touched[before_columns[k] >> 3] = 1
            stretches[before_columns[k] >> 9] = 1
        for q in range(starts[word], starts[word + 1]):
            if q + AHEAD < indexed:
                prefetch(stream, positions[q + AHEAD] - window)
                prefetch(stream, positions[q + AHEAD] + window)
            centre = np.int64(positions[q])
            for slot in range(slots):
                after, before = sides[slot, 0], sides[slot, 1]
                most = word + np.int64(after == before)
                for distance in range(spans[slot, 0], spans[slot, 1]):
                    other = np.int64(stream[centre - 1 - distance])
                    if other < most:
                        cell = other * channels + before
                        row[cell] += weights[slot, distance]
                        touched[cell >> 3] = 1
                        stretches[cell >> 9] = 1
                    other = np.int64(stream[centre + 1 + distance])
                    if other <= word:
                        cell = other * channels + after
                        row[cell] += weights[slot, distance]
                        touched[cell >> 3] = 1
                        stretches[cell >> 9] = 1
        row_starts[r] = at
        end = (word + 1) * channels
        for eight in range((end + 4095) >> 12):
            if stretch_words[eight] == 0:
                continue
            for stretch in range(8 * eight, 8 * eight + 8):
                if stretches[stretch] == 0:
                    continue
                for many in range(8 * stretch, 8 * stretch + 8):
                    if touched_words[many] == 0:
                        continue
                    for group in range(8 * many, 8 * many + 8):
                        if touched[group] == 0:
                            continue
                        for cell in range(8 * group, min(end, 8 * group + 8)):
                            if row[cell]:
                                columns[at] = cell
                                values[at] = row[cell]
                                row[cell] = 0
                                at += 1
                    touched_words[many] = 0
            stretch_words[eight] = 0
        row_lengths[r] = at - row_starts[r]
