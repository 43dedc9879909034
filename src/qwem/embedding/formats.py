"""Reading and writing vectors in the formats of other programs."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem.embedding import array_files, word2vec_files
from qwem.embedding.embedding import Embedding, restored_vectors
from qwem.embedding.word2vec_files import reading
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    from qwem.embedding.embedding import StoredType
    from qwem.embedding.word2vec_files import Contents

Format = Literal[
    "word2vec", "word2vec-binary", "glove", "npz", "npy", "safetensors", "parquet", "tsv", "csv"
]

_SUFFIXES: dict[str, Format] = {
    ".bin": "word2vec-binary",
    ".npz": "npz",
    ".npy": "npy",
    ".safetensors": "safetensors",
    ".parquet": "parquet",
    ".tsv": "tsv",
    ".csv": "csv",
}
"""Formats by the extension of a file; all others are word2vec's text."""
_PICKLES = (".kv", ".model", ".pkl", ".pickle")
_logger = logging.getLogger(__name__)


def format_of(path: str | os.PathLike[str]) -> Format:
    """Return the format for a file of this name.

    >>> format_of("v.npz"), format_of("v.bin.gz"), format_of("v.txt")
    ('npz', 'word2vec-binary', 'word2vec')
    """
    if Path(path).suffix in _PICKLES:
        raise SettingError(
            f"{path} would be a pickle, which qwem neither reads nor writes, because loading one "
            "can run code; write .bin, which gensim's KeyedVectors.load_word2vec_format reads, or "
            "save what Embedding.to_gensim() returns."
        )
    return _SUFFIXES.get(Path(os.fspath(path).removesuffix(".gz")).suffix, "word2vec")


def write_vectors(
    embedding: Embedding,
    path: str | os.PathLike[str],
    format: Format | None = None,  # noqa: A002
    *,
    dtype: StoredType = "float32",
) -> None:
    """Write words and vectors in a format that other programs read.

    Parameters
    ----------
    embedding
        What to write.
    path
        The file. A name that ends in ``.gz`` compresses the word2vec and GloVe formats. The file is
        written whole or not at all.
    format
        ``word2vec`` (text), ``word2vec-binary``, ``glove`` (text without a header), ``npz``
        (arrays ``words`` and ``vectors``), ``npy`` (the vectors, followed by the words, which NumPy
        ignores), ``safetensors`` (the tensor ``vectors``, with the words in its metadata),
        ``parquet`` (columns ``word`` and ``vector``), or ``tsv`` and ``csv`` (a header, and a
        column per dimension). By default the extension decides: see `format_of`.
    dtype
        The format of numbers. ``float32`` keeps the vectors exactly; ``float16`` halves the size
        (npz, npy, safetensors, parquet); ``int8`` quarters it (npz, safetensors): multiply the rows
        of ``vectors`` by the array ``vectors_scale``.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/vectors.txt"
    >>> write_vectors(Embedding(["king", "queen"], [[1, 0.5], [2, 0]]), file)
    >>> print(Path(file).read_text(), end="")
    2 2
    king 1 0.5
    queen 2 0
    """
    chosen = _checked(format or format_of(path))
    stored = array_files.STORED.get(chosen, ("float32",))
    if chosen in array_files.WRITERS and os.fspath(path).endswith(".gz"):
        raise SettingError(f"{path}: the format {chosen} is not compressed; leave out .gz.")
    if dtype not in stored:
        raise SettingError(
            f"The format {chosen} has no {dtype}; write npz, safetensors, qwem or hub."
        )
    if chosen in array_files.WRITERS:
        array_files.WRITERS[chosen](embedding, path, dtype)
    else:
        word2vec_files.write(embedding, path, chosen)


