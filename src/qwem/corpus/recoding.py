"""Encoded text in other words: token ids are renumbered, and no text is read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import id_dtype
from qwem._internal.blocks import blocks
from qwem._internal.inputs import release
from qwem._internal.resources import require_temporary_disk
from qwem.corpus import kernels
from qwem.corpus.building import destination
from qwem.corpus.corpus import (
    TOKENS_FILE,
    Corpus,
    finish_fingerprint,
    map_tokens,
    remember_fingerprint,
)
from qwem.corpus.interner import Interner, packed
from qwem.corpus.token_stream import write_renumbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from qwem.corpus.encoded_piece import EncodedPiece
    from qwem.corpus.vocabulary import Vocabulary

_BLOCK_TOKENS = 1 << 24


def recode(
    texts: Sequence[Corpus] | Sequence[EncodedPiece],
    vocabulary: Vocabulary,
    oov: str,
    first_document: int = 0,
) -> Corpus:
    """Return texts that follow each other as one corpus in other words; see `Corpus.recode`."""
    masked = oov == "mask"
    dtype = id_dtype(len(vocabulary) + masked)
    known = _Known(vocabulary, oov)
    digest, offsets, written = hashlib.sha256(), [np.zeros(1, np.int64)], 0
    most = sum(text.tokens.size for text in texts)
    require_temporary_disk(dtype.itemsize * most, "Encoding this text in other words")
    with destination(None) as folder:
        with (folder / TOKENS_FILE).open("wb") as file:
            for text in texts:
                ends = write_renumbered(
                    file,
                    text.tokens,
                    text.offsets,
                    known.numbers(text),
                    dtype,
                    kept=None if isinstance(text, Corpus) else text.kept,
                    digest=digest,
                )
                offsets.append(ends + written)
                written += int(ends[-1]) if ends.size else 0
        tokens = map_tokens(folder / TOKENS_FILE, dtype, written)
    settings = {
        **texts[0].settings,
        "vocab_size": len(vocabulary),
        "oov": oov,
        "words_kept": _count_below(tokens, len(vocabulary)) if masked else tokens.size,
    }
    phrases = texts[0].phrases if isinstance(texts[0], Corpus) else None
    recoded = Corpus(tokens, np.concatenate(offsets), vocabulary, settings, first_document, phrases)
    remember_fingerprint(recoded, finish_fingerprint(digest, recoded))
    return recoded


@dataclass(frozen=True, eq=False)
class RecodedPieces:
    """Encoded pieces that follow each other, in the words of a vocabulary.

    As a corpus they would have token ids of their own; here these are found when they are needed.
    """

    pieces: Sequence[EncodedPiece]
    vocabulary: Vocabulary
    oov: str
    first_document: int = 0

    def __len__(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the pieces and the words, equal for equal ones."""
        digest = hashlib.sha256(f"{self.oov} {self.first_document}".encode())
        for piece in self.pieces:
            digest.update(piece.fingerprint.encode())
        digest.update("\n".join(self.vocabulary.words).encode("utf-8", "surrogatepass"))
        digest.update(self.vocabulary.counts.astype("<i8").data)
        return digest.hexdigest()

    @cached_property
    def numbers(self) -> list[NDArray[np.uint32]]:
        """For each piece, the number of each id: that of its word, or what `oov` makes of it."""
        known = _Known(self.vocabulary, self.oov)
        return [known.numbers(piece) for piece in self.pieces]

    @cached_property
    def documents_before(self) -> list[int]:
        """The number of the first document of each piece."""
        sizes = np.cumsum([self.first_document, *(len(piece) for piece in self.pieces)])
        return [int(size) for size in sizes[:-1]]

    def word_counts(self) -> NDArray[np.int64]:
        """Return how often each word of the vocabulary occurs in these pieces."""
        counts = np.zeros(len(self.vocabulary) + 1, np.int64)
        for piece, numbers in zip(self.pieces, self.numbers, strict=True):
            words = np.minimum(numbers[piece.ids], len(self.vocabulary))
            np.add.at(counts, words, piece.words["count"].to_numpy())
        return counts[:-1]

    def corpus(self) -> Corpus:
        """Return the same as a corpus."""
        return recode(self.pieces, self.vocabulary, self.oov, self.first_document)


class _Known:
    """The words of a vocabulary, to look up those of a text."""

    def __init__(self, vocabulary: Vocabulary, oov: str) -> None:
        self._words = Interner()
        self._words.intern(*packed(vocabulary.words), amount=0)
        self._other = len(vocabulary) if oov == "mask" else kernels.DROPPED

    def numbers(self, text: Corpus | EncodedPiece) -> NDArray[np.uint32]:
        """Return the number of each token id of a text."""
        if isinstance(text, Corpus):
            found = self._words.look_up(*packed(text.vocabulary.words), self._other)
            return np.append(found, np.uint32(self._other))
        found = self._words.look_up(*text.packed(), self._other)
        return text.by_id(found, self._other)


def _count_below(tokens: NDArray[Any], limit: int) -> int:
    """Return how many tokens are below a limit."""
    found = 0
    for block in blocks(tokens.size, most=_BLOCK_TOKENS):
        found += int(np.count_nonzero(tokens[block] < limit))
        release(tokens[block])
    return found
