"""Encoded text in other words: token ids are renumbered, and no text is read."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.blocks import blocks
from qwem._internal.mapped import release
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
from qwem.corpus.encoder import id_dtype
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
    other = len(vocabulary) if masked else kernels.DROPPED
    known = Interner()
    known.intern(*packed(vocabulary.words), amount=0)
    digest, offsets, written = hashlib.sha256(), [np.zeros(1, np.int64)], 0
    require_temporary_disk(
        dtype.itemsize * sum(text.tokens.size for text in texts),
        "Encoding this text in other words",
    )
    with destination(None) as folder:
        with (folder / TOKENS_FILE).open("wb") as file:
            for text in texts:
                if isinstance(text, Corpus):
                    found = known.look_up(*packed(text.vocabulary.words), other)
                    numbers, kept = np.append(found, np.uint32(other)), None
                else:
                    numbers = text.by_id(known.look_up(*text.packed(), other), other)
                    kept = text.kept
                ends = write_renumbered(
                    file, text.tokens, text.offsets, numbers, dtype, kept=kept, digest=digest
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
        recoded = Corpus(
            tokens, np.concatenate(offsets), vocabulary, settings, first_document, phrases
        )
        remember_fingerprint(recoded, finish_fingerprint(digest, recoded))
    return recoded


def _count_below(tokens: NDArray[Any], limit: int) -> int:
    """Return how many tokens are below a limit."""
    found = 0
    for block in blocks(tokens.size, most=_BLOCK_TOKENS):
        found += int(np.count_nonzero(tokens[block] < limit))
        release(tokens[block])
    return found