def read_vectors(
    path: str | os.PathLike[str],
    format: Format | None = None,  # noqa: A002
    *,
    limit: int | None = None,
    unicode_errors: str = "strict",
) -> Embedding:
    """Read words and vectors that another program wrote, or a saved `Embedding`.

    Parameters
    ----------
    path
        A file in one of the formats of `write_vectors`. Text and binary files may be gzipped.
    format
        Its format. By default the name and the first lines of the file decide.
    limit
        Read only this many of the first words.
    unicode_errors
        What to do with words that are not UTF-8, as in `bytes.decode`: ``strict`` refuses them.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/vectors.txt"
    >>> write_vectors(Embedding(["king", "queen"], [[1, 0.5], [2, 0]]), file, "glove")
    >>> read_vectors(file)
    Embedding(2 words × 2: king queen)
    """
    if limit is not None and limit < 1:
        raise SettingError(f"limit must be at least 1, not {limit}.")
    if format is None and Path(path).is_dir():
        embedding = Embedding.load(path)
    else:
        found = _guess(path) if format is None else _checked(format)
        if format is None and _has_text(path, found):
            raise DataError(
                f"{path} has no word vectors in it; if it is a text, learn them from it first, "
                "with qwem.fit or qwem fit."
            )
        with reading(path) as file:
            if found in array_files.READERS:
                contents = array_files.READERS[found](path, file)
            else:
                contents = word2vec_files.read(path, file, found, limit, unicode_errors)
        embedding = _assemble(path, found, contents)
    return embedding if limit is None else embedding.restrict(min(limit, len(embedding)))


def _checked(name: Format) -> Format:
    if name not in get_args(Format):
        raise SettingError(f"format must be one of {', '.join(get_args(Format))}, not {name!r}.")
    return name


def _assemble(path: Any, file_format: str, contents: Contents) -> Embedding:
    """Return the embedding of a file, after checking that it has a row of numbers for each word.

    A word that occurs twice keeps its first vector, as in gensim, and a warning is logged.
    """
    words, vectors = contents.words, contents.arrays["vectors"]
    scale = contents.arrays.get("vectors_scale")
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or len(vectors) != len(words):
        raise DataError(
            f"{path} has {len(words):,} words and {vectors.dtype} vectors of shape "
            f"{vectors.shape}; it needs one row of numbers per word."
        )
    if scale is not None and (scale.shape != (len(words),) or scale.dtype.kind != "f"):
        raise DataError(f"{path} needs one number in vectors_scale per word.")
    vectors = restored_vectors(contents.arrays)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(
            f"{path}, {contents.place(row)}: {words[row]!r} has a vector that is not finite."
        )
    first = {word: row for row, word in reversed(list(enumerate(words)))}
    if len(first) < len(words):
        row = next(row for row, word in enumerate(words) if first[word] != row)
        _logger.warning(
            "%s contains %d words more than once (first %r, %s); their first vectors are used.",
            path,
            len(words) - len(first),
            words[row],
            contents.place(row),
        )
        kept = sorted(first.values())
        words, vectors = [words[row] for row in kept], vectors[kept]
    return Embedding(words, vectors, provenance={"file": Path(path).name, "format": file_format})


def _guess(path: str | os.PathLike[str]) -> Format:
    """Guess the format of a file from its name and its first two lines."""
    named = format_of(path)
    if named in array_files.READERS:
        return named
    with reading(path) as file:
        if word2vec_files.header_of(file.readline(1 << 16)) is None:
            return "glove"
        line = file.readline(1 << 20)
    try:
        numbers = line.decode().split()[1:]
    except UnicodeDecodeError:
        return "word2vec-binary"
    return "word2vec" if any(map(word2vec_files.is_number, numbers)) else "word2vec-binary"


def _has_text(path: str | os.PathLike[str], found: Format) -> bool:
    """Return whether a file in a format of text has hardly a number on its first two lines."""
    if found not in ("glove", "tsv", "csv"):
        return False
    with reading(path) as file:
        lines = [file.readline(1 << 16), file.readline(1 << 16)]
    fields = re.split(rb"[\s,;\"]+", lines[1].strip() or lines[0].strip())
    return len(fields) > 2 and 4 * sum(map(word2vec_files.is_number, fields)) < len(fields)
