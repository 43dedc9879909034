"""Streams of tokens: encode them with another vocabulary, count adjacent pairs, join pairs."""

from __future__ import annotations

import tempfile
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import (
    cut_for_threads,
    cut_to_size,
    ends_of,
    for_each,
    id_dtype,
    in_order,
)
from qwem._internal.files import release, require_disk
from qwem._internal.resources import thread_count
from qwem.corpus import kernels
from qwem.corpus._encoding import Interner, write_tokens
from qwem.corpus._text import packed
from qwem.corpus.corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.vocabulary import Vocabulary

DELIMITER = "_"
"""The character between the words of a phrase."""

_GROUPED_TOKENS = 1 << 26  # tokens whose followers are held in memory at a time
_CHUNK_TOKENS = 1 << 21


class TokenStream(NamedTuple):
    """Token ids by document, with the spelling and the count of each id."""

    tokens: NDArray[Any]
    offsets: NDArray[np.int64]
    words: list[str]
    counts: NDArray[np.int64]


def stream_of(corpus: Corpus) -> TokenStream:
    """Return the tokens of a corpus as a stream; the spelling of a masked word is empty.

    Words are counted again, because a part of a corpus carries the counts of the whole.
    """
    words = list(corpus.vocabulary.words)
    if corpus.mask_id is not None:
        words.append("")
    return TokenStream(corpus.tokens, corpus.offsets, words, corpus.token_counts()[: len(words)])


def document_chunks(
    offsets: NDArray[np.int64], first: int = 0, last: int | None = None
) -> list[tuple[int, int]]:
    """Split documents `first` up to `last` (by default all) into chunks, between documents.

    A chunk has about `_CHUNK_TOKENS` tokens, or is a single document that has more.
    """
    ends = offsets[first : None if last is None else last + 1]
    return [(first + start, first + stop) for start, stop in cut_to_size(ends, _CHUNK_TOKENS)]


def renumbered(
    tokens: NDArray[Any],
    offsets: NDArray[np.int64],
    numbers: NDArray[np.uint32],
    dtype: np.dtype[Any],
) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Yield chunks of tokens with new numbers, each with the ends of its documents.

    ``numbers[i]`` is the new number of word i, or `kernels.DROPPED`.
    """

    def renumber(documents: tuple[int, int]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        first, last = documents
        chunk = tokens[offsets[first] : offsets[last]]
        ends = offsets[first + 1 : last + 1] - offsets[first]
        out, out_ends = np.empty(chunk.size + 1, dtype), np.empty_like(ends)
        kept = np.ones(ends.size + 1, np.bool_)
        ids = np.asarray(chunk).astype(np.uint32, copy=False)
        written = kernels.renumber(ids, ends, kept, numbers, out, out_ends)
        release(chunk)
        return out[:written], out_ends

    return in_order(renumber, document_chunks(offsets), thread_count())


def recode(corpora: Sequence[Corpus], vocabulary: Vocabulary, oov: str, folder: Path) -> Corpus:
    """Concatenate corpora and encode them with another vocabulary, into a folder."""
    masked = oov == "mask"
    dtype = id_dtype(len(vocabulary) + masked)
    other = len(vocabulary) if masked else kernels.DROPPED
    known = Interner()
    known.intern(*packed(vocabulary.words), amount=0)
    most = sum(corpus.tokens.size for corpus in corpora)
    require_disk(dtype.itemsize * most, "Encoding this text in other words")

    def recoded(corpus: Corpus) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        numbers = known.look_up(*packed(corpus.vocabulary.words), other)
        numbers = np.append(numbers, np.uint32(other))  # for the mask id
        return renumbered(corpus.tokens, corpus.offsets, numbers, dtype)

    kept = 0

    def count(chunk: tuple[NDArray[Any], NDArray[np.int64]]) -> tuple[Any, Any]:
        nonlocal kept
        kept += int(np.count_nonzero(chunk[0] < len(vocabulary)))
        return chunk

    chunks = map(count, chain.from_iterable(map(recoded, corpora)))
    written, first = write_tokens(folder, dtype, chunks), corpora[0]
    made = {"vocab_size": len(vocabulary), "oov": oov, "words_kept": kept}
    settings = {**first.settings, **made}
    return Corpus.of_tokens(*written, vocabulary, settings, first.first_document, first.phrases)


def count_following(
    stream: TokenStream, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Count pairs of adjacent words.

    Returns the pairs that occur at least `least` times, their counts, and the number of all
    different pairs. To bound memory, the pairs of some first words are counted at a time; these
    words occur about `_GROUPED_TOKENS` times together.
    """
    found = [
        _count_following(stream, low, high, least)
        for low, high in cut_to_size(ends_of(stream.counts), _GROUPED_TOKENS)
    ]
    pairs = np.concatenate([pairs for pairs, _, _ in found] or [np.empty((0, 2), np.int64)])
    numbers = np.concatenate([number for _, number, _ in found] or [np.empty(0, np.int64)])
    spelled = np.array([bool(word) for word in stream.words])
    real = spelled[pairs].all(axis=1)
    return pairs[real], numbers[real], sum(different for _, _, different in found)


