"""Streams of tokens: encode them with another vocabulary, count adjacent pairs, join pairs."""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.arrays import blocks, cut_evenly, id_dtype, in_order
from qwem._internal.files import release
from qwem._internal.resources import require_temporary_disk, thread_count
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
    counts = np.zeros(len(words), np.int64)
    for block in blocks(corpus.tokens.size, most=_CHUNK_TOKENS):
        kernels.count_words(corpus.tokens, block.start, block.stop, counts)
        release(corpus.tokens[block])
    return TokenStream(corpus.tokens, corpus.offsets, words, counts)


def document_chunks(
    offsets: NDArray[np.int64], first: int = 0, last: int | None = None
) -> list[tuple[int, int]]:
    """Split documents `first` up to `last` (by default all) into chunks, between documents.

    A chunk has about `_CHUNK_TOKENS` tokens, or is a single document that has more.
    """
    ends = offsets[first : None if last is None else last + 1]
    runs = cut_evenly(ends - ends[0], -(-int(ends[-1] - ends[0]) // _CHUNK_TOKENS) or 1)
    return [(first + start, first + stop) for start, stop in runs]


def renumbered(
    tokens: NDArray[Any],
    offsets: NDArray[np.int64],
    numbers: NDArray[np.uint32],
    dtype: np.dtype[Any],
) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
    """Yield the tokens of documents with new numbers, in parts, and where documents end in each.

    ``numbers[i]`` is the new number of word i, or `kernels.DROPPED`.
    """

    def renumber(run: tuple[int, int]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        start, stop = offsets[list(run)]
        part = tokens[start:stop]
        ends = offsets[run[0] + 1 : run[1] + 1] - start
        out, out_ends = np.empty(part.size + 1, dtype), np.empty_like(ends)
        kept = np.ones(ends.size + 1, np.bool_)
        ids = np.asarray(part).astype(np.uint32, copy=False)
        written = kernels.renumber(ids, ends, kept, numbers, out, out_ends)
        release(part)
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
    require_temporary_disk(dtype.itemsize * most, "Encoding this text in other words")

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
    different pairs. The words that follow each word are gathered and counted, for about
    `_GROUPED_TOKENS` tokens at a time, to bound memory.
    """
    tokens, offsets, words, counts = stream
    threads = thread_count()

    def chunks(part: tuple[int, int]) -> Iterator[tuple[int, int]]:
        for first, last in document_chunks(offsets, *part):
            yield first, last
            release(tokens[offsets[first] : offsets[last]])

    ends = np.concatenate(([0], np.cumsum(counts)))
    groups = cut_evenly(ends, -(-int(ends[-1]) // _GROUPED_TOKENS) or 1)
    parts = cut_evenly(offsets, threads)
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    different = 0
    with ThreadPoolExecutor(threads) as pool:
        for low, high in groups:
            per_part = np.zeros((len(parts), high - low), np.int64)

            def count_firsts(
                k: int, low: int = low, high: int = high, into: Any = per_part
            ) -> None:
                for chunk in chunks(parts[k]):
                    kernels.count_firsts(tokens, offsets, *chunk, low, high, into[k])

            list(pool.map(count_firsts, range(len(parts))))
            starts = np.concatenate(([0], np.cumsum(per_part.sum(axis=0))))
            free = starts[:-1] + np.cumsum(per_part, axis=0) - per_part
            after = np.empty(starts[-1], np.uint32)

            def group(
                k: int, low: int = low, high: int = high, at: Any = free, to: Any = after
            ) -> None:
                for chunk in chunks(parts[k]):
                    kernels.group_next(tokens, offsets, *chunk, low, high, at[k], to)

            list(pool.map(group, range(len(parts))))

            def count(
                run: tuple[int, int], starts: Any = starts, after: Any = after, low: int = low
            ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
                room = int(starts[run[1]] - starts[run[0]]) // least + 1
                first, second, number = np.empty((3, room), np.int64)
                counter, touched = np.zeros(len(words), np.uint32), np.empty(len(words), np.uint32)
                written, all_pairs = kernels.count_pairs(
                    after, starts, *run, least, counter, touched, first, second, number
                )
                pairs = np.stack([first[:written] + low, second[:written]], axis=1)
                return pairs, number[:written].copy(), all_pairs

            for pairs, number, all_pairs in pool.map(count, cut_evenly(starts, 8 * threads)):
                found.append((pairs, number))
                different += all_pairs
    pairs = np.concatenate([pair for pair, _ in found] or [np.empty((0, 2), np.int64)])
    numbers = np.concatenate([number for _, number in found] or [np.empty(0, np.int64)])
    spelled = np.array([bool(word) for word in words])
    real = spelled[pairs].all(axis=1)
    return pairs[real], numbers[real], different


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

    def join(run: tuple[int, int]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        out = np.empty(offsets[run[1]] - offsets[run[0]], np.uint32)
        ends = np.empty(run[1] - run[0], np.int64)
        written = kernels.join_pairs(tokens, offsets, *run, indptr, seconds, joined, out, ends)
        release(tokens[offsets[run[0]] : offsets[run[1]]])
        return out[:written], ends

    counts = np.zeros(len(words), np.int64)
    all_ends = [np.zeros(1, np.int64)]
    written = 0
    require_temporary_disk(4 * tokens.size, "Joining the phrases of this text")
    with tempfile.TemporaryFile() as file:  # has no name, so it is always removed
        for part, ends in in_order(join, document_chunks(offsets), thread_count()):
            file.write(part.data)
            kernels.count_words(part, 0, part.size, counts)
            all_ends.append(ends + written)
            written += part.size
        file.flush()
        mapped: Any = (
            np.memmap(file, np.uint32, "r", shape=written) if written else np.empty(0, np.uint32)
        )
    return TokenStream(mapped, np.concatenate(all_ends), words, counts)
