"""Text as the counter sees it: how often each word occurs, and chunks that are laid out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.blocks import blocks, even_cuts
from qwem._internal.inputs import release
from qwem.cooccurrence.layout import Part
from qwem.errors import CountError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from qwem.cooccurrence.layout import Chunk, Layout
    from qwem.corpus import Corpus


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
