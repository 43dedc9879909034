"""Pieces of text files, to be read one by one and wherever one likes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from qwem._internal.blocks import even_cuts
from qwem.corpus.building import build, open_found
from qwem.corpus.files import find_files, open_parquet
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qwem.corpus.corpus import Corpus
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
    threads: int | None = None,
) -> Corpus:
    """Encode a piece with all the words that it has, whatever `reading` says of words."""
    if isinstance(reading.phrases, int) and reading.phrases:
        raise SettingError(
            "Phrases are found in a whole text, not in its pieces; find them with Phrases.learn in "
            "a part of the text, and give these as phrases."
        )
    everything = replace(reading, vocab_size=None, min_count=1, oov="drop")
    text = open_found([piece], documents, everything)
    return build(text, everything, None, threads, directory)


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
