"""Reading and writing vector files, plain or compressed."""

from __future__ import annotations

import gzip
import logging
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np

from qwem._internal.files import writing_file
from qwem.embedding.embedding import Embedding
from qwem.errors import DataError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_GZIP_MAGIC = b"\x1f\x8b"
_logger = logging.getLogger(__name__)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, and decompress it if it is gzip."""
    try:
        with Path(path).open("rb") as raw:
            compressed = raw.peek(2)[:2] == _GZIP_MAGIC
            with gzip.open(raw) if compressed else raw as file:
                yield cast("BinaryIO", file)
    except OSError as error:
        if isinstance(error, gzip.BadGzipFile):
            raise DataError(f"{path} is damaged ({error}); fetch it again.") from error
        raise DataError(f"{path} can't be read: {error.strerror or error}.") from error
    except (EOFError, zlib.error) as error:
        raise DataError(f"{path} is truncated or damaged ({error}); fetch it again.") from error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, atomically, and compress it if its name ends in ``.gz``."""
    with writing_file(path) as raw:
        if str(path).endswith(".gz"):
            # Without a name and a time in the header, the same vectors give the same file.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file:
                yield cast("BinaryIO", file)
        else:
            yield raw


def parse_header(path: str | os.PathLike[str], line: bytes) -> tuple[int, int]:
    """Return the number of words and the dimension that a word2vec header states."""
    header = header_of(line)
    if header is None:
        raise DataError(
            f"{path}, line 1: a word2vec file starts with its number of words and dimension, "
            f"not {line[:40]!r}."
        )
    return header


def header_of(line: bytes) -> tuple[int, int] | None:
    """Return the two positive numbers of a word2vec header, or None if the line is no header."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    size, dim = int(fields[0]), int(fields[1])
    return (size, dim) if size and dim else None


def assemble(
    path: str | os.PathLike[str],
    file_format: str,
    words: Sequence[str],
    vectors: NDArray[np.float32],
    place: str = "word",
    places: Sequence[int] | None = None,
) -> Embedding:
    """Return the embedding of the words and vectors of a file.

    `place` and `places` say where in the file each word is, for error messages: line 5, word 7. A
    word that occurs twice keeps its first vector, as in gensim, and a warning is logged.
    """
    where = range(1, len(words) + 1) if places is None else places
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(
            f"{path}, {place} {where[row]}: {words[row]!r} has a vector that is not finite."
        )
    first = {word: row for row, word in reversed(list(enumerate(words)))}
    if len(first) < len(words):
        kept = np.array(sorted(first.values()))
        row = next(row for row, word in enumerate(words) if first[word] != row)
        _logger.warning(
            "%s contains %d words more than once (first %r, %s %d); their first vectors are used.",
            path,
            len(words) - len(first),
            words[row],
            place,
            where[row],
        )
        words, vectors = [words[row] for row in kept], vectors[kept]
    return Embedding(words, vectors, provenance={"file": Path(path).name, "format": file_format})
