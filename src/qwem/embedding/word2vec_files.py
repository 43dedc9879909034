"""The text and binary formats of word2vec, and GloVe's format: text without a header."""

from __future__ import annotations

import gzip
import logging
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from qwem._internal.arrays import blocks
from qwem._internal.files import writing_file
from qwem._internal.resources import progress, require_memory
from qwem.embedding.embedding import Embedding, check_words
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_GZIP_MAGIC = b"\x1f\x8b"
_logger = logging.getLogger(__name__)

# Characters that end a word or a line in word2vec's C code or in gensim.
WHITESPACE = " \t\n\r\v\f"

_BLOCK_NUMBERS = 1 << 21
_BLOCK_BYTES = 1 << 22
_LONGEST_LINE = 1 << 25
_LONGEST_HEADER = 256
_CHUNK_BYTES = 1 << 24
_LONGEST_WORD = 1 << 16
_FLOAT = np.dtype("<f4")


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

    `place` and `places` name the position of each word in error messages, such as line 5. A word
    that occurs twice keeps its first vector, as in gensim, and a warning is logged.
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


def check_for_text(embedding: Embedding) -> None:
    """Raise `SettingError` for words that a text format can't hold."""
    check_words(embedding, WHITESPACE, "a word2vec or GloVe file, which ends words at white space")
    if "" in embedding:
        raise SettingError("The empty word can't be part of a word2vec or GloVe file; drop it.")


def write_text(embedding: Embedding, path: str | os.PathLike[str], *, header: bool) -> None:
    """Write one word per line, and its numbers as the shortest text of the same float32."""
    check_for_text(embedding)
    words, vectors = embedding.index_to_key, embedding.vectors
    with writing(path) as file, progress("write", total=len(words), unit="word") as bar:
        if header:
            file.write(f"{len(words)} {embedding.vector_size}\n".encode())
        for block in blocks(len(words), embedding.vector_size, most=_BLOCK_NUMBERS):
            file.write(_format_block(words[block], vectors[block]))
            bar.update(len(words[block]))


def read_text(
    path: str | os.PathLike[str],
    *,
    header: bool,
    limit: int | None = None,
    unicode_errors: str = "strict",
) -> Embedding:
    """Read a word2vec file (with a header) or a GloVe file, or its first `limit` words."""
    words: list[str] = []
    places: list[int] = []
    blocks: list[NDArray[np.float32]] = []
    with reading(path) as file:
        size, dim = parse_header(path, file.readline(_LONGEST_HEADER)) if header else (None, 0)
        with progress("read", total=size, unit="word") as bar:
            for block in _line_blocks(path, file, start=2 if header else 1, limit=limit):
                # A GloVe file does not state its dimension; the first line shows it.
                dim = dim or len(block[0][1].split()) - 1
                pairs = [_split(path, place, line, dim) for place, line in block]
                here = [place for place, _ in block]
                blocks.append(_parse(path, here, [numbers for _, numbers in pairs], dim))
                places += here
                for place, (word, _) in zip(here, pairs, strict=True):
                    words.append(_decode(path, place, word, unicode_errors))
                bar.update(len(block))
    _check_size(path, len(words), size, limit, places)
    file_format = "word2vec" if header else "glove"
    return assemble(path, file_format, words, np.concatenate(blocks), "line", places)


def _format_block(words: tuple[str, ...], vectors: NDArray[np.float32]) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pa.array(np.ravel(vectors)).cast(pa.string())
    starts = np.arange(0, vectors.size + 1, vectors.shape[1], dtype=np.int32)
    rows = pc.binary_join(pa.ListArray.from_arrays(starts, numbers), " ")
    lines = pc.binary_join_element_wise(pa.array(words, pa.string()), rows, " ")
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def _line_blocks(
    path: Any, file: BinaryIO, start: int, limit: int | None
) -> Iterator[list[tuple[int, bytes]]]:
    """Yield blocks of (line number, line) without blank lines, `limit` lines in total.

    Memory is bounded for any file: blank lines take none, and the length of a line is limited.
    """
    left = limit
    rest = b""
    while left != 0 and (data := file.read(_BLOCK_BYTES)):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if len(rest) > _LONGEST_LINE:
            place = start + whole.count(b"\n") + len(newline)
            raise DataError(
                f"{path}, line {place}: the line has more than {_LONGEST_LINE:,} bytes; this is "
                "not a file of word vectors."
            )
        block = _numbered(whole, start)[:left]
        start += whole.count(b"\n") + len(newline)
        if left is not None:
            left -= len(block)
        if block:
            yield block
    if left != 0 and (block := _numbered(rest, start)):
        yield block


def _numbered(text: bytes, start: int) -> list[tuple[int, bytes]]:
    """Return (line number, line) for the lines that are not blank."""
    if not text.strip():
        return []
    numbered = ((start + i, line.rstrip()) for i, line in enumerate(text.split(b"\n")))
    return [(place, line) for place, line in numbered if line]


