"""Pieces of text as token ids, with all their words, until those of the whole text are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.resources import require_disk
from qwem._internal.word_lists import WORDS_FILE, packed_words, read_list, sorted_list, write_list
from qwem.corpus.corpus import TOKENS_FILE, map_tokens
from qwem.corpus.encoder import id_dtype
from qwem.corpus.token_stream import TokenStream, write_renumbered

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.files import PathLike
    from qwem.corpus.phrases import Phrases

KIND = "piece"
_OFFSETS, _OFFSETS_FILE = "offsets", "offsets.safetensors"


@dataclass(frozen=True, eq=False, repr=False)
class EncodedPiece:
    """Documents as token ids, each standing for a word of a sorted list.

    The words are in Arrow's memory: a piece has hundreds of thousands, most of which will not be
    chosen, and as many Python strings would take longer than to read the text.
    """

    tokens: NDArray[np.uint16] | NDArray[np.uint32]
    offsets: NDArray[np.int64]
    words: Any
    """An Arrow table of each `word` and its `count`, in the order of their spelling."""
    settings: dict[str, Any]
    """How the text was read."""

    def __len__(self) -> int:
        return self.offsets.size - 1

    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the contiguous UTF-8 of all words, and where each ends."""
        return packed_words(self.words["word"])

    def stream(self) -> TokenStream:
        """Return the tokens as a stream, with the words spelled out."""
        words, counts = self.words["word"].to_pylist(), self.words["count"].to_numpy()
        return TokenStream(self.tokens, self.offsets, words, counts)

    @classmethod
    def load(cls, path: PathLike) -> EncodedPiece:
        """Return a piece that was written to a directory, its tokens as a memory map."""

        def build(saved: artefact.Saved) -> EncodedPiece:
            offsets = saved.arrays(_OFFSETS_FILE)[_OFFSETS]
            file, dtype = saved.mapped_path(TOKENS_FILE), np.dtype(saved.metadata["dtype"])
            tokens = map_tokens(file, dtype, int(offsets[-1]))
            words = read_list(saved.path(WORDS_FILE))
            return cls(tokens, offsets, words, saved.metadata["settings"])

        return artefact.load(path, KIND, build)


def describe_piece(
    folder: Path,
    dtype: np.dtype[Any],
    offsets: NDArray[np.int64],
    words: Any,
    settings: dict[str, Any],
) -> EncodedPiece:
    """Write everything of a piece except its tokens, which are in the folder, and return it."""
    write_list(folder / WORDS_FILE, words)
    artefact.write_arrays(folder / _OFFSETS_FILE, {_OFFSETS: offsets})
    artefact.write_metadata(folder, KIND, {"dtype": dtype.str, "settings": settings})
    tokens = map_tokens(folder / TOKENS_FILE, dtype, int(offsets[-1]))
    return EncodedPiece(tokens, offsets, words, settings)


def join_piece(piece: EncodedPiece, phrases: Phrases, directory: PathLike) -> EncodedPiece:
    """Save a piece with phrases as single words, and return it."""
    import pyarrow as pa

    stream = phrases.joined(piece.stream(), 1)
    words, places = sorted_list(pa.array(stream.words, pa.large_string()), stream.counts)
    numbers = np.zeros(len(stream.words), np.uint32)
    numbers[places] = np.arange(places.size, dtype=np.uint32)
    dtype = id_dtype(places.size)
    with artefact.writing(directory, KIND) as folder:
        require_disk(
            dtype.itemsize * stream.tokens.size,
            folder.parent,
            "Joining the phrases of this text",
            "free some space",
        )
        with (folder / TOKENS_FILE).open("wb") as file:
            ends = write_renumbered(file, stream.tokens, stream.offsets, numbers, dtype)
        offsets = np.concatenate(([0], ends))
        return describe_piece(folder, dtype, offsets, words, piece.settings)
