"""Text as the counter sees it: how often each word occurs, and chunks that are laid out.

A corpus has its token ids in a file. Pieces of text have ids of their own, and those of the
vocabulary are written straight into the chunk: pieces are read once and nothing is stored.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qwem._internal.arrays import id_dtype
from qwem._internal.blocks import blocks, cut_evenly, even_cuts
from qwem._internal.inputs import release
from qwem.cooccurrence.layout import Part
from qwem.corpus import Corpus
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from qwem.cooccurrence.layout import Chunk, Layout
    from qwem.corpus import RecodedPieces, Vocabulary


class Text(Protocol):
    """What can be counted."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words, and how often each occurs in all text, of which this may be a part."""

    @property
    def size(self) -> int:
        """The number of tokens."""

    @property
    def corpus(self) -> Corpus:
        """The text as a corpus, from which a sample can be taken."""

    def occurrences(self, layout: Layout, chunk_tokens: int) -> NDArray[np.int64]:
        """Return how often each word occurs here."""

    def chunks(
        self, layout: Layout, chunk_tokens: int, limits: NDArray[np.uint64], key: np.uint64
    ) -> Iterator[Chunk]:
        """Lay out one chunk after another; `limits` and `key` decide which tokens are kept."""


def text_of(source: Corpus | RecodedPieces) -> Text:
    """Return a corpus, or pieces in the words of a vocabulary, as the counter sees them."""
    return CorpusText(source) if isinstance(source, Corpus) else PiecesText(source)


class CorpusText:
    """A corpus. Its chunks may begin and end inside a document."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.vocabulary = corpus.vocabulary
        self.size = len(corpus.tokens)

    def occurrences(self, layout: Layout, chunk_tokens: int) -> NDArray[np.int64]:
        """Return how often each word occurs here."""
        from qwem.cooccurrence import kernels

        tokens, words = self.corpus.tokens, len(self.vocabulary)
        found = np.zeros((layout.threads, words + 1), np.int64)
        for block in blocks(self.size, most=chunk_tokens):
            if tokens[block].max() > words:  # the kernels don't check
                raise CountError(
                    "The corpus has ids of words it doesn't know; encode the text again."
                )
            cuts = even_cuts(block.start, block.stop, layout.threads)

            def count(k: int, cuts: NDArray[np.int64] = cuts) -> None:
                kernels.count_words(tokens, cuts[k], cuts[k + 1], found[k])

            layout.map(count, range(layout.threads))
            release(tokens[block])
        occurrences: NDArray[np.int64] = found[:, :words].sum(axis=0)
        return occurrences

    def chunks(
        self, layout: Layout, chunk_tokens: int, limits: NDArray[np.uint64], key: np.uint64
    ) -> Iterator[Chunk]:
        """Lay out one chunk after another; each thread takes a part of it."""
        from qwem.cooccurrence import kernels

        corpus = self.corpus
        text = corpus.tokens, corpus.offsets
        common = layout.words, layout.window, limits, key, corpus.first_document

        def part(start: int, stop: int) -> Part:
            ends = np.diff(np.searchsorted(corpus.offsets, (start, stop), side="right"))
            return Part(
                stop - start + layout.window * int(ends[0]),
                lambda found, stream, at: kernels.fill_stream(
                    *text, start, stop, *common, found, stream, at
                ),
            )

        for block in blocks(self.size, most=chunk_tokens):
            cuts = even_cuts(block.start, block.stop, layout.threads).tolist()
            chunk = layout.lay_out([part(start, stop) for start, stop in pairwise(cuts)])
            kernels.fill_margins(*text, block.start, block.stop, *common, chunk.stream)
            release(corpus.tokens[block])
            yield chunk


class PiecesText:
    """Pieces of text in the words of a vocabulary. Chunks have whole documents."""

    def __init__(self, pieces: RecodedPieces) -> None:
        self._pieces = pieces
        self.vocabulary = pieces.vocabulary
        self.size = sum(piece.size for piece in pieces.pieces)

    @cached_property
    def corpus(self) -> Corpus:
        """The text as a corpus."""
        return self._pieces.corpus()

    def occurrences(self, layout: Layout, chunk_tokens: int) -> NDArray[np.int64]:
        """Return how often each word occurs here, by the lists of the pieces."""
        return self._pieces.word_counts()

    def chunks(
        self, layout: Layout, chunk_tokens: int, limits: NDArray[np.uint64], key: np.uint64
    ) -> Iterator[Chunk]:
        """Lay out one chunk after another; each thread takes some documents of it."""
        pieces = self._pieces.pieces
        lengths = [np.diff(piece.offsets) for piece in pieces]
        ends = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
        firsts = np.cumsum([0, *(each.size for each in lengths)])
        count = layout.threads * -(-int(ends[-1]) // chunk_tokens)
        runs = cut_evenly(ends, count)
        for start in range(0, len(runs), layout.threads):
            several = runs[start : start + layout.threads]
            segments = [
                (number, max(0, first - firsts[number]), min(len(each), last - firsts[number]))
                for first, last in several
                for number, each in enumerate(lengths)
                if first < firsts[number + 1] and last > firsts[number]
            ]
            yield layout.lay_out(
                [self._part(layout, limits, key, *map(int, segment)) for segment in segments]
            )
            for number, first, last in segments:
                offsets = pieces[number].offsets
                release(pieces[number].tokens[offsets[first] : offsets[last]])

    def _numbers(self, number: int, words: int) -> NDArray[Any]:
        """Return the numbers of a piece's ids in the fewest bytes, so that a cache holds them."""
        dropped = words + 1  # what is above a gap
        numbers = np.minimum(self._pieces.numbers[number], dropped)
        return numbers.astype(id_dtype(dropped + 1))

    def _part(
        self,
        layout: Layout,
        limits: NDArray[np.uint64],
        key: np.uint64,
        number: int,
        first: int,
        last: int,
    ) -> Part:
        """Return the documents from `first` to `last` of a piece as a part of a chunk."""
        from qwem.cooccurrence import kernels

        piece = self._pieces.pieces[number]
        text = piece.tokens, piece.offsets, piece.kept, self._numbers(number, layout.words)
        before = self._pieces.documents_before[number] + int(np.count_nonzero(piece.kept[:first]))
        kept = piece.kept[first:last]
        tokens = np.diff(piece.offsets[first : last + 1])[kept].sum()

        def fill(found: NDArray[np.int64], stream: NDArray[Any], at: int) -> int:
            documents = first, last, before
            common = layout.words, layout.window, limits, key
            end: int = kernels.fill_recoded(*text, *documents, *common, found, stream, at)
            return end

        return Part(int(tokens) + layout.window * int(np.count_nonzero(kept)), fill)
