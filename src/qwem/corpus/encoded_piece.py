"""Pieces of text as token ids, with all their words, until those of the whole text are known."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.resources import require_disk, require_temporary_disk
from qwem._internal.word_lists import WORDS_FILE, packed_words, read_list, sorted_list, write_list
from qwem.corpus.corpus import TOKENS_FILE, map_tokens
from qwem.corpus.token_stream import TokenStream, write_renumbered

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.files import PathLike
    from qwem.corpus.phrases import Phrases

KIND = "piece"
_ARRAYS_FILE = "arrays.safetensors"
_IDS = np.dtype("<u4")


@dataclass(frozen=True, eq=False, repr=False)
class EncodedPiece:
    """Documents as token ids, which number words in the order in which they were met.

    The ids are those that reading gave to words, so that a piece is written once; those of the
    whole text follow when its vocabulary is known. The words are in Arrow's memory: a piece has
    hundreds of thousands, most of which will not be chosen, and as many Python strings would take
    longer than to read the text.
    """

    tokens: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    """Where documents begin and end, those that are not kept too."""
    kept: NDArray[np.bool_]
    """Which documents are long enough."""
    words: Any
    """An Arrow table of each `word` and its `count`, in the order of their spelling."""
    ids: NDArray[np.int64]
    """The id of each word of the table. Words that no kept document has are not there."""
    settings: dict[str, Any]
    """How the text was read."""
    fingerprint: str = ""
    """A digest of its files."""

    def __len__(self) -> int:
        return int(np.count_nonzero(self.kept))

    @property
    def size(self) -> int:
        """The number of tokens of documents that are kept."""
        return int(np.diff(self.offsets)[self.kept].sum())

    def packed(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the contiguous UTF-8 of all words of the table, and where each ends."""
        return packed_words(self.words["word"])

    def by_id(self, values: NDArray[Any], other: int) -> NDArray[Any]:
        """Return values of the words of the table in the order of ids, `other` for other ids."""
        ordered = np.full(int(self.ids.max(initial=-1)) + 1, other, values.dtype)
        ordered[self.ids] = values
        return ordered

    def stream(self) -> TokenStream:
        """Return the tokens of kept documents as a stream, with the words spelled out."""
        counts = self.by_id(self.words["count"].to_numpy(), 0)
        words = [""] * counts.size
        for number, word in zip(self.ids.tolist(), self.words["word"].to_pylist(), strict=True):
            words[number] = word
        if self.kept.all():
            return TokenStream(self.tokens, self.offsets, words, counts)
        same = np.arange(counts.size, dtype=np.uint32)
        require_temporary_disk(_IDS.itemsize * self.size, "Leaving short documents out")
        with tempfile.TemporaryFile() as file:  # without a name: nothing is left behind
            ends = write_renumbered(file, self.tokens, self.offsets, same, _IDS, kept=self.kept)
            file.flush()
            tokens: Any = np.memmap(file, _IDS, "r") if self.size else np.empty(0, _IDS)
        return TokenStream(tokens, np.concatenate(([0], ends)), words, counts)

    @staticmethod
    def settings_of(path: PathLike) -> dict[str, Any]:
        """Return the settings of a piece that was written to a directory, and read no more."""
        settings: dict[str, Any] = artefact.read_metadata(path, KIND)["settings"]
        return settings

    @classmethod
    def load(cls, path: PathLike) -> EncodedPiece:
        """Return a piece that was written to a directory, its tokens as a memory map."""

        def build(saved: artefact.Saved) -> EncodedPiece:
            arrays = saved.arrays(_ARRAYS_FILE)
            file = saved.mapped_path(TOKENS_FILE)
            tokens: Any = map_tokens(file, _IDS, int(arrays["offsets"][-1]))
            words = read_list(saved.path(WORDS_FILE))
            settings = saved.metadata["settings"]
            return cls(
                tokens, words=words, settings=settings, fingerprint=saved.fingerprint, **arrays
            )

        return artefact.load(path, KIND, build)


def describe_piece(
    folder: Path,
    offsets: NDArray[np.int64],
    kept: NDArray[np.bool_],
    words: Any,
    ids: NDArray[np.int64],
    settings: dict[str, Any],
) -> EncodedPiece:
    """Write everything of a piece except its tokens, which are in the folder, and return it.

    Its fingerprint is known when its directory is complete.
    """
    write_list(folder / WORDS_FILE, words)
    arrays = {"offsets": offsets, "kept": kept, "ids": ids}
    artefact.write_arrays(folder / _ARRAYS_FILE, arrays)
    artefact.write_metadata(folder, KIND, {"settings": settings})
    tokens: Any = map_tokens(folder / TOKENS_FILE, _IDS, int(offsets[-1]))
    return EncodedPiece(tokens, offsets, kept, words, ids, settings)


def join_piece(piece: EncodedPiece, phrases: Phrases, directory: PathLike) -> EncodedPiece:
    """Save a piece with phrases as single words, and return it."""
    import pyarrow as pa

    stream = phrases.joined(piece.stream(), 1)
    words, ids = sorted_list(pa.array(stream.words, pa.large_string()), stream.counts)
    kept = np.ones(stream.offsets.size - 1, np.bool_)
    with artefact.writing(directory, KIND) as folder:
        require_disk(
            _IDS.itemsize * stream.tokens.size,
            folder.parent,
            "Joining the phrases of this text",
            "free some space",
        )
        same = np.arange(len(stream.words), dtype=np.uint32)
        with (folder / TOKENS_FILE).open("wb") as file:
            write_renumbered(file, stream.tokens, stream.offsets, same, _IDS)
        made = describe_piece(folder, stream.offsets, kept, words, ids, piece.settings)
    return replace(made, fingerprint=artefact.opened(directory).fingerprint)
