"""Shards of files, which can be encoded apart from each other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from qwem._internal.arrays import even_cuts
from qwem._internal.resources import threads
from qwem.corpus._files import documents_of, find_files, open_parquet, open_text
from qwem.corpus._text import open_files
from qwem.corpus.corpus import Corpus
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qwem.corpus._files import InputFile, PathLike
    from qwem.corpus.reading import Reading


def split_files(
    paths: PathLike | Iterable[PathLike], reading: Reading, shard_bytes: int
) -> list[InputFile]:
    """Return the shards of files, each of about `shard_bytes` or less, in order.

    Parquet is split between row groups, and plain text between lines. A file is one shard if it is
    compressed, in another format or in UTF-16, or if its documents aren't lines.
    """
    return [shard for file in find_files(paths) for shard in _split(file, reading, shard_bytes)]


def _split(file: InputFile, reading: Reading, shard_bytes: int) -> Iterator[InputFile]:
    if not file.size and file.named:
        raise CorpusError(f"{file.path} is empty: there is no text to read.")
    count = -(-file.size // shard_bytes)
    units = 0
    if file.format == "parquet":
        with open_parquet(file.path) as table:
            units = table.num_row_groups
    elif file.format == "text" and count > 1 and not file.compressed and _can_split(file, reading):
        units = file.size
    if min(count, units) <= 1:
        yield replace(file, named=False)
        return
    cuts = even_cuts(0, units, min(count, units)).tolist()
    for first, last in pairwise(cuts):
        yield replace(file, named=False, shard=(first, last))


def _can_split(file: InputFile, reading: Reading) -> bool:
    r"""Return whether documents are lines, and every byte ``\n`` ends one, unlike in UTF-16."""
    with open_text(file, replace(reading, errors="replace")) as stream:
        wide = stream.encoding.startswith(("utf-16", "utf-32"))
        return not wide and documents_of(stream.head, file, reading) == "line"


def encode_shard(shard: InputFile, reading: Reading, directory: PathLike) -> Corpus:
    """Encode a shard of files with all its words and save it, using one thread.

    The `vocab_size`, `min_count` and `oov` of `reading` are ignored; its `Phrases` are joined. The
    result may have no documents.
    """
    if isinstance(reading.phrases, int) and reading.phrases:
        raise SettingError(
            "Phrases are found in a whole text, not in its shards; find them with Phrases.learn in "
            "a part of the text, and give these as phrases."
        )
    all_words = replace(reading, vocab_size=None, min_count=1, oov="drop")
    with threads(1):
        source = open_files([shard], all_words)
        return Corpus.encode(source, all_words, directory=directory, allow_empty=True)
