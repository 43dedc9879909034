"""Counting on a cluster: text files to `Cooccurrence`, with the bits of a single machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qwem._internal.blocks import cut_evenly
from qwem.cluster.phrases import learn_phrases
from qwem.cluster.pieces import FAN_IN, add_up, key_of, once, require_shared
from qwem.cluster.tasks import logging_time, run_all, thread_total
from qwem.cluster.words import choose_from, merge_words
from qwem.cooccurrence import Cooccurrence, add_saved
from qwem.corpus import (
    Corpus,
    EncodedPiece,
    Phrases,
    Reading,
    RecodedPieces,
    cut_files,
    encode_piece,
)
from qwem.errors import EmptyCorpusError
from qwem.model import Settings, settle

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from qwem.corpus import Documents, InputFile

PIECE_BYTES = 1 << 28
"""Bytes of a piece. A worker that is lost costs one."""


TASKS = 1
"""Tasks per thread in which the text is counted, unless it is longer than their tokens."""
TASK_TOKENS = 1 << 28
"""Tokens that are counted in one task, or one piece that has more."""


class Piece(NamedTuple):
    """How large an encoded piece is."""

    documents: int
    tokens: int


class Counted(NamedTuple):
    """The counts of text, and the phrases in which it was counted."""

    counts: Cooccurrence
    phrases: Phrases | None


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
        Files, directories, patterns or URLs, by names that every worker knows.
    directory
        Where the results of pieces are kept, which every worker can reach; `remove_pieces` removes
        them afterwards.
    settings
        Those of reading and counting are used; by default the practical ones.
    piece_bytes
        How large pieces are.
    """
    settings = Settings() if settings is None else settings
    return count_text(client, paths, directory, settings, piece_bytes).counts


def count_text(
    client: Any,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    settings: Settings,
    piece_bytes: int,
) -> Counted:
    """Return the counts of text files and their phrases; see `count_files`."""
    reading = Reading.of(**settings.reading)
    place = Path(directory).absolute()
    require_shared(client, place)
    encoded = _encode_all(client, paths, place, settings.documents, reading, piece_bytes)
    texts = [path for path, _ in encoded]
    phrases = None
    if isinstance(reading.phrases, Phrases):
        phrases = reading.phrases
    elif reading.phrases:
        phrases, texts = learn_phrases(client, texts, place, reading.phrases)
    (every,) = add_up(client, merge_words, texts, place, "words")
    chosen = place / f"vocabulary-{key_of(every.name, reading.vocab_size, reading.min_count)}"

    def choose() -> None:
        vocabulary = choose_from(every, reading)
        Corpus(np.empty(0, np.uint32), np.zeros(1, np.int64), vocabulary).save(chosen)

    once(chosen, choose)
    settled = settle(settings, Corpus.load(chosen).vocabulary)
    counting = {
        "window": settled.window,
        "weights": settled.weights,
        "subsample": settled.subsample,
        "draws": settled.draws,
        "seed": settled.seed,
    }
    counting_tasks = [
        (group, chosen, reading.oov, first, counting, place / f"counts-{key}")
        for group, first in _groups(texts, [piece for _, piece in encoded], thread_total(client))
        for names in ([text.name for text in group],)
        for key in (key_of(names, chosen.name, reading.oov, first, counting),)
    ]
    counted = run_all(client, _count, counting_tasks, "counting")
    sums = add_up(client, _add_counts, counted, place, "sum", most=FAN_IN)
    with logging_time("the last sum", len(sums)):
        total = add_saved(sums)
    return Counted(total, phrases)


def _encode_all(
    client: Any,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    place: Path,
    documents: Documents,
    reading: Reading,
    piece_bytes: int,
) -> list[tuple[Path, Piece]]:
    """Encode text in pieces: where each is that has a document, and how large it is."""
    if not isinstance(reading.phrases, Phrases):
        reading = replace(reading, phrases=False)  # these are found when all words are known
    encoding = documents, reading
    tasks = [
        (piece, *encoding, place / f"text-{key_of(piece, *encoding)}")
        for piece in cut_files(paths, documents, piece_bytes)
    ]
    encoded = [each for each in run_all(client, _encode, tasks, "reading") if each[1].documents]
    if not encoded:
        raise EmptyCorpusError(
            f"No document is left: none of the text has {reading.min_tokens:,} words in a document."
        )
    return encoded


def _encode(
    piece: InputFile, documents: Documents, reading: Reading, output: Path
) -> tuple[Path, Piece]:
    """Encode a piece with all its words; return where it is, and how large."""
    made: list[EncodedPiece] = []
    try:
        once(
            output,
            lambda: made.append(encode_piece(piece, documents, reading, output)),
        )
    except EmptyCorpusError:
        return output, Piece(0, 0)
    encoded = made[0] if made else EncodedPiece.load(output)
    return output, Piece(len(encoded), encoded.size)


def _groups(
    texts: Sequence[Path], pieces: Sequence[Piece], threads: int
) -> list[tuple[list[Path], int]]:
    """Return the pieces that are counted together, and the number of their first document.

    Adding and saving counts takes time in proportion to the different pairs, however little text
    they are of; so that each task has as much text as is left for `TASKS` tasks per thread, and no
    more than `TASK_TOKENS`.
    """
    tokens = np.cumsum([0, *(piece.tokens for piece in pieces)])
    documents = np.cumsum([0, *(piece.documents for piece in pieces)])
    most = min(TASK_TOKENS, int(tokens[-1]) // (TASKS * threads) + 1)
    runs = cut_evenly(tokens, -(-int(tokens[-1]) // most) or 1)
    return [(list(texts[first:last]), int(documents[first])) for first, last in runs]


def _count(
    texts: Sequence[Path],
    vocabulary: Path,
    oov: Any,
    first: int,
    counting: dict[str, Any],
    output: Path,
) -> Path:
    """Count pieces in the words that were chosen; `first` is their first document's number."""

    def work() -> None:
        words = Corpus.load(vocabulary).vocabulary
        pieces = RecodedPieces([EncodedPiece.load(text) for text in texts], words, oov, first)
        Cooccurrence.count(pieces, threads=1, **counting).save(output)

    return once(output, work)


def _add_counts(paths: Sequence[Path], output: Path) -> None:
    add_saved(paths, threads=1).save(output)
