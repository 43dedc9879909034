"""Kernels for counting and for sparse rows: plain arrays in, plain arrays out, no GIL.

A chunk of the corpus is first laid out as a *stream*: its word ids, subsampled, with `window` gaps
after each document. So the window of any position can be read without looking up where the document
ends. A gap has the id `vocab_size`, one past the last word; rows have one more cell for it, which
is discarded. Then, for each word, the windows of all its positions are added to that word's row,
which stays in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from qwem._internal.kernels import GOLDEN, lower_bound, mix, njit, prefetch

AHEAD = 8
"""The number of positions to prefetch ahead. Windows are scattered over the stream, and waiting for
memory would otherwise take most of the time."""


@njit(nogil=True, cache=True)
def is_kept(word: Any, thresholds: Any, document_key: Any, position: Any) -> Any:
    """Return whether a token is kept, given its document's key and its position in the document.

    `thresholds` has one entry per word and one for gaps, which are always kept. If it is empty,
    every token is kept.
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

    The words that are kept are counted in `occurrences`. Every token is written, and overwritten by
    the next if it is not kept, because an unpredictable branch would be slower.
    """
    document = lower_bound(offsets, 0, offsets.size, start + 1) - 1
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
    """Write the `window` tokens before `start` and after `stop` to the ends of `stream`.

    If the chunk begins or ends inside a document, its first or last windows reach beyond it.
    """
    length = len(stream)
    for i in range(window):
        stream[i] = gap
        stream[length - 1 - i] = gap

    document = lower_bound(offsets, 0, offsets.size, start + 1) - 1
    draw_key = document_key(key, first_document + document)
    t, at = start - 1, window - 1
    while t >= offsets[document] and at >= 0:
        word = tokens[t]
        if is_kept(word, thresholds, draw_key, t - offsets[document]):
            stream[at] = word
            at -= 1
        t -= 1

    document = lower_bound(offsets, 0, offsets.size, stop) - 1
    draw_key = document_key(key, first_document + document)
    t, at = stop, length - window
    while t < offsets[document + 1] and at < length:
        word = tokens[t]
        if is_kept(word, thresholds, draw_key, t - offsets[document]):
            stream[at] = word
            at += 1
        t += 1


@njit(nogil=True, cache=True)
def index_positions(stream: Any, start: Any, stop: Any, free: Any, positions: Any) -> None:
    """Write each position from `start` to `stop` to the next free place of its word."""
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
    """Add the words that follow each word from `first` to `last` to the counts of each slot.

    ``weights[s, d]`` is the weight of a pair at distance d + 1 in slot s, which is zero unless d is
    in the range ``spans[s]``.
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

    Row r is that of word ``head + r``, and starts from the counts before. A neighbour has
    `channels` columns, one for each slot and side: ``sides[s]`` are the channels of words after and
    before the word in slot s, which are the same if the slot is symmetric. A word that follows
    itself is counted once, from its first occurrence, and in a symmetric slot from both.

    `row`, `touched` and `stretches` are all zero on entry and on return. A byte of `touched` is set
    if one of 8 cells has been added to, a byte of `stretches` if one of 512 has, so that a rare
    word's row need not be searched from end to end. `touched_words` and `stretch_words` are views
    of these two, of 8 bytes at a time.
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


@njit(nogil=True, cache=True)
def merge_rows(
    starts: Any, lengths: Any, columns: Any, values: Any,
    other_starts: Any, other_lengths: Any, other_columns: Any, other_values: Any,
    first: Any, last: Any,
    out_starts: Any, out_lengths: Any, out_columns: Any, out_values: Any,
) -> None:  # fmt: skip
    """Add rows `first` to `last` of two sparse matrices whose columns are sorted in each row."""
    at = 0
    for r in range(first, last):
        out_starts[r - first] = at
        i, stop = starts[r], starts[r] + lengths[r]
        j, other_stop = other_starts[r], other_starts[r] + other_lengths[r]
        while i < stop or j < other_stop:
            take = i < stop and (j == other_stop or columns[i] <= other_columns[j])
            take_other = j < other_stop and (i == stop or other_columns[j] <= columns[i])
            out_columns[at] = columns[i] if take else other_columns[j]
            out_values[at] = 0
            if take:
                out_values[at] += values[i]
                i += 1
            if take_other:
                out_values[at] += other_values[j]
                j += 1
            at += 1
        out_lengths[r - first] = at - out_starts[r - first]


