"""Vectors as text, one word per line: word2vec's format, with a header, and GloVe's, without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks
from qwem._internal.resources import progress
from qwem.embedding.formats.files import assemble, parse_header, reading, writing
from qwem.embedding.storage import check_words
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding

# Characters that end a word or a line in word2vec's C code or in gensim.
WHITESPACE = " \t\n\r\v\f"

_BLOCK_NUMBERS = 1 << 21
_BLOCK_BYTES = 1 << 22
_LONGEST_LINE = 1 << 25
_LONGEST_HEADER = 256


def check_for_text(embedding: Embedding) -> None:
    """Refuse words that a file of words and numbers could not be split at."""
    check_words(embedding, WHITESPACE, "a word2vec or GloVe file, which ends words at white space")
    if "" in embedding:
        raise SettingError("The empty word can't be part of a word2vec or GloVe file; drop it.")


def write_text(embedding: Embedding, path: str | os.PathLike[str], *, header: bool) -> None:
    """Write one word per line with its numbers, as short as they read back to the same float32."""
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

    Memory is bounded whatever the file is: blank lines cost none, and a line has a largest length.
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
    """Say whether a field reads as a number."""
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