def _count_following(
    stream: TokenStream, low: int, high: int, least: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Count the pairs whose first word is one of those from `low` up to `high`.

    The words that follow each of them are gathered, and then counted.
    """
    tokens, offsets, words, _ = stream
    documents = cut_for_threads(offsets, thread_count())
    threads = range(len(documents))
    per_thread = np.zeros((len(documents), high - low), np.int64)

    def chunks(thread: int) -> Iterator[tuple[int, int]]:
        for first, last in document_chunks(offsets, *documents[thread]):
            yield first, last
            release(tokens[offsets[first] : offsets[last]])

    def count_firsts(thread: int) -> None:
        for chunk in chunks(thread):
            kernels.count_firsts(tokens, offsets, *chunk, low, high, per_thread[thread])

    for_each(count_firsts, threads)
    starts = ends_of(per_thread.sum(axis=0))
    free = starts[:-1] + np.cumsum(per_thread, axis=0) - per_thread
    after = np.empty(starts[-1], np.uint32)

    def gather(thread: int) -> None:
        for chunk in chunks(thread):
            kernels.group_next(tokens, offsets, *chunk, low, high, free[thread], after)

    for_each(gather, threads)

    def count(block: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        room = int(starts[block[1]] - starts[block[0]]) // least + 1
        first, second, number = np.empty((3, room), np.int64)
        counter, touched = np.zeros(len(words), np.uint32), np.empty(len(words), np.uint32)
        written, different = kernels.count_pairs(
            after, starts, *block, least, counter, touched, first, second, number
        )
        pairs = np.stack([first[:written] + low, second[:written]], axis=1)
        return pairs, number[:written].copy(), different

    found = list(in_order(count, cut_for_threads(starts, 8 * thread_count()), thread_count()))
    return (
        np.concatenate([pairs for pairs, _, _ in found]),
        np.concatenate([number for _, number, _ in found]),
        sum(different for _, _, different in found),
    )


def join_pairs(stream: TokenStream, pairs: NDArray[np.int64]) -> TokenStream:
    """Return a stream in which each of these pairs is one token; new tokens get the next ids."""
    tokens, offsets, words, _ = stream
    place = {word: number for number, word in enumerate(words) if DELIMITER in word}
    words = list(words)
    ids = np.empty(len(pairs), np.int64)
    for row, (first, second) in enumerate(pairs.tolist()):
        name = words[first] + DELIMITER + words[second]
        ids[row] = place.setdefault(name, len(words))
        if ids[row] == len(words):
            words.append(name)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    seconds, joined = pairs[order, 1], ids[order]
    indptr = np.searchsorted(pairs[order, 0], np.arange(len(words) + 1))

    def join(documents: tuple[int, int]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        first, last = documents
        out = np.empty(offsets[last] - offsets[first], np.uint32)
        ends = np.empty(last - first, np.int64)
        written = kernels.join_pairs(
            tokens, offsets, first, last, indptr, seconds, joined, out, ends
        )
        release(tokens[offsets[first] : offsets[last]])
        return out[:written], ends

    counts = np.zeros(len(words), np.int64)
    all_ends = [np.zeros(1, np.int64)]
    written = 0
    require_disk(4 * tokens.size, "Joining the phrases of this text")
    with tempfile.TemporaryFile() as file:  # has no name, so it is always removed
        for chunk, ends in in_order(join, document_chunks(offsets), thread_count()):
            file.write(chunk.data)
            kernels.count_words(chunk, counts)
            all_ends.append(ends + written)
            written += chunk.size
        file.flush()
        mapped: Any = (
            np.memmap(file, np.uint32, "r", shape=written) if written else np.empty(0, np.uint32)
        )
    return TokenStream(mapped, np.concatenate(all_ends), words, counts)