@njit(nogil=True, cache=True)
def subtract_rows(
    starts: Any, lengths: Any, columns: Any, values: Any,
    part_starts: Any, part_lengths: Any, part_columns: Any, part_values: Any,
    out_starts: Any, out_lengths: Any, out_columns: Any, out_values: Any,
) -> Any:  # fmt: skip
    """Write rows less a part of them, without zeros; return False if some count is larger."""
    at = 0
    for r in range(len(starts)):
        out_starts[r] = at
        j, stop = part_starts[r], part_starts[r] + part_lengths[r]
        for i in range(starts[r], starts[r] + lengths[r]):
            value = values[i]
            if j < stop and part_columns[j] == columns[i]:
                if part_values[j] > value:
                    return False
                value -= part_values[j]
                j += 1
            if value:
                out_columns[at] = columns[i]
                out_values[at] = value
                at += 1
        if j < stop:
            return False
        out_lengths[r] = at - out_starts[r]
    return True


@njit(nogil=True, cache=True)
def count_passages(
    tokens: Any, offsets: Any, passages_of: Any, first: Any, last: Any, words: Any,
    thresholds: Any, keys: Any, first_document: Any, word_digests: Any,
    digests: Any, lengths: Any, columns: Any, values: Any,
) -> Any:  # fmt: skip
    """Count the words of the passages of documents `first` to `last`; return how many were written.

    A document is divided into ``passages_of[document]`` passages of equal size. Of each, a digest
    of its words is written, and how many different words follow in `columns` and `values`, sorted.
    The words that are kept, as in `fill_stream`, are added over all `keys`. Ids from `words` on are
    no words.
    """
    times = np.zeros(words + 1, np.uint32)
    # A byte is set if one of 8 words has been counted, so that the others need not be looked at.
    touched_words = np.zeros((words >> 6) + 1, np.uint64)
    touched = touched_words.view(np.uint8)
    passages, stored = 0, 0
    for document in range(first, last):
        start, size = offsets[document], offsets[document + 1] - offsets[document]
        parts = passages_of[document]
        for part in range(parts):
            begin, end = size * part // parts, size * (part + 1) // parts
            digest = np.uint64(end - begin)
            for position in range(begin, end):
                digest = mix(digest ^ word_digests[tokens[start + position]])
            for key in keys:
                draw_key = document_key(key, first_document + document)
                for position in range(begin, end):
                    word = tokens[start + position]
                    keep = is_kept(word, thresholds, draw_key, position) and word < words
                    times[word] += np.uint32(keep)
                    touched[word >> 3] |= np.uint8(keep)
            before = stored
            for many in range(touched_words.size):
                if touched_words[many] == 0:
                    continue
                for group in range(8 * many, 8 * many + 8):
                    if touched[group] == 0:
                        continue
                    for word in range(8 * group, min(8 * group + 8, words)):
                        # Every count is written, and a zero is overwritten by the next.
                        columns[stored], values[stored] = word, times[word]
                        stored += times[word] != 0
                        times[word] = 0
                touched_words[many] = 0
            digests[passages], lengths[passages] = digest, stored - before
            passages += 1
    return stored


