"""Shards of text files: parts that can be encoded one by one, wherever one likes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from qwem._internal.arrays import even_cuts
from qwem._internal.resources import threads
from qwem.corpus._content import lines_are_bytes
from qwem.corpus._files import find_files, open_parquet
from qwem.corpus._sources import open_found
from qwem.corpus.corpus import Corpus
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qwem.corpus._files import InputFile, PathLike
    from qwem.corpus.reading import Documents, Reading


def split_files(
    paths: PathLike | Iterable[PathLike],
    documents: Documents,
    shard_bytes: int,
    encoding: str = "utf-8",
) -> list[InputFile]:
    """Return the shards of files, each of about `shard_bytes` or less, in order.

    Parquet is split between row groups, and plain text between lines. Compressed files, JSON lines,
    CSV and, with ``documents="file"`` or in UTF-16, plain text are whole shards.
    """
    return [
        shard
        for file in find_files(paths)
        for shard in _split(file, documents, shard_bytes, encoding)
    ]


def encode_shard(
    shard: InputFile, documents: Documents, reading: Reading, directory: PathLike
) -> Corpus:
    """Encode a shard with all its words, whatever `reading` says of words, and save it.

    Phrases that `reading` gives are joined. The result may have no documents. The work is done by
    one thread.
    """
    if isinstance(reading.phrases, int) and reading.phrases:
        raise SettingError(
            "Phrases are found in a whole text, not in its shards; find them with Phrases.learn in "
            "a part of the text, and give these as phrases."
        )
    every_word = replace(reading, vocab_size=None, min_count=1, oov="drop")
    source = open_found([shard], documents, every_word)
    with threads(1):
        return Corpus.encode(source, every_word, directory=directory, allow_empty=True)


def _split(
    file: InputFile, documents: Documents, shard_bytes: int, encoding: str
) -> Iterator[InputFile]:
    if not file.size and file.named:
        raise CorpusError(f"{file.path} is empty: there is no text to read.")
    count = -(-file.size // shard_bytes)
    units = 0
    if file.format == "parquet":
        with open_parquet(file.path) as table:
            units = table.num_row_groups
    elif (
        file.format == "text"
        and documents == "line"
        and count > 1
        and not file.compressed
        and lines_are_bytes(file.path, encoding)
    ):
        units = file.size
    if min(count, units) <= 1:
        yield replace(file, named=False)
        return
    cuts = even_cuts(0, units, min(count, units)).tolist()
    for first, last in pairwise(cuts):
        yield replace(file, named=False, part=(first, last))
