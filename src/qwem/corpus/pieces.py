"""Pieces of text files, to be read one by one and wherever one likes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from qwem._internal import artefact
from qwem._internal.blocks import even_cuts
from qwem._internal.leftovers import temporary_directory
from qwem._internal.word_lists import sorted_list, unpacked_words
from qwem.corpus.building import encode_text_as_met, open_found
from qwem.corpus.encoded_piece import KIND, describe_piece, join_piece
from qwem.corpus.files import find_files, open_parquet
from qwem.corpus.phrases import Phrases
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qwem.corpus.encoded_piece import EncodedPiece
    from qwem.corpus.files import InputFile, PathLike
    from qwem.corpus.reading import Documents, Reading


def cut_files(
    paths: PathLike | Iterable[PathLike], documents: Documents, piece_bytes: int
) -> list[InputFile]:
    """Return the pieces of files, each of about `piece_bytes` or less, in order.

    Parquet is cut between row groups, and plain text between lines. Compressed files, JSON lines
    and, with ``documents="file"``, plain text are whole pieces.
    """
    return [piece for file in find_files(paths) for piece in _pieces(file, documents, piece_bytes)]


def encode_piece(
    piece: InputFile,
    documents: Documents,
    reading: Reading,
    directory: PathLike,
) -> EncodedPiece:
    """Encode a piece with all the words that it has, whatever `reading` says of words, and save it.

    Phrases that `reading` gives are joined. A piece may have no document that is long enough. The
    work is done by one thread.
    """
    if isinstance(reading.phrases, int) and reading.phrases:
        raise SettingError(
            "Phrases are found in a whole text, not in its pieces; find them with Phrases.learn in "
            "a part of the text, and give these as phrases."
        )
    if isinstance(reading.phrases, Phrases):
        with temporary_directory("qwem-piece") as folder:
            words = replace(reading, phrases=False)
            whole = encode_piece(piece, documents, words, folder / "piece")
            return join_piece(whole, reading.phrases, directory)

    text = open_found([piece], documents, reading)
    settings = {**text.description, "tokenizer": text.tokenizer.name, "errors": reading.errors}
    with artefact.writing(directory, KIND) as folder:
        encoded = encode_text_as_met(text, reading, folder)
        settings |= {"min_tokens": reading.min_tokens, **encoded.statistics}
        spelled = unpacked_words(*encoded.found.packed())
        words, numbers = sorted_list(spelled, encoded.found.counts)
        made = describe_piece(folder, encoded.offsets, encoded.kept, words, numbers, settings)
    return replace(made, fingerprint=artefact.opened(directory).fingerprint)


def _pieces(file: InputFile, documents: Documents, piece_bytes: int) -> Iterator[InputFile]:
    if not file.size and file.named:
        raise CorpusError(f"{file.path} is empty: there is no text to read.")
    count = -(-file.size // piece_bytes)
    units = 0
    if file.format == "parquet":
        with open_parquet(file.path) as table:
            units = table.num_row_groups
    elif file.format == "text" and documents == "line" and not file.compressed:
        units = file.size
    if min(count, units) <= 1:
        yield replace(file, named=False)
        return
    cuts = even_cuts(0, units, min(count, units)).tolist()
    for first, last in pairwise(cuts):
        yield replace(file, named=False, part=(first, last))