@njit(nogil=True, cache=True)
def copy_rows(
    indptr: Any, indices: Any, data: Any, rows: Any, first: Any, last: Any,
    at: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write the rows ``rows[first:last]`` of a CSR matrix; row ``rows[k]`` from ``at[k]`` on."""
    for k in range(first, last):
        start, stop = indptr[rows[k]], indptr[rows[k] + 1]
        for entry in range(start, stop):
            columns[at[k] + entry - start] = indices[entry]
            values[at[k] + entry - start] = data[entry]


@njit(nogil=True, cache=True)
def gather_columns(
    indptr: Any, indices: Any, data: Any, first: Any, last: Any,
    free: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write columns `first` to `last` of a CSR matrix as rows; row j starts at ``free[j]``."""
    for i in range(len(indptr) - 1):
        stop = indptr[i + 1]
        k = lower_bound(indices, indptr[i], stop, first)
        while k < stop and indices[k] < last:
            j = indices[k] - first
            columns[free[j]] = i
            values[free[j]] = data[k]
            free[j] += 1
            k += 1


@njit(nogil=True, cache=True)
def count_channel(
    row_starts: Any, row_lengths: Any, below: Any, channels: Any, head: Any, after: Any,
    before: Any, first: Any, last: Any, own: Any, transposed: Any,
) -> None:  # fmt: skip
    """Count the entries of rows `first` to `last` in one slot: by row and by column.

    Entries of the channel `after` belong to their row, those of `before` to the row of their
    column.
    """
    for r in range(first, last):
        found = 0
        for k in range(row_starts[r], row_starts[r] + row_lengths[r]):
            word = below[k] // channels
            channel = below[k] - word * channels
            found += channel == after
            transposed[word] += channel == before and word != head + r
        own[r] = found


@njit(nogil=True, cache=True)
def place_rows(
    row_starts: Any, row_lengths: Any, below: Any, below_values: Any, channels: Any, head: Any,
    after: Any, first: Any, last: Any, indptr: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write one channel of rows `first` to `last` to their places in CSR arrays."""
    for r in range(first, last):
        at = indptr[head + r]
        for k in range(row_starts[r], row_starts[r] + row_lengths[r]):
            word = below[k] // channels
            if below[k] - word * channels == after:
                columns[at] = word
                values[at] = below_values[k]
                at += 1


@njit(nogil=True, cache=True)
def place_columns(
    row_starts: Any, row_lengths: Any, below: Any, below_values: Any, channels: Any, head: Any,
    before: Any, first: Any, last: Any, free: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write one channel of columns `first` to `last` of all rows, without the diagonal, as rows.

    It is called for one block of columns at a time, so that the ends of its rows fit in the cache.
    """
    for r in range(len(row_starts)):
        stop = row_starts[r] + row_lengths[r]
        k = lower_bound(below, row_starts[r], stop, first * channels)
        while k < stop and below[k] < last * channels:
            j = below[k] // channels
            if below[k] - j * channels == before and j != head + r:
                columns[free[j]] = head + r
                values[free[j]] = below_values[k]
                free[j] += 1
            k += 1


@njit(nogil=True, cache=True)
def count_entries(matrix: Any, first: Any, last: Any, lengths: Any) -> None:
    """Count the nonzero entries of each of the dense rows `first` to `last`."""
    for i in range(first, last):
        entries = 0
        for j in range(matrix.shape[1]):
            entries += matrix[i, j] != 0
        lengths[i] = entries


@njit(nogil=True, cache=True)
def compress_rows(
    matrix: Any, first: Any, last: Any, starts: Any, ends: Any, columns: Any, values: Any
) -> None:
    """Write the nonzero entries of dense rows to their places in CSR arrays.

    Every entry is written, and a zero is overwritten by the next, because an unpredictable branch
    would be slower.
    """
    for i in range(first, last):
        at, j = starts[i], 0
        while at < ends[i]:
            columns[at] = j
            values[at] = matrix[i, j]
            at += matrix[i, j] != 0
            j += 1


@njit(nogil=True, cache=True)
def add_transpose(counts: Any, first: Any, last: Any, tile: Any) -> None:
    """Replace C by C + Cᵀ in rows `first` to `last` from the diagonal on, and in the mirror."""
    size = len(counts)
    for j_start in range(first, size, tile):
        j_stop = min(size, j_start + tile)
        for i in range(first, last):
            for j in range(max(i, j_start), j_stop):
                both = counts[i, j] + counts[j, i]
                counts[i, j] = both
                counts[j, i] = both


@njit(nogil=True, cache=True)
def keep_best(
    first: Any, starts: Any, columns: Any, counts: Any,
    left: Any, right: Any, total: Any, scores: Any, words: Any, ratios: Any,
) -> None:  # fmt: skip
    """Add pairs counted more often than by chance to the best pairs of both words.

    Row i counts the words after word ``first + i``. The lists are sorted by score.
    """
    for row in range(starts.size - 1):
        word = first + row
        for place in range(starts[row], starts[row + 1]):
            other = columns[place]
            expected = left[word] * right[other] / total
            if counts[place] <= expected:
                continue
            ratio = counts[place] / expected
            score = counts[place] * np.log(ratio)
            for side in range(2):
                here, there = (other, word) if side == 0 else (word, other)
                last = scores.shape[2] - 1
                if score <= scores[here, side, last]:
                    continue
                while last > 0 and scores[here, side, last - 1] < score:
                    scores[here, side, last] = scores[here, side, last - 1]
                    words[here, side, last] = words[here, side, last - 1]
                    ratios[here, side, last] = ratios[here, side, last - 1]
                    last -= 1
                scores[here, side, last] = score
                words[here, side, last] = there
                ratios[here, side, last] = ratio
