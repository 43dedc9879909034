"""The text and binary formats of word2vec, and GloVe's format: text without a header."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

import numpy as np

from qwem._internal.arrays import blocks
from qwem._internal.files import writing_file
from qwem._internal.resources import progress, require_memory
from qwem.embedding.embedding import check_words
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding

_GZIP_MAGIC = b"\x1f\x8b"

# Characters that end a word or a line in word2vec's C code or in gensim.
WHITESPACE = " \t\n\r\v\f"

_BLOCK_NUMBERS = 1 << 21
_BLOCK_BYTES = 1 << 22
_LONGEST_LINE = 1 << 25
_LONGEST_HEADER = 256
_CHUNK_BYTES = 1 << 24
_LONGEST_WORD = 1 << 16
_FLOAT = np.dtype("<f4")


class Contents(NamedTuple):
    """What a file of vectors has."""

    words: list[str]
    arrays: dict[str, NDArray[Any]]
    """``vectors``, and perhaps ``vectors_scale``, by which their rows are multiplied."""
    lines: Sequence[int] | None = None
    """The line of each word, in a text file."""

    def place(self, row: int) -> str:
        """Return where a word is, for an error message."""
        return f"word {row + 1}" if self.lines is None else f"line {self.lines[row]}"


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
def _writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, atomically, and compress it if its name ends in ``.gz``."""
    with writing_file(path) as raw:
        if str(path).endswith(".gz"):
            # Without a name and a time in the header, the same vectors give the same file.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file:
                yield cast("BinaryIO", file)
        else:
            yield raw


def header_of(line: bytes) -> tuple[int, int] | None:
    """Return the two positive numbers of a word2vec header, or None if the line is no header."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    size, dim = int(fields[0]), int(fields[1])
    return (size, dim) if size and dim else None


def write(embedding: Embedding, path: str | os.PathLike[str], file_format: str) -> None:
    """Write a header (except GloVe), and each word with its numbers.

    In text, numbers are the shortest that stand for the same float32. In binary there is a newline
    after each vector, as the C tool writes it and gensim reads it.
    """
    check_words(embedding, WHITESPACE, "a word2vec or GloVe file, which ends words at white space")
    if "" in embedding:
        raise SettingError("The empty word can't be part of a word2vec or GloVe file; drop it.")
    format_block = _as_binary if file_format == "word2vec-binary" else _as_text
    words, vectors = embedding.index_to_key, embedding.vectors
    with _writing(path) as file, progress("write", total=len(words), unit="word") as bar:
        if file_format != "glove":
            file.write(f"{len(words)} {embedding.vector_size}\n".encode())
        for rows in blocks(len(words), embedding.vector_size, most=_BLOCK_NUMBERS):
            file.write(format_block(words[rows], vectors[rows]))
            bar.update(len(words[rows]))


def _as_binary(words: tuple[str, ...], vectors: NDArray[np.float32]) -> bytes:
    rows = vectors.astype(_FLOAT, copy=False)
    pairs = zip(words, rows, strict=True)
    return b"".join(word.encode() + b" " + row.tobytes() + b"\n" for word, row in pairs)


def _as_text(words: tuple[str, ...], vectors: NDArray[np.float32]) -> bytes:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pa.array(np.ravel(vectors)).cast(pa.string())
    starts = np.arange(0, vectors.size + 1, vectors.shape[1], dtype=np.int32)
    rows = pc.binary_join(pa.ListArray.from_arrays(starts, numbers), " ")
    lines = pc.binary_join_element_wise(pa.array(words, pa.string()), rows, " ")
    return "".join(f"{line}\n" for line in lines.to_pylist()).encode()


def read(
    path: str | os.PathLike[str],
    file: BinaryIO,
    file_format: str,
    limit: int | None,
    unicode_errors: str,
) -> Contents:
    """Read a file of one of the three formats, or its first `limit` words."""
    size, dim = None, 0
    if file_format != "glove":
        line = file.readline(_LONGEST_HEADER)
        if (header := header_of(line)) is None:
            raise DataError(
                f"{path}, line 1: a word2vec file starts with its number of words and dimension, "
                f"not {line[:40]!r}."
            )
        size, dim = header
    if size is None or file_format == "word2vec":
        return _read_text(path, file, size, dim, limit, unicode_errors)
    size = size if limit is None else min(size, limit)
    require_memory(4 * size * dim, f"Reading {path}", "read fewer of its words with limit")
    vectors = np.empty((size, dim), dtype=np.float32)
    return Contents(_fill(path, file, vectors, len(line), unicode_errors), {"vectors": vectors})


def _read_text(
    path: Any, file: BinaryIO, size: int | None, dim: int, limit: int | None, unicode_errors: str
) -> Contents:
    """Read lines of a word and `dim` numbers each; `size` is the number of words, if known."""
    words: list[str] = []
    places: list[int] = []
    parsed: list[NDArray[np.float32]] = []
    with progress("read", total=size, unit="word") as bar:
        for lines in _line_blocks(path, file, start=1 if size is None else 2):
            block = lines if limit is None else lines[: limit - len(words)]
            if not block:
                continue
            # A GloVe file does not state its dimension; the first line shows it.
            dim = dim or len(block[0][1].split()) - 1
            pairs = [_split(path, place, line, dim) for place, line in block]
            here = [place for place, _ in block]
            parsed.append(_parse(path, here, [numbers for _, numbers in pairs], dim))
            places += here
            for place, (word, _) in zip(here, pairs, strict=True):
                try:
                    words.append(word.decode("utf-8", unicode_errors))
                except UnicodeDecodeError as error:
                    raise _not_utf8(f"{path}, line {place}: the word", word) from error
            bar.update(len(block))
            if len(words) == limit:
                break
    _check_size(path, size, limit, places)
    return Contents(words, {"vectors": np.concatenate(parsed)}, places)


def _line_blocks(path: Any, file: BinaryIO, start: int) -> Iterator[list[tuple[int, bytes]]]:
    """Yield blocks of (line number, line) without blank lines.

    Memory is bounded for any file: blank lines take none, and the length of a line is limited.
    """
    rest = b""
    while data := file.read(_BLOCK_BYTES):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        yield _numbered(whole, start)
        start += whole.count(b"\n") + len(newline)
        if len(rest) > _LONGEST_LINE:
            raise DataError(
                f"{path}, line {start}: the line has more than {_LONGEST_LINE:,} bytes; this is "
                "not a file of word vectors."
            )
    yield _numbered(rest, start)


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
        pass  # numbers that Arrow does not read (+0.5), or a damaged line
    rows = [line.split(b" ") for line in numbers]
    for place, row in zip(places, rows, strict=True):
        for field in row:
            if not is_number(field):
                shown = field.decode(errors="replace")
                raise DataError(f"{path}, line {place}: {shown!r} is not a number.")
    return np.array([[float(field) for field in row] for row in rows], np.float32)


def _not_utf8(where: str, word: bytes) -> DataError:
    return DataError(
        f"{where} {word[:40]!r} is not UTF-8; pass unicode_errors='replace' to read it anyway, "
        "unless the file is damaged."
    )


def _check_size(path: Any, size: int | None, limit: int | None, places: list[int]) -> None:
    found = len(places)
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
                where = f"{path}, byte {offset + start:,}: word {len(words) + 1:,}"
                raise _not_utf8(where, word) from error
            vectors[len(words) - 1] = np.frombuffer(buffer, _FLOAT, vectors.shape[1], space + 1)
            start = space + 1 + width
            bar.update()
    return words
