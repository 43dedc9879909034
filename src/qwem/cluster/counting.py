"""Counting on a cluster: text files to `Cooccurrence`, with the bits of a single machine."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem import __version__
from qwem._internal.artefact import kind_of
from qwem._internal.file_states import file_states
from qwem.cluster.tasks import run_all
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import (
    Corpus,
    Reading,
    Vocabulary,
    choose_words,
    cut_files,
    encode_piece,
    tokenizer_name,
)
from qwem.errors import ArtefactError, EmptyCorpusError
from qwem.model import Settings, settle

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from qwem.corpus import Documents, InputFile

PIECE_BYTES = 1 << 28
"""Bytes of a piece. A worker that is lost costs one."""
_PIECE = re.compile("(text|words|vocabulary|counts|sum)-[0-9a-f]{20}")
FAN_IN = 8
"""How many results are added in one task."""


def count_files(
    client: Any,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    piece_bytes: int = PIECE_BYTES,
) -> Cooccurrence:
    """Count the pairs of words of text files on a cluster.

    The counts are those of `Cooccurrence.count` of the same text on one machine, to the last bit.
    The text is cut into pieces. Each is encoded once with all its words, the words of all pieces
    are added up to choose the vocabulary, then each piece is counted, and the counts are added in a
    tree. Every result is a file, and what tasks return are names of files; so a worker that is lost
    costs the piece that it had, and a run that was interrupted goes on from its files.

    Parameters
    ----------
    client
        A `dask.distributed.Client`; see `connected`.
    paths
        Files, directories or patterns, by names that every worker knows.
    directory
        Where the results of pieces are kept, which every worker can reach; `remove_pieces` removes
        them afterwards.
    settings
        Those of reading and counting are used; by default the practical ones.
    piece_bytes
        How large pieces are.
    """
    settings = Settings() if settings is None else settings
    reading = Reading.of(**settings.reading)
    place = Path(directory).absolute()
    pieces = cut_files(paths, settings.documents, piece_bytes)
    encoding = settings.documents, reading
    tasks = [(piece, *encoding, place / f"text-{_key(piece, *encoding)}") for piece in pieces]
    encoded = [
        (path, documents)
        for path, documents in run_all(client, _encode, tasks, "reading")
        if documents
    ]
    if not encoded:
        raise EmptyCorpusError(
            f"No document is left: none of the text has {reading.min_tokens:,} words in a document."
        )
    every = _add_up(client, _add_words, [path for path, _ in encoded], place, "words")
    words = Corpus.load(every).vocabulary
    vocabulary, _ = choose_words(
        words.counts, lambda numbers: [words.words[i] for i in numbers], reading
    )
    chosen = place / f"vocabulary-{_key(every, reading.vocab_size, reading.min_count)}"
    _once(chosen, lambda: _only_words(vocabulary).save(chosen))
    settled = settle(settings, vocabulary)
    counting = {
        "window": settled.window,
        "weights": settled.weights,
        "subsample": settled.subsample,
        "draws": settled.draws,
        "seed": settled.seed,
    }
    firsts = np.cumsum([0, *(documents for _, documents in encoded)]).tolist()
    counting_tasks = [
        (path, chosen, reading.oov, first, counting, place / f"counts-{key}")
        for (path, _), first in zip(encoded, firsts, strict=False)
        for key in (_key(path.name, chosen.name, reading.oov, first, counting),)
    ]
    counted = run_all(client, _count, counting_tasks, "counting")
    return Cooccurrence.load(_add_up(client, _add_counts, counted, place, "sum"))


def remove_pieces(directory: str | os.PathLike[str]) -> None:
    """Remove what `count_files` wrote to a directory, and the directory if that was all."""
    place = Path(directory)
    for entry in place.iterdir():
        if _PIECE.fullmatch(entry.name) and kind_of(entry) is not None:
            shutil.rmtree(entry)
    if not any(place.iterdir()):
        place.rmdir()


def _encode(
    piece: InputFile, documents: Documents, reading: Reading, output: Path
) -> tuple[Path, int]:
    """Encode a piece with all its words; return where, and how many documents it has."""
    try:
        _once(output, lambda: encode_piece(piece, documents, reading, output, threads=1))
    except EmptyCorpusError:
        return output, 0
    return output, len(Corpus.load(output))


def _add_words(paths: Sequence[Path], output: Path) -> Path:
    """Add up the words of corpora; the result is a corpus of words alone."""

    def work() -> None:
        counts: dict[str, int] = {}
        for path in paths:
            vocabulary = Corpus.load(path).vocabulary
            for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True):
                counts[word] = counts.get(word, 0) + count
        _only_words(Vocabulary.from_counts(counts)).save(output)

    return _once(output, work)


def _count(
    path: Path, vocabulary: Path, oov: Any, first: int, counting: dict[str, Any], output: Path
) -> Path:
    """Count a piece in the words that were chosen; `first` is its first document's number."""

    def work() -> None:
        words = Corpus.load(vocabulary).vocabulary
        corpus = replace(Corpus.load(path).recode(words, oov=oov), first_document=first)
        Cooccurrence.count(corpus, threads=1, **counting).save(output)

    return _once(output, work)


def _add_counts(paths: Sequence[Path], output: Path) -> Path:
    def work() -> None:
        total = Cooccurrence.load(paths[0])
        for path in paths[1:]:
            total += Cooccurrence.load(path)
        total.save(output)

    return _once(output, work)


def _add_up(
    client: Any,
    add: Callable[[Sequence[Path], Path], Path],
    paths: list[Path],
    place: Path,
    name: str,
) -> Path:
    """Return the sum of results, added in a tree."""
    while len(paths) > 1:
        groups = [paths[start : start + FAN_IN] for start in range(0, len(paths), FAN_IN)]
        tasks = [
            (group, place / f"{name}-{_key(*(path.name for path in group))}") for group in groups
        ]
        paths = run_all(client, add, tasks, f"adding {name}")
    return paths[0]


def _once(output: Path, work: Callable[[], object]) -> Path:
    """Do the work unless its output is there already, and return the output's path.

    Outputs are written whole or not at all, under a name that says what they are made of.
    """
    try:
        finished = kind_of(output) is not None
    except ArtefactError:
        finished = False
    if not finished:
        work()
    return output


def _only_words(vocabulary: Vocabulary) -> Corpus:
    return Corpus(np.empty(0, np.uint32), np.zeros(1, np.int64), vocabulary)


def _key(*parts: Any) -> str:
    """Return a name for what is made of these parts by this version."""

    def plain(part: Any) -> Any:
        if isinstance(part, Reading):
            return {**vars(part), "tokenizer": tokenizer_name(part.tokenizer)}
        if hasattr(part, "part"):
            return [file_states([part.path]), part.part]
        return str(part)

    text = json.dumps([__version__, *map(plain, parts)], sort_keys=True, default=plain)
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()