def _split(path: Any, place: int, line: bytes, dim: int) -> tuple[bytes, bytes]:
    """Return the word of a line, and its numbers separated by single spaces."""
    word, _, numbers = line.partition(b" ")
    if numbers.count(b" ") == dim - 1 and word and numbers:
        return word, numbers
    # Tabs, double spaces, and the few words of published GloVe files that contain a space.
    fields = line.split()
    if len(fields) <= dim or not dim or any(map(is_number, fields[1:-dim])):
        raise DataError(
            f"{path}, line {place}: found {len(fields) - 1} numbers after the word instead of "
            f"{dim}; fetch the file again."
        )
    return b" ".join(fields[:-dim]), b" ".join(fields[-dim:])


def is_number(field: str | bytes) -> bool:
    """Return whether a field is a number."""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _parse(path: Any, places: list[int], numbers: list[bytes], dim: int) -> NDArray[np.float32]:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        fields = pc.split_pattern(pa.array(numbers, pa.string()), " ").flatten()
        flat: NDArray[np.float32] = fields.cast(pa.float32()).to_numpy()
        return flat.reshape(-1, dim)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        # Numbers that Arrow does not read (+0.5), or a damaged line: read line by line to find it.
        return np.array(
            [_parse_line(path, *one) for one in zip(places, numbers, strict=True)], np.float32
        )


def _parse_line(path: Any, place: int, numbers: bytes) -> list[float]:
    fields = numbers.split(b" ")
    for field in fields:
        if not is_number(field):
            shown = field.decode(errors="replace")
            raise DataError(f"{path}, line {place}: {shown!r} is not a number.")
    return [float(field) for field in fields]


def _decode(path: Any, place: int, word: bytes, unicode_errors: str) -> str:
    try:
        return word.decode("utf-8", unicode_errors)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {place}: the word {word!r} is not UTF-8; pass "
            "unicode_errors='replace' to read it anyway."
        ) from error


def _check_size(
    path: Any, found: int, size: int | None, limit: int | None, places: list[int]
) -> None:
    wanted = found if size is None else min(size, size if limit is None else limit)
    if not found:
        raise DataError(f"{path} contains no vectors.")
    if found > wanted:
        raise DataError(
            f"{path}, line {places[wanted]}: more words than the {size:,} its header states."
        )
    if found < wanted:
        raise DataError(
            f"{path} is truncated: it ends on line {places[-1]} after {found:,} of "
            f"{wanted:,} words; fetch it again."
        )


def write_binary(embedding: Embedding, path: str | os.PathLike[str]) -> None:
    """Write as the C tool does, with a newline after each vector, which gensim reads too."""
    check_for_text(embedding)
    rows = embedding.vectors.astype(_FLOAT, copy=False)
    with writing(path) as file, progress("write", total=len(rows), unit="word") as bar:
        file.write(f"{len(rows)} {embedding.vector_size}\n".encode())
        for word, row in zip(embedding, rows, strict=True):
            file.write(word.encode() + b" " + row.tobytes() + b"\n")
            bar.update()


def read_binary(
    path: str | os.PathLike[str], *, limit: int | None = None, unicode_errors: str = "strict"
) -> Embedding:
    """Read a word2vec binary file, or its first `limit` words."""
    with reading(path) as file:
        line = file.readline(256)
        size, dim = parse_header(path, line)
        size = size if limit is None else min(size, limit)
        require_memory(4 * size * dim, f"Reading {path}", "read fewer of its words with limit")
        vectors = np.empty((size, dim), dtype=np.float32)
        words = _fill(path, file, vectors, len(line), unicode_errors)
    return assemble(path, "word2vec-binary", words, vectors)


def _fill(
    path: Any, file: BinaryIO, vectors: NDArray[np.float32], offset: int, unicode_errors: str
) -> list[str]:
    """Read one word for each row of `vectors` and its numbers into that row."""
    width = _FLOAT.itemsize * vectors.shape[1]
    words: list[str] = []
    buffer, start = b"", 0
    with progress("read", total=len(vectors), unit="word") as bar:
        while len(words) < len(vectors):
            space = buffer.find(b" ", start)
            if space < 0 or len(buffer) < space + 1 + width:
                if space < 0 and len(buffer) - start > _LONGEST_WORD:
                    raise DataError(
                        f"{path}, byte {offset + start:,}: word {len(words) + 1:,} has no end; the "
                        "file is damaged, or is not in word2vec's binary format."
                    )
                chunk = file.read(max(_CHUNK_BYTES, width))
                if not chunk:
                    raise DataError(
                        f"{path} is truncated: it ends at byte {offset + len(buffer):,} after "
                        f"{len(words):,} of {len(vectors):,} words; fetch it again."
                    )
                offset += start
                buffer, start = buffer[start:] + chunk, 0
                continue
            # The C tool writes a newline after each vector, that is, before the next word.
            word = buffer[start:space].lstrip(b"\n")
            try:
                words.append(word.decode("utf-8", unicode_errors))
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{path}, byte {offset + start:,}: word {len(words) + 1:,} is not UTF-8: "
                    f"{word[:40]!r}; pass unicode_errors='replace' to read it anyway, unless the "
                    "file is damaged."
                ) from error
            vectors[len(words) - 1] = np.frombuffer(buffer, _FLOAT, vectors.shape[1], space + 1)
            start = space + 1 + width
            bar.update()
    return words
