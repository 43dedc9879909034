"""word2vec's binary format: a header line, then each word, a space, and its float32 numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import progress, require_memory
from qwem.embedding.formats.files import assemble, parse_header, reading, writing
from qwem.embedding.formats.text import check_for_text
from qwem.errors import DataError

if TYPE_CHECKING:
    import os
    from typing import BinaryIO

    from numpy.typing import NDArray

    from qwem.embedding.embedding import Embedding

_CHUNK_BYTES = 1 << 24
_LONGEST_WORD = 1 << 16
_FLOAT = np.dtype("<f4")


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
            # The C tool writes a newline after each vector, so before the next word.
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
